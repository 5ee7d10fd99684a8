package drivertest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// served says which servers n logins came to.
func served(t *testing.T, dsn string, n int) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for range n {
		db := pool(t, dsn)
		counts[one[string](t, db, "SELECT @@SERVERNAME")]++
	}
	return counts
}

func TestRoutingLists(t *testing.T) {
	c := group(t, tdsenv.Config{RoutingList: "(('SQL2','SQL3'),'SQL1')"})
	listener := c.Listener()
	require.Equal(t, map[string]int{"SQL1": 4}, served(t, listener.DSN(), 4))
	require.Equal(t, map[string]int{"SQL2": 3, "SQL3": 3}, served(t, listener.ReadOnlyDSN(), 6), "they take turns")
	require.Equal(t, map[string]int{"SQL1": 2}, served(t, c.Server("SQL1").ReadOnlyDSN(), 2), "only the listener routes")
	require.Equal(t, map[string]int{"SQL1": 2}, served(t, listener.DSNFor(""), 2), "nothing is routed without a database")

	undo, err := c.Server("SQL2").Kill(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]int{"SQL3": 2}, served(t, listener.ReadOnlyDSN(), 2))
	_, err = c.Server("SQL3").Allow(t.Context(), tdsenv.AllowNone)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"SQL1": 2}, served(t, listener.ReadOnlyDSN(), 2), "the primary stands last")
	require.NoError(t, undo())
	require.NoError(t, c.UndoAll())

	logins := c.Server("SQL1").Logins()
	first := logins[len(logins)-2] // its redirect is the last
	require.True(t, first.ReadOnly && first.Listener)
	require.Equal(t, "app", first.Database)
	require.Equal(t, "go-mssqldb", first.Library)
	require.Equal(t, "readsplit", first.App)
	require.Equal(t, c.Server("SQL1").Addr(), first.RoutedTo)

	// The list of the new primary counts after a failover; here the same one.
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.NoError(t, c.Failover(t.Context(), c.Server("SQL3")))
	require.Equal(t, map[string]int{"SQL3": 1, "SQL2": 1}, served(t, listener.ReadOnlyDSN(), 2))
}

func TestNoReadableSecondary(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2, RoutingList: "('SQL2')"})
	_, err := c.Server("SQL2").Suspend(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 982, number(t, pool(t, c.Listener().ReadOnlyDSN()).PingContext(limit(t))))
	none := group(t, tdsenv.Config{Nodes: 2, RoutingList: tdsenv.NoRouting})
	require.Equal(t, map[string]int{"SQL1": 1}, served(t, none.Listener().ReadOnlyDSN(), 1))
}

// The driver follows redirects without a limit: only a deadline ends a loop.
func TestRoutingLoop(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2, RoutingList: "('SQL2')"})
	_, err := c.Server("SQL2").Route(t.Context(), c.Listener().URL())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(limit(t))
	defer cancel()
	looping := pool(t, c.Listener().ReadOnlyDSN())
	ended := make(chan error, 1)
	go func() { ended <- looping.PingContext(ctx) }()
	require.Eventually(t, func() bool { return len(c.Server("SQL1").Logins()) > 10 }, limitFor, tick)
	cancel()
	require.Error(t, <-ended)
}

func TestIntentIsCaseSensitive(t *testing.T) {
	c := group(t, tdsenv.Config{Nodes: 2})
	dsn := c.Listener().DSN()
	require.Equal(t, map[string]int{"SQL1": 1}, served(t, dsn+"&ApplicationIntent=readonly", 1), "taken for no intent")
	require.Equal(t, map[string]int{"SQL2": 1}, served(t, dsn+"&ApplicationIntent=ReadOnly", 1))
}
