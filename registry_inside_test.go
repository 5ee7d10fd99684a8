package readsplit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

// ForgetAsync forgets of which systems some connection may commit before it has flushed:
// what one test has set is over when its pools are closed.
func ForgetAsync() {
	plugins.mu.Lock()
	defer plugins.mu.Unlock()
	plugins.async = nil
}

// A SET stays on its connection when the plugin that saw it is closed: one that comes
// later must know.
func TestWhoComesLaterKnowsOfAsynchronousCommits(t *testing.T) {
	made := func() *router {
		rt := &router{watched: true, monitor: monitor.New(monitor.Config{})}
		rt.self = []*router{rt}
		return rt
	}
	var r registry
	rt := made()
	require.False(t, r.commitsAsync(rt))
	r.async = map[uint64]bool{7: true}
	require.True(t, r.commitsAsync(rt), "it may be the same: its system is not known yet")
	r.async = nil
	r.commitAsync(rt)
	require.True(t, r.commitsAsync(made()), "it was not known of which one")
}

// A router that is not in use any more is looked at as long as something is under way
// through it, and not kept for longer.
func TestRoutersThatAreLookedAtAfterTheirUse(t *testing.T) {
	var r registry
	made := func() *router {
		rt := &router{watched: true, monitor: monitor.New(monitor.Config{})}
		rt.self = []*router{rt}
		return rt
	}
	rt, old := made(), made()
	r.add(rt)
	r.add(old)
	r.stays(old)
	require.Empty(t, r.behind(), "it is in use")
	old.openRows.n.Store(1)
	r.remove(old)
	require.False(t, r.alone(rt))
	require.Equal(t, []*router{rt, old}, r.sharing(rt))
	r.letGo()
	require.True(t, r.alone(rt))
	require.Equal(t, []*router{rt}, r.sharing(rt))

	old.foreign.n.Store(1) // begun when it was closed already
	r.stays(old)
	r.stays(old)
	require.Equal(t, []*router{old}, r.behind())
	old.foreign.n.Store(0)
	r.letGo()
	require.Empty(t, r.behind())

	elsewhere, standIn := made(), made()
	elsewhere.watched, standIn.rehearsal = false, &rehearsal{}
	r.stays(elsewhere)
	r.stays(standIn)
	require.Empty(t, r.behind(), "of what cannot be compared, and of what is not done, nothing follows")
}
