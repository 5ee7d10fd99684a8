package readsplit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

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
