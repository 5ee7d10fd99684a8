package history_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/verify/history"
)

func sample() *history.History {
	return &history.History{
		Header: history.Header{Version: history.Version, Seed: 7, Episode: "replicas", Plugin: "readsplit", Server: "15.18", Primary: "primary", Command: "verify -seed 7", MaxLag: time.Second},
		Events: []history.Event{
			{Kind: history.KindWrite, Process: 1, Client: 2, Session: "s1", Way: "exec", Invoke: 1, Return: 2, Result: history.OK, Writes: []history.Write{{Key: "r1", Value: "a", Version: 1}}},
			{Kind: history.KindRead, Invoke: 3, Return: 4, Result: history.OK, Mode: history.AtMost, Bound: time.Second, Reads: []history.Read{{Key: "l1", Values: []string{"<&>"}}}, Server: "replica1"},
			{Kind: history.KindFault, Fault: "kill", On: "primary", Invoke: 1, Return: 9, Breaks: true, Loses: true},
			{Kind: history.KindFinal, Key: "r1", Values: []string{"a"}},
		},
	}
}

func TestReadsWhatItWrote(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, history.Save(&file, sample()))
	assert.Equal(t, 5, strings.Count(file.String(), "\n"))
	assert.Contains(t, file.String(), `"values":["<&>"]`, "a person reads it")
	got, err := history.Load(&file)
	require.NoError(t, err)
	assert.Equal(t, sample(), got)
}

func TestRefuses(t *testing.T) {
	for name, c := range map[string]struct{ file, err string }{
		"nothing":         {"", "verify: the history is empty"},
		"another version": {`{"version":2,"seeds":[1]}` + "\n", "verify: history, line 1: version is 2, and this program reads version 1"},
		"unknown field":   {`{"version":1}` + "\n" + `{"kind":"read","lag":1}` + "\n", `verify: history, line 2: json: unknown field "lag"`},
		"no JSON":         {`{"version":1}` + "\nkind\n", "verify: history, line 2: invalid character 'k' looking for beginning of value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := history.Load(strings.NewReader(c.file))
			require.EqualError(t, err, c.err)
		})
	}
}

// A process that was killed leaves half a line. What came before it can be judged.
func TestCutLine(t *testing.T) {
	var file bytes.Buffer
	require.NoError(t, history.Save(&file, sample()))
	got, err := history.Load(bytes.NewReader(file.Bytes()[:file.Len()-5]))
	require.ErrorIs(t, err, history.ErrCut)
	assert.Equal(t, sample().Events[:3], got.Events)
}

func TestClockGoesForward(t *testing.T) {
	before := history.Now()
	began := time.Now()
	for time.Since(began) < time.Millisecond {
		require.GreaterOrEqual(t, history.Now(), before)
	}
	assert.Less(t, before, history.Now())
	assert.InDelta(t, time.Since(began), history.Now()-before, float64(time.Second))
}
