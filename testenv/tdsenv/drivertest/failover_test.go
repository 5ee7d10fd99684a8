package drivertest

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// No connection outlasts a change of role, not even one that the listener takes while the
// roles change: a pool would write to a secondary through it for ever.
func TestConnectionsEndWithTheRole(t *testing.T) {
	c := tdsenv.Start(t, tdsenv.Config{})
	primary := pool(t, c.Listener().DSN())
	stop := make(chan struct{})
	var logins sync.WaitGroup
	var mu sync.Mutex
	var all []*sql.Conn
	for range 8 {
		logins.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				conn, err := primary.Conn(limit(t))
				if err != nil {
					continue // there is no primary just now
				}
				mu.Lock()
				all = append(all, conn)
				mu.Unlock()
			}
		})
	}
	logged := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(all)
	}
	for range 3 {
		before := logged()
		require.Eventually(t, func() bool { return logged() >= before+8 }, limitFor, tick)
		require.NoError(t, c.Failover(limit(t), c.Replica(0)))
	}
	close(stop)
	logins.Wait()
	for _, conn := range all {
		var server string
		err := conn.QueryRowContext(context.Background(), "SELECT @@SERVERNAME").Scan(&server)
		require.True(t, err != nil || server == c.Primary().Name(), "a connection of before leads to %s", server)
		require.NoError(t, ignoreDone(conn.Close()))
	}
}

// ignoreDone: a connection that the pool has found broken is closed already.
func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return nil
	}
	return err
}
