package lsn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

const (
	primaryText = "s1 f - - f 0/3000098 0/30000D0 0000000A - a 0 7304517213409421943 1773500000123456 f 200 8192 16777216 4711 150018 10.0.0.7 5432 100 3 0 /main"
	standbyText = "s1 t 0/3000060 0/3000098 t - - - b a 9 -8142226860300129673 1773500000123456 t 10000 8192 16777216 4711 180004 - - 200 4 7 /a name, with blanks"
)

func TestParseSample(t *testing.T) {
	got, err := lsn.ParseSample(primaryText)
	require.NoError(t, err)
	assert.Equal(t, lsn.Sample{
		Server: lsn.Server{System: 7304517213409421943, Started: 1773500000123456, Addr: "10.0.0.7", Port: 5432},
		Flush:  0x3000098, Insert: 0x30000D0, Timeline: 10, ControlTimeline: 10,
		WalWriterDelay: 200 * time.Millisecond, BlockSize: 8192, SegmentSize: 16 << 20,
		BackendPID: 4711, Version: 150018, ClusterName: "main", MaxConnections: 100, Reserved: 3,
	}, got)
	assert.Equal(t, lsn.History{System: 7304517213409421943, Timeline: 10, Incarnation: 1773500000123456}, got.History())

	got, err = lsn.ParseSample(standbyText)
	require.NoError(t, err)
	assert.Equal(t, lsn.Sample{
		Server:     lsn.Server{System: 10304517213409421943, Started: 1773500000123456},
		InRecovery: true, Replay: 0x3000060, Receive: 0x3000098, Paused: true,
		ReceivedTimeline: 11, ControlTimeline: 10, AsyncCommit: true,
		WalWriterDelay: 10 * time.Second, BlockSize: 8192, SegmentSize: 16 << 20,
		BackendPID: 4711, Version: 180004, ClusterName: "a name, with blanks", MaxConnections: 200, Reserved: 11,
	}, got)

	empty, err := lsn.ParseSample(strings.Replace(primaryText, "/main", "/", 1))
	require.NoError(t, err)
	assert.Empty(t, empty.ClusterName)

	edge, err := lsn.ParseSample(strings.Replace(primaryText, "0/30000D0", "0/3002018", 1))
	require.NoError(t, err)
	assert.Equal(t, lsn.LSN(0x3002000), edge.Insert, "corrected at the page edge")
	assert.Equal(t, lsn.LSN(0x3000098), edge.Flush)

	young, err := lsn.ParseSample(strings.Replace(standbyText, " b a 9 ", " - 1 2 ", 1))
	require.NoError(t, err)
	assert.Equal(t, uint32(2), young.ControlTimeline, "the greater of the two that the control file has")
	assert.Zero(t, young.ReceivedTimeline)
}

// Each field is replaced by what it must not be; nothing may be accepted.
func TestParseSampleIsStrict(t *testing.T) {
	const (
		boolean  = "true? yes T TRUE 1 0 on tt - null"
		position = "0 0/ /0 0/G 0x1/0 +1/0 1/2/3 000000001/0 null ~"
		timeline = "g 0x1 +1 100000000 null ~"
		number   = "- -1 1.5 0x1 1e3 null ~ 1_0"
		bigint   = "- +1 1.5 0x1 9223372036854775808 -9223372036854775809 null ~"
	)
	bad := map[int]string{
		0: "s2 S1 c1 ~", 1: boolean, 2: position, 3: position, 4: boolean, 5: position, 6: position,
		7: timeline, 8: timeline, 9: timeline, 10: timeline, 11: bigint, 12: number, 13: boolean,
		14: number + " 99999999999999999999", 15: number, 16: number, 17: number, 18: number, 20: number,
		21: number + " 262145", 22: number + " 262145", 23: number + " 262145",
		24: "main \\main ~",
	}
	for i, words := range bad {
		for _, word := range strings.Fields(words) {
			word = strings.ReplaceAll(word, "~", "") // an empty field: two blanks in a row
			f := strings.Split(primaryText, " ")
			f[i] = word
			_, err := lsn.ParseSample(strings.Join(f, " "))
			require.ErrorContains(t, err, "readsplit: ", "field %d: %q", i, word)
		}
	}
	for _, text := range []string{
		"", "s1", " " + primaryText, "s1  f" + primaryText[4:], primaryText[:strings.LastIndex(primaryText, " ")],
		strings.ReplaceAll(primaryText, " ", "\t"), strings.ReplaceAll(primaryText, " ", ","),
	} {
		_, err := lsn.ParseSample(text)
		require.ErrorContains(t, err, "readsplit: sample of a server", "%q", text)
	}
	for _, missing := range []string{"0/3000098", "0/30000D0", "0000000A"} {
		_, err := lsn.ParseSample(strings.Replace(primaryText, missing, "-", 1))
		require.EqualError(t, err, "readsplit: sample of a primary without a position or a timeline", missing)
	}
	_, err := lsn.ParseSample(strings.Replace(primaryText, " 200 ", " 9223372036854775807 ", 1))
	require.Error(t, err, "a delay that overflows would become a negative margin")
}

