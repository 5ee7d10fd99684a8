package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// A replica that dies, however it does, costs nobody an error.
func TestReplicaGoesAndComesBack(t *testing.T) {
	c := testenv.Start(t)
	d := newDB(t, c, configured(patient))
	counters(t, d, 16)
	r := c.Replica(0)
	for name, fault := range map[string]struct {
		inject  func() (testenv.Undo, error)
		inForce func() bool
	}{
		"kill":   {func() (testenv.Undo, error) { return r.Kill(t.Context()) }, func() bool { return refuses(r) }},
		"stop":   {func() (testenv.Undo, error) { return r.Stop(t.Context()) }, func() bool { return refuses(r) }},
		"freeze": {func() (testenv.Undo, error) { return r.Freeze(t.Context()) }, func() bool { return silent(t, r) }},
	} {
		t.Run(name, func(t *testing.T) {
			u := startUsers(t, d, 16, nil)
			u.busy(t, r)
			undo := injected(t)(fault.inject())
			u.during(t, 200, fault.inForce)
			d.eligible(t, "replica2")
			noticed := time.Now()
			u.during(t, 200, fault.inForce)
			assert.False(t, u.servedSince(r, noticed))
			undone(t, undo)
			d.eligible(t, "replica1", "replica2")
			u.right(t)
			assert.Less(t, time.Duration(u.slowest.Load()), 2500*time.Millisecond)
			require.Zero(t, u.lost.Load())
			t.Logf("%+v", d.plugin.Status().Reasons)
			t.Logf("%+v", d.plugin.Status().Retries)
		})
	}
}
