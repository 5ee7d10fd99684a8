package lsn_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

const bareText = "s0 t - - f - - - - - - 7 1000000 f 200 0 0 42 150018 10.0.0.1 5432 100 3 0 /reader"

func TestBareAnswers(t *testing.T) {
	s, err := lsn.ParseSample(bareText)
	require.NoError(t, err)
	assert.True(t, s.TellsNoPosition())
	assert.Equal(t, lsn.Server{System: 7, Started: 1000000, Addr: "10.0.0.1", Port: 5432}, s.Server)
	assert.Equal(t, "reader", s.ClusterName)
	s, err = lsn.ParseSample(strings.Replace(bareText, "s0 t", "s0 f", 1))
	require.NoError(t, err, "a primary that tells nothing")
	assert.False(t, s.TellsNoPosition())
	_, err = lsn.ParseSample(strings.Replace(bareText, "s0 t", "s1 f", 1))
	require.ErrorContains(t, err, "without a position")

	c, err := lsn.ParseCheck("h0 f - - f - - - - 7 1000000 42 - - /read committed")
	require.NoError(t, err)
	assert.False(t, c.InRecovery)
	_, err = lsn.ParseCheck("h1 f - - f - - - - 7 1000000 42 - - /read committed")
	require.ErrorContains(t, err, "without a timeline")
}

// A question without the system identifier is the same question otherwise.
func TestWithoutSystem(t *testing.T) {
	for _, q := range []string{lsn.BareSQL, lsn.BareCheckSQL, lsn.BareConnectSQL} {
		less := lsn.WithoutSystem(q)
		assert.Contains(t, q, "pg_control_system")
		assert.NotContains(t, less, "pg_control_system")
		assert.Contains(t, less, "pg_is_in_recovery()")
		for _, position := range []string{"_lsn(", "pg_walfile_name", "pg_stat_wal_receiver", "timeline"} {
			assert.NotContains(t, q, position)
		}
	}
}

func TestClock(t *testing.T) {
	now := time.Now()
	assert.Equal(t, lsn.LSN(1000), lsn.Clock(now.Add(time.Millisecond))-lsn.Clock(now))
	assert.InDelta(t, now.UnixMicro(), int64(lsn.Clock(now)), float64(time.Hour.Microseconds()))
	back, err := lsn.ParseLSN(lsn.Clock(now).String())
	require.NoError(t, err)
	assert.Equal(t, lsn.Clock(now), back)
}
