package monitor_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

var errRead = errors.New("too many connections")

func TestEjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t)
		w.happened()
		out := func() time.Duration { return max(time.Until(replica(m, 0).EjectedUntil), 0) }

		for range 10 {
			m.Struck(0, false, errRead)
			m.Struck(0, false, errRead)
			m.Served(0, false)
		}
		assert.Zero(t, out(), "a read that succeeds in between ends the row")
		for range 3 {
			m.Struck(0, false, errRead)
		}
		assert.Equal(t, time.Second, out())
		assert.Equal(t, replica(m, 0).EjectedUntil, replica(m, 0).Since, "the slow start begins when it is over")
		assert.Equal(t, []string{"r0 ejected"}, w.happened())
		assert.True(t, replica(m, 0).Up, "its probes succeed")
		assert.Zero(t, replica(m, 1).EjectedUntil)

		m.Struck(0, false, errRead)
		m.Served(0, false)
		assert.Equal(t, time.Second, out(), "reads that were under way change nothing")

		pass(1500 * time.Millisecond)
		for range 3 {
			m.Struck(0, false, errRead)
		}
		assert.Equal(t, 2*time.Second, out(), "again so soon: twice as long")
		m.Struck(0, true, errRead)
		assert.Equal(t, 4*time.Second, out(), "a trial that fails makes it longer at once")
		for range 10 {
			m.Struck(0, true, errRead)
		}
		assert.Equal(t, 30*time.Second, out())
		w.happened()

		m.Served(0, true)
		assert.Zero(t, out(), "a trial that succeeds ends it")
		assert.WithinDuration(t, time.Now(), replica(m, 0).Since, 0)
		assert.Equal(t, []string{"r0 readmitted"}, w.happened())

		pass(time.Minute)
		for range 3 {
			m.Struck(0, false, errRead)
		}
		assert.Equal(t, time.Second, out(), "it was well for longer than it was out")
	})
}

// A server that was down, or restarted, begins anew: what failed while it went says
// nothing of it.
func TestEjectionEndsWithARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		s := w.standbys[0]
		m := w.start(t, func(c *monitor.Config) { c.Health.Eject, c.Health.MaxEject = time.Hour, time.Hour })
		eject := func() {
			for range 3 {
				m.Struck(0, false, errRead)
			}
			require.True(t, time.Now().Before(replica(m, 0).EjectedUntil))
		}
		eject()
		s.breaks(errRefused)
		pass(2 * time.Second)
		s.breaks(nil)
		pass(3 * longest)
		assert.True(t, replica(m, 0).Up)
		assert.True(t, replica(m, 0).EjectedUntil.IsZero(), "it was down")
		eject()
		w.change(func() { s.state.Started++ })
		pass(2 * longest)
		assert.True(t, replica(m, 0).EjectedUntil.IsZero(), "another run of it answers")
	})
}

func TestNobodyIsEjected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.start(t, func(c *monitor.Config) { c.Health.Strikes = -1 })
		for range 100 {
			m.Struck(0, false, errRead)
		}
		assert.Zero(t, replica(m, 0).EjectedUntil)
	})
}

func TestHealthIsValidated(t *testing.T) {
	require.NoError(t, monitor.Health{}.Validate())
	require.NoError(t, monitor.Health{Strikes: -1, Eject: time.Minute, SlowStart: -1}.Validate())
	for field, h := range map[string]monitor.Health{
		"Health.Strikes is -2":      {Strikes: -2},
		"Health.Eject is -1s":       {Eject: -time.Second},
		"Health.MaxEject is 1ms":    {MaxEject: time.Millisecond},
		"Health.MaxEject is -1s":    {MaxEject: -time.Second},
		"Health.SlowStart is -1m0s": {SlowStart: -time.Minute},
	} {
		require.ErrorContains(t, h.Validate(), field)
	}
	assert.Zero(t, monitor.Health{SlowStart: -1}.Ramp())
	assert.Equal(t, 10*time.Second, monitor.Health{}.Ramp())
}
