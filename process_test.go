package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// What each level carries from one process of the operating system to another, and
// back: the replicas of both stand still and lack what the first has written or seen.
func TestLevelsAcrossProcesses(t *testing.T) {
	x := newTrap(t, configured(steady))
	far := x.anotherProcess(t)
	eventually(t, "its reads to go to a replica", func() bool { return isReplica(far.ask(t, request{Reads: 1}).Servers[0]) })
	x.stale(t) // the book "two" is on the primary alone
	unbound := far.ask(t, request{Reads: 4})
	require.Equal(t, []int{1, 1, 1, 1}, unbound.Seen, "on %v", unbound.Servers)

	for i, g := range levels {
		want := []int{1, 2, 2}[i]
		t.Run(g.String(), func(t *testing.T) {
			// Read here, then there, then here again by the token from there.
			db, _ := x.at(g)
			require.Equal(t, 2, seesFresh(t, db))
			there := far.ask(t, request{Token: tokenOf(t, db.Statement.Context), Guarantee: g, Reads: 3})
			assert.Equal(t, []int{want, want, want}, there.Seen)
			back := joined(there.Token)
			assert.GreaterOrEqual(t, seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), back))), want)

			// Read there, and then here.
			there = far.ask(t, request{Fresh: true, Guarantee: g, Reads: 1})
			require.Equal(t, []int{2}, there.Seen)
			here := joined(there.Token)
			assert.Equal(t, want, seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), here))))
		})
	}
	t.Run("what was written", func(t *testing.T) {
		there := far.ask(t, request{SQL: "INSERT INTO books_t (title) VALUES ('three')"})
		for n := range 3 { // at the lowest level, and on by tokens that have only joined
			heir := joined(there.Token)
			ctx := readsplit.WithSession(t.Context(), heir)
			require.Equal(t, 3, seesBooks(t, x.WithContext(ctx)), n)
			there = far.ask(t, request{Token: tokenOf(t, ctx), Guarantee: session.ReadYourWrites, Reads: 2})
			require.Equal(t, []int{3, 3}, there.Seen)
		}
	})
	// Code there that has lost its context has seen the tokens, and reads likewise here.
	assert.Equal(t, 3, seesBooks(t, x.WithContext(t.Context())))
}
