package drivertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/sqlserver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// A listener that routes to itself is followed by the driver for as long as it may: the
// attempts end, reads go to the primary, and there are pauses in which nobody logs in.
func TestListenerRoutesToItself(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{Nodes: 2, RoutingList: "('SQL2')"})
	undo, err := c.Server("SQL2").Route(limit(t), c.Listener().URL())
	require.NoError(t, err)
	db := split(t, c, func(cfg *readsplit.Config) {
		cfg.Replicas = []readsplit.Replica{{Name: "secondary", Dialector: sqlserver.Open(c.Listener().ReadOnlyDSN())}}
		cfg.SampleTimeout = 300 * time.Millisecond // and eight times as much for a connection
	})
	loops := func() (n int) {
		for _, l := range c.Server("SQL1").Logins() {
			if l.RoutedTo == c.Listener().Addr() {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return loops() > 0 }, limitFor, tick, "the driver follows the listener")
	quiet, counted := time.Now(), loops()
	require.Eventually(t, func() bool {
		server, _ := readBy(t, session(t), db.DB) // so that servers are asked as often as they are in use
		require.Equal(t, c.Primary().Name(), server)
		if n := loops(); n != counted {
			quiet, counted = time.Now(), n
		}
		return time.Since(quiet) > 700*time.Millisecond
	}, limitFor, tick, "nobody logs in for a while")
	require.False(t, db.plugin.Status().Replicas[0].Up)
	require.NoError(t, undo())
	require.Equal(t, "SQL2", until(t, session(t), db.DB, policy.ReasonCaughtUp))
}
