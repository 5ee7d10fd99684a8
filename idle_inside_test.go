package readsplit

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A report that takes minutes runs in the pool of its group. It must be broken off if its
// replica dies, as everything is that runs there, so that the servers are asked as ever.
func TestWhatRunsForAGroupIsUnderWay(t *testing.T) {
	s := &server{name: "replica1", pool: sql.OpenDB(&refusing{})}
	of := &lane{class: &class{name: "reports"}, pool: sql.OpenDB(&refusing{})}
	s.lanes.Store(&[]*lane{of})
	t.Cleanup(func() { require.NoError(t, s.pool.Close()) })
	t.Cleanup(func() { require.NoError(t, of.pool.Close()) })
	rt := &router{}
	rt.members.list.Store(&[]*server{s})
	require.False(t, rt.underWay())

	of.meter.Begin(sinceStart())
	assert.True(t, rt.underWay(), "its first row is still to come")
	of.meter.End(sinceStart())
	require.False(t, rt.underWay())

	conn, err := of.pool.Conn(t.Context())
	require.NoError(t, err)
	assert.True(t, rt.underWay(), "its rows are being read")
	require.NoError(t, conn.Close())
	require.False(t, rt.underWay())
}