func TestParseCapture(t *testing.T) {
	got, err := lsn.ParseCapture("c1 0/3002000 0/3002018 t", 8192, 16<<20)
	require.NoError(t, err)
	assert.Equal(t, lsn.Capture{Flush: 0x3002000, Insert: 0x3002000, AsyncCommit: true}, got)

	got, err = lsn.ParseCapture("c1 0/3002000 0/3002018 f", 0, 0)
	require.NoError(t, err)
	assert.Equal(t, lsn.Capture{Flush: 0x3002000, Insert: 0x3002018}, got, "left as it is while the sizes are unknown")

	for _, text := range []string{
		"", "c1", "c1 0/1 0/1", "c1 0/1 0/1 f f", "c2 0/1 0/1 f", "c1 0/1  f", "c1 0/1 0/1 ", "c1 0/1 0/1 F", "c1 0/1 x f",
		"c1 - 0/1 f", "c1 0/1 - f", "c1 0/0 0/1 f", "c1 0/1 0/0 f", "c1  0/1 0/1 f", "c1 0/1 0/1 f ", "r1 t 0/1", "c1 0/1 0/1\nf",
	} {
		_, err := lsn.ParseCapture(text, 8192, 16<<20)
		require.ErrorContains(t, err, "readsplit: capture of a primary", "%q", text)
	}
}

func TestParseReplay(t *testing.T) {
	for text, want := range map[string]struct {
		replay  lsn.LSN
		standby bool
	}{
		"r1 t 0/3000060":  {0x3000060, true},
		"r1 t -":          {0, true},
		"r1 f 0/3000060":  {0x3000060, false},
		"r1 f -":          {0, false},
		"r1 true 1/2":     {1<<32 | 2, true},
		"r1 false FF/FF0": {0xFF_00000FF0, false},
	} {
		replay, standby, err := lsn.ParseReplay(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.replay, replay, text)
		assert.Equal(t, want.standby, standby, text)
	}
	for _, text := range []string{"", "r1", "r1 t", "r1 t 0/1 x", "r2 t 0/1", "r1 x 0/1", "r1 t 0/x", "r1 t ", "r1  t 0/1", "r1 t 0/1 ", "c1 t 0/1"} {
		_, _, err := lsn.ParseReplay(text)
		require.ErrorContains(t, err, "readsplit: replay position", "%q", text)
	}
}

func TestParseConnect(t *testing.T) {
	got, err := lsn.ParseConnect("k1 on t 0/3000060 -8142226860300129673 1773500000123456 10.0.0.8 5433")
	require.NoError(t, err)
	assert.Equal(t, lsn.Connect{
		Server:     lsn.Server{System: 10304517213409421943, Started: 1773500000123456, Addr: "10.0.0.8", Port: 5433},
		InRecovery: true, Replay: 0x3000060,
	}, got)
	got, err = lsn.ParseConnect("k1 on f - 7304517213409421943 1773500000123456 - -")
	require.NoError(t, err)
	assert.Equal(t, lsn.Connect{Server: lsn.Server{System: 7304517213409421943, Started: 1773500000123456}}, got)

	for _, text := range []string{
		"", "k1", "k1 on t 0/1 1 1 -", "k1 on t 0/1 1 1 - - -", "k2 on t 0/1 1 1 - -",
		"k1 off t 0/1 1 1 - -", "k1 true t 0/1 1 1 - -", "k1  t 0/1 1 1 - -",
		"k1 on x 0/1 1 1 - -", "k1 on t 1 1 1 - -", "k1 on t 0/1 x 1 - -", "k1 on t 0/1 +1 1 - -", "k1 on t 0/1 1 x - -",
		"k1 on t 0/1 1 -1 - -", "k1 on t 0/1 1 1 h x", "k1 on t 0/1 1 1 h -",
	} {
		_, err := lsn.ParseConnect(text)
		require.ErrorContains(t, err, "readsplit: new connection", "%q", text)
	}
	_, err = lsn.ParseConnect("k1 off t 0/1 1 1 - -")
	require.EqualError(t, err, `readsplit: new connection: default_transaction_read_only is "off", want on`)
}

// Whatever a server or a proxy in between answers must not panic.
func FuzzParsers(f *testing.F) {
	for _, s := range []string{
		"", primaryText, standbyText, "c1 0/1 0/1 f", "r1 t 0/1", "k1 on t 0/1 1 1 - -", checkText, briefText, bareText, "x1 1 2 3 4 5 6", "s1 " + strings.Repeat("- ", 20) + "/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := lsn.ParseSample(text); err == nil {
			require.True(t, s.InRecovery || s.Flush > 0 && s.Insert > 0 && s.Timeline > 0)
			require.GreaterOrEqual(t, s.WalWriterDelay, time.Duration(0))
		}
		if c, err := lsn.ParseCapture(text, 8192, 16<<20); err == nil {
			require.Positive(t, c.Flush)
			require.Positive(t, c.Insert)
		}
		_, _, _ = lsn.ParseReplay(text)
		_, _ = lsn.ParseConnect(text)
		_, _ = lsn.ParseCheck(text)
		_, _ = lsn.ParseBriefCheck(text)
		_, _ = lsn.ParseConflicts(text)
	})
}
