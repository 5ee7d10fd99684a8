package lsn_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

const (
	checkText = "h1 t 0/3000060 0/3000098 t - b a 9 -8142226860300129673 1773500000123456 4711 10.0.0.7 5432 /read committed"
	briefText = "b1 t 0/3000060 t 1773500000123456 4711 10.0.0.7 5432 /read committed"
)

func TestParseCheck(t *testing.T) {
	got, err := lsn.ParseCheck(checkText)
	require.NoError(t, err)
	at := lsn.Server{System: 10304517213409421943, Started: 1773500000123456, Addr: "10.0.0.7", Port: 5432}
	assert.Equal(t, lsn.Check{Isolation: "read committed", Sample: lsn.Sample{
		Server: at, InRecovery: true, Replay: 0x3000060, Receive: 0x3000098, Paused: true,
		ReceivedTimeline: 11, ControlTimeline: 10, BackendPID: 4711,
	}}, got)
	brief, err := lsn.ParseBriefCheck(briefText)
	require.NoError(t, err)
	at.System = 0
	assert.Equal(t, lsn.Check{Isolation: "read committed", Sample: lsn.Sample{
		Server: at, InRecovery: true, Replay: 0x3000060, Paused: true, BackendPID: 4711,
	}}, brief)

	_, err = lsn.ParseCheck(strings.Replace(checkText, "h1 t", "h1 f", 1))
	require.EqualError(t, err, "readsplit: check of a primary without a timeline")
	for i, word := range []string{"h2", "yes", "0/G", "0/G", "1", "x", "x", "x", "x", "x", "-1", "x", "", "x", "read"} {
		if i == 12 {
			continue // an address is any word
		}
		f := strings.SplitN(checkText, " ", 15)
		f[i] = word
		_, err := lsn.ParseCheck(strings.Join(f, " "))
		assert.ErrorContains(t, err, "readsplit: check of a connection: ", "field %d", i)
	}
	for i, word := range []string{"b2", "yes", "0/G", "1", "-1", "x", "", "x", "read"} {
		if i == 6 {
			continue
		}
		f := strings.SplitN(briefText, " ", 9)
		f[i] = word
		_, err := lsn.ParseBriefCheck(strings.Join(f, " "))
		assert.ErrorContains(t, err, "readsplit: brief check of a connection: ", "field %d", i)
	}
}

func TestChecksOnRealServers(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(1))
	addPlainRole(t, c)
	for role, options := range map[string]string{"superuser": "", "ordinary role": asPlain} {
		for _, s := range c.Servers() {
			t.Run(role+" "+s.Name(), func(t *testing.T) {
				conn := connect(t, s, options)
				sample := sampleOf(t, conn)
				tx, err := conn.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
				require.NoError(t, err)
				defer func() { require.NoError(t, tx.Rollback()) }()
				got, err := lsn.ParseCheck(value[string](t, tx, lsn.CheckSQL))
				require.NoError(t, err)
				brief, err := lsn.ParseBriefCheck(value[string](t, tx, lsn.BriefCheckSQL))
				require.NoError(t, err)
				assert.Equal(t, "repeatable read", got.Isolation)
				assert.Equal(t, "repeatable read", brief.Isolation)
				assert.Equal(t, sample.Server, got.Server)
				assert.Equal(t, sample.BackendPID, got.BackendPID)
				assert.Equal(t, sample.Timeline, got.Timeline)
				assert.Equal(t, sample.ReceivedTimeline, got.ReceivedTimeline)
				assert.Equal(t, sample.ControlTimeline, got.ControlTimeline)
				brief.System = got.System
				assert.Equal(t, got.Server, brief.Server)
				assert.Equal(t, got.BackendPID, brief.BackendPID)
				assert.Equal(t, s != c.Primary(), got.InRecovery)
				assert.Equal(t, got.InRecovery, brief.InRecovery)
				if got.InRecovery {
					assert.GreaterOrEqual(t, got.Replay, sample.Replay)
					assert.GreaterOrEqual(t, brief.Replay, got.Replay)
				}
			})
		}
	}
}
