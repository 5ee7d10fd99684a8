package readsplit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

// In a process with two plugins a session that joined a token and only reads has nothing
// new to tell: else every response of such a process sets a cookie, and none of them can be
// cached.
func TestChangedWithTwoPlugins(t *testing.T) {
	c := cluster(t)
	one := newDB(t, c, configured(boundless))
	counters(t, one, 1)
	two := newDB(t, c, configured(boundless), inDatabase(one.name))
	ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, one.WithContext(ctx).Exec("UPDATE counters SET n = 1").Error)
	text := tokenOf(t, ctx)

	s := readsplit.NewSession()
	s.Join(text)
	ctx = readsplit.WithSession(context.Background(), s)
	for _, d := range []*testDB{one, two} {
		var n int
		require.NoError(t, d.WithContext(ctx).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
		require.Equal(t, 1, n)
		assert.False(t, s.Changed(), "after a read")
	}
	require.NoError(t, two.WithContext(ctx).Exec("UPDATE counters SET n = 2").Error)
	assert.True(t, s.Changed(), "after a write")
}

// A session from before the second plugin was in use has written what that was not told
// of, and reads through it see that all the same.
func TestSessionFromBeforeTheSecondPlugin(t *testing.T) {
	c := cluster(t)
	one := newDB(t, c, configured(boundless))
	counters(t, one, 1)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	for name, s := range map[string]*readsplit.Session{"made": readsplit.NewSession(), "zero": {}} {
		t.Run(name, func(t *testing.T) {
			ctx := readsplit.WithSession(t.Context(), s)
			undo := still(t, c)
			defer undo()
			value := len(name) + int(name[0])
			require.NoError(t, one.WithContext(ctx).Exec("UPDATE counters SET n = ?", value).Error)
			two := newDB(t, c, configured(boundless), inDatabase(one.name))
			var n int
			// Stale: what the process wrote does not bind it, the session's own does.
			require.NoError(t, two.WithContext(readsplit.Stale(ctx)).Raw("SELECT n FROM counters WHERE id = 1").Scan(&n).Error)
			assert.Equal(t, value, n)
		})
	}
}
