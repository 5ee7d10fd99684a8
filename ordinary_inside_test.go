package readsplit

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// Whatever is asked of a read beside what most ask takes the longer way, on which it is
// looked at. A mark that is new has to be thought of.
func TestWhatIsAskedOfAReadIsNotOrdinary(t *testing.T) {
	p := &Plugin{}
	p.main = &router{plugin: p}
	ordinary := func(r *route, m marks) bool {
		r.router = p.main
		return r.ordinary(&m)
	}
	require.True(t, ordinary(&route{}, marks{}))
	for field, change := range map[string]*marks{
		"mode": {mode: policy.Stale}, "atMost": {atMost: 1}, "group": {group: "reporting"},
	} {
		assert.False(t, ordinary(&route{}, *change), field)
	}
	// These say nothing about where a read goes, or are looked at on either way.
	for field, change := range map[string]*marks{"recheck": {recheck: true}, "session": {session: NewSession()}, "request": {request: &request{}}} {
		assert.True(t, ordinary(&route{}, *change), field)
	}
	require.Equal(t, 6, reflect.TypeFor[marks]().NumField(), "what does a new mark ask of route.ordinary?")

	for name, r := range map[string]*route{
		"parent": {parent: &route{}}, "detour": {detour: &detour{}}, "wish": {wish: &wish{}}, "class": {class: &class{}},
	} {
		assert.False(t, ordinary(r, marks{}), name)
	}
	p.grouping = &grouping{groups: []groups.Group{{Name: "reporting"}}}
	assert.False(t, ordinary(&route{}, marks{}), "groups")
	p.grouping = nil
	for _, traffic := range []policy.Traffic{{KillSwitch: true}, {Percent: 50}, {Shadow: true}} {
		p.traffic.Store(&traffic)
		assert.False(t, ordinary(&route{}, marks{}), "%+v", traffic)
	}
	p.traffic.Store(&policy.Traffic{})
	assert.True(t, ordinary(&route{}, marks{}))
}
