package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// requestOf is a session of one request of a user, as any process has it that shares
// the store.
func requestOf(t testing.TB, store session.Store, user string) context.Context {
	t.Helper()
	s := readsplit.NewSession()
	token, err := store.Load(t.Context(), user)
	require.NoError(t, err)
	s.JoinToken(token)
	return readsplit.WithSession(t.Context(), s)
}

// A token of before a change of primary keeps nobody on the primary for ever, although
// each request adds one that lives longer.
func TestStoreAfterAChangeOfPrimary(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(quick))
	replicasServe(t, d.WithContext(readsplit.WithSession(t.Context(), readsplit.NewSession())))
	store := session.NewMemory(session.MemoryOptions{Lifetime: -1})
	now := time.Now()
	old := session.Token{Issued: now, Expires: now.Add(time.Minute), Positions: []lsn.Position{{
		History: lsn.History{System: ask[uint64](t, c.Primary(), "SELECT system_identifier FROM pg_control_system()"), Timeline: 1, Incarnation: 1}, LSN: 1 << 20,
	}}}
	require.NoError(t, store.Advance(t.Context(), "ann", old))
	page := func() string {
		ctx := requestOf(t, store, "ann")
		server := served(t, d.WithContext(ctx))
		if s := readsplit.SessionFrom(ctx); s.Changed() {
			token, err := s.Export(ctx)
			require.NoError(t, err)
			require.NoError(t, store.Advance(ctx, "ann", token))
		}
		return server
	}
	assert.Equal(t, "primary", page())
	eventually(t, "a replica serves a user who only reads", func() bool { return isReplica(page()) })
}

// R14: what a store keeps is seen by the next request of its user, and of nobody else;
// what it has lost is seen by everybody who may have lost it, from a replica as soon as
// one has what the primary had.
func TestR14StoreOfUsers(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c, configured(boundless))
	counters(t, d, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	store := session.NewMemory(session.MemoryOptions{MaxUsers: 1, Lifetime: -1})
	seen := func(user string) (n int) {
		require.NoError(t, d.WithContext(requestOf(t, store, user)).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
		return n
	}

	replicasServe(t, d.WithContext(requestOf(t, store, "eve"))) // what the test has made itself is there
	resume := still(t, c)
	ann := requestOf(t, store, "ann")
	require.NoError(t, d.WithContext(ann).Exec("UPDATE counters SET n = 7 WHERE id = 1").Error)
	token, err := readsplit.SessionFrom(ann).Export(ann)
	require.NoError(t, err)
	require.NoError(t, store.Advance(ann, "ann", token))
	assert.Equal(t, 7, seen("ann"))
	assert.Zero(t, seen("eve"), "who sees what the replicas have, or the test proves nothing")

	require.NoError(t, store.Advance(ann, "bob", token))
	require.Equal(t, session.MemoryStats{Users: 1, Evicted: 1}, store.Stats())
	assert.Equal(t, 7, seen("ann"), "whose token was evicted")
	assert.Equal(t, 7, seen("eve"), "who cannot be told from her")

	resume()
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	eventually(t, "replicas serve those who are unsure", func() bool {
		return isReplica(served(t, d.WithContext(requestOf(t, store, "ann"))))
	})
	assert.Equal(t, 7, seen("ann"))
}
