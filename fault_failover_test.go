package readsplit_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// address is what an application calls its primary: a name that another server
// answers to after a failover.
type address struct {
	listener net.Listener
	mu       sync.Mutex
	target   *testenv.Server
	open     map[net.Conn]bool
	done     sync.WaitGroup
}

func newAddress(t testing.TB, s *testenv.Server) *address {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := &address{listener: l, target: s, open: map[net.Conn]bool{}}
	a.done.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			a.done.Go(func() { a.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		a.moveTo(nil)
		a.done.Wait()
	})
	return a
}

func (a *address) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	a.mu.Lock()
	if a.target == nil {
		a.mu.Unlock()
		return
	}
	server, err := net.Dial("tcp", a.target.Addr())
	if err == nil {
		a.open[client], a.open[server] = true, true
	}
	a.mu.Unlock()
	if err != nil {
		return
	}
	var both sync.WaitGroup
	for _, end := range [][2]net.Conn{{client, server}, {server, client}} {
		both.Go(func() {
			_, _ = io.Copy(end[0], end[1])
			_ = end[0].Close()
			_ = end[1].Close()
		})
	}
	both.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, client)
	delete(a.open, server)
}

// moveTo ends all connections and leads new ones to another server.
func (a *address) moveTo(s *testenv.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = s
	for c := range a.open {
		_ = c.Close()
	}
}

// R3: after a failover the primary's address is another server's, which writes
// another history. What sessions know of the old one cannot be compared with it:
// they read from the primary until they have a position of the new one.
func TestR03Failover(t *testing.T) {
	c := breakable(t)
	a := newAddress(t, c.Primary())
	_, port, err := net.SplitHostPort(a.listener.Addr().String())
	require.NoError(t, err)
	d := newDB(t, c, configured(quick), connected("port="+port))
	counters(t, d, 16)
	d.eligible(t, "replica1", "replica2")
	u := newUsers(d)
	for id := range 12 {
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		u.done.Go(func() { u.use(ctx, ctx, id) })
	}
	t.Cleanup(u.end)
	quiet := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(quiet).Exec("UPDATE counters SET n = 77 WHERE id = 16").Error)
	eventually(t, "the session to be settled", func() bool { return served(t, d.WithContext(quiet)) != "primary" })
	token := tokenOf(t, quiet)
	u.during(t, 50, func() bool { return true })

	heir := c.Replica(0)
	undoStop := injected(t)(c.Primary().Stop(t.Context())) // cleanly: nothing is lost
	undoPromote := injected(t)(heir.Promote(t.Context()))
	undoFollow := injected(t)(c.Replica(1).Follow(t.Context(), heir))
	a.moveTo(heir)
	failedOver := func() bool {
		return refuses(c.Primary()) && !ask[bool](t, heir, "SELECT pg_is_in_recovery()")
	}
	eventually(t, "the new primary to be known", func() bool { return d.plugin.Status().Primary.Position.Timeline == 2 })
	from := u.writes.Load()
	u.during(t, 200, failedOver)
	eventually(t, "writes to succeed", func() bool { return u.writes.Load() > from+50 })

	// The session that wrote before, and whoever brings its token: both see it.
	for _, session := range []func() context.Context{
		func() context.Context { return quiet },
		func() context.Context { return elsewhere(t, token) },
	} {
		ctx := session()
		var n int
		tx := d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 16").Scan(&n)
		require.NoError(t, tx.Error)
		assert.Equal(t, 77, n)
		decision, _ := readsplit.DecisionOf(tx)
		assert.Contains(t, []policy.Reason{policy.ReasonOtherHistory, policy.ReasonUnsure}, decision.Reason)
		eventually(t, "the session to leave the primary", func() bool { return served(t, d.WithContext(ctx)) == "replica2" })
	}
	assert.Positive(t, d.plugin.Status().OtherHistory)
	assert.EqualValues(t, 1, d.plugin.Status().Tokens.Foreign)
	assert.Equal(t, policy.RolePrimary, d.plugin.Status().Replicas[0].Role, "no read goes to the new primary as a replica")
	noticed := time.Now()
	u.during(t, 200, failedOver)
	assert.True(t, u.servedSince(c.Replica(1), noticed), "replicas of the new primary serve")
	u.end()
	assert.Zero(t, u.stale.Load(), "%q", u.first)
	t.Logf("%d reads %v, %d failed, %d of %d writes failed", u.reads.Load(), u.by, u.failed.Load(), u.lost.Load(), u.writes.Load())

	a.moveTo(nil)
	undone(t, undoStop)
	undone(t, undoPromote)
	undone(t, undoFollow)
}
