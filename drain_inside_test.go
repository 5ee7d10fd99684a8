package readsplit

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy/latency"
)

// A read that was decided before its replica was drained, and has no connection yet,
// still runs there: Drain waits for it, also where it is a read of a group.
func TestDrainWaitsForReadsWithoutAConnection(t *testing.T) {
	s := &server{name: "replica1", pool: sql.OpenDB(&refusing{})}
	of := &lane{class: &class{name: "reports"}, pool: sql.OpenDB(&refusing{})}
	s.lanes.Store(&[]*lane{of})
	t.Cleanup(func() { require.NoError(t, s.pool.Close()) })
	t.Cleanup(func() { require.NoError(t, of.pool.Close()) })
	over, cancel := context.WithCancel(t.Context())
	cancel()

	require.NoError(t, s.idle(over), "nothing runs there")
	for _, meter := range []*latency.Meter{&s.meter, &of.meter} {
		meter.Begin(sinceStart())
		err := s.idle(over)
		require.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "1 reads on 0 connections")
		meter.End(sinceStart())
		require.NoError(t, s.idle(over))
	}
}
