package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A write is never run twice, also not by the driver: a connection that breaks
// while the server waits for its synchronous replica was once taken for one that
// nothing had been sent on, and database/sql ran the statement again (pgx before
// 5.13, for statements without arguments).
func TestWriteIsNotRunTwice(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c)
	require.NoError(t, d.Exec("CREATE TABLE counter AS SELECT 0 AS n").Error)
	end := unacknowledged(t, c)
	t.Cleanup(end)
	done := make(chan error, 1)
	go func() { done <- d.Exec("UPDATE counter SET n = n + 1").Error }()
	eventually(t, "the commit to wait", func() bool { return ask[int](t, c.Primary(), waiting, d.name) > 0 })
	release(t, c, d.name)
	require.Error(t, <-done)
	end()
	var n int
	require.NoError(t, direct(t, c.Primary(), d.name).QueryRow("SELECT n FROM counter").Scan(&n))
	require.Equal(t, 1, n)
}
