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

// openTransaction leaves the flush position inside a record that nobody
// finishes, as an open transaction on a quiet primary does.
func (w *world) openTransaction() {
	w.change(func() { w.state.Flush, w.state.Insert = w.state.Insert+40, w.state.Insert+96 })
}

// nudgeable makes the primary write and commit when it is nudged.
func (w *world) nudgeable() *world {
	w.primary.nudge = func() error { // called with w.mu held
		w.state.Insert += 96
		w.state.Flush = w.state.Insert
		w.log = append(w.log, entry{time.Now(), w.state.Flush})
		return nil
	}
	return w
}

func (w *world) nudges() int { return w.primary.count(&w.primary.nudges) }

func TestIdleOpenTransactionIsNudgedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2).nudgeable()
		m := w.start(t)
		pass(time.Second)
		w.openTransaction()
		for range 6000 { // a minute
			pass(10 * time.Millisecond)
			for i := range w.standbys {
				require.True(t, eligible(m, i), "replica %d is healthy and must stay in use", i)
				require.GreaterOrEqual(t, lagOf(t, m, i), w.standbys[i].staleness())
			}
		}
		assert.Equal(t, 1, w.nudges())
		w.openTransaction()
		pass(10 * time.Second)
		assert.Equal(t, 2, w.nudges(), "once for each record that is left unfinished")
	})
}

func TestNudgeComesAtMostOncePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1).nudgeable()
		finish := w.primary.nudge
		var starts []time.Time
		w.primary.nudge = func() error {
			starts = append(starts, time.Now())
			err := finish()
			// The next unfinished record is there at once.
			w.state.Flush, w.state.Insert = w.state.Insert+40, w.state.Insert+96
			return err
		}
		w.start(t, func(c *monitor.Config) { c.MaxLag = sampleEvery })
		w.openTransaction()
		pass(20 * time.Second)
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Greater(t, len(starts), 10)
		for i := 1; i < len(starts); i++ {
			require.GreaterOrEqual(t, starts[i].Sub(starts[i-1]), time.Second)
		}
	})
}

func TestWhatIsNotNudged(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*monitor.Config)
		do   func(*world, *standby)
		most int
	}{
		"healthy": {do: func(*world, *standby) {}},
		"cut off, behind complete records": {do: func(w *world, s *standby) {
			w.change(func() { s.gets = w.state.Flush })
			w.write()
		}},
		"cut off, behind an unfinished record": {do: func(w *world, s *standby) {
			w.change(func() { s.gets = w.state.Flush })
			w.openTransaction()
		}},
		"replay paused": {do: func(w *world, s *standby) {
			w.change(func() { s.replays, s.state.Paused = w.state.Flush, true })
			w.write()
		}},
		"stuck though it has received everything: one nudge finds out": {do: func(w *world, s *standby) {
			w.change(func() { s.replays = w.state.Flush })
			w.write()
		}, most: 1},
		"down": {do: func(w *world, s *standby) {
			w.openTransaction()
			s.breaks(errRefused)
		}},
		"another history": {do: func(w *world, s *standby) {
			w.change(func() { s.state.ReceivedTimeline = 2 })
			w.openTransaction()
		}},
		"promoted": {do: func(w *world, s *standby) {
			w.change(func() { s.state.InRecovery = false })
			w.openTransaction()
		}},
		"forbidden": {
			edit: func(c *monitor.Config) { c.Nudge = false },
			do:   func(w *world, _ *standby) { w.openTransaction() },
		},
		"the primary is busy": {do: func(w *world, s *standby) { w.change(func() { s.lag = 3 * time.Second }) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1).nudgeable()
				edits := []func(*monitor.Config){}
				if c.edit != nil {
					edits = append(edits, c.edit)
				}
				w.start(t, edits...)
				pass(time.Second)
				c.do(w, w.standbys[0])
				for range 600 {
					if name == "the primary is busy" {
						w.write()
					}
					pass(100 * time.Millisecond)
				}
				assert.Equal(t, c.most, w.nudges())
			})
		})
	}
}

func TestNudgeThatFailsIsNotRepeatedForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.primary.nudge = func() error { return errors.New("permission denied") }
		m := w.start(t)
		w.openTransaction()
		pass(10 * time.Second)
		require.Equal(t, 1, w.nudges())
		assert.GreaterOrEqual(t, lagOf(t, m, 0), 9*time.Second, "the bound is honest")
		assert.False(t, m.Snapshot().Primary.Lost, "a refused nudge is not a lost primary")
		w.write() // replayed, and then again a record that is not finished
		pass(time.Second)
		w.openTransaction()
		pass(45 * time.Second)
		assert.Equal(t, 1, w.nudges(), "not allowed, most likely: the server's log must not fill")
		pass(10 * time.Second)
		assert.Equal(t, 2, w.nudges())
	})
}
