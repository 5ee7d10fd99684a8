package monitor_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/monitor"
)

// What runs on a server when it dies is broken off and fails, read after read. That it
// "answers its probes, but reads fail there" would be said of it in the very moment in
// which it does not.
func TestTheDeadAreNotEjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		var m *monitor.Monitor
		m = w.start(t, func(c *monitor.Config) {
			c.OnDead = func(i int) {
				for range 10 {
					m.Struck(i, false, errRead)
				}
			}
		})
		w.happened()
		w.standbys[0].breaks(errRefused)
		pass(3 * longest)
		assert.Equal(t, []string{"r0 suspect", "r0 down"}, w.happened())
		assert.Zero(t, replica(m, 0).EjectedUntil)

		w.standbys[0].breaks(nil)
		pass(3 * longest)
		w.happened()
		for range 3 {
			m.Struck(0, false, errRead)
		}
		assert.Equal(t, []string{"r0 ejected"}, w.happened(), "it answers, and counts again")
	})
}
