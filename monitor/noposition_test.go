package monitor_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// mute makes a standby tell no position.
func (s *standby) mute() {
	answer := s.answer
	s.answer = func() lsn.Sample {
		said := answer()
		said.Replay, said.Receive = 0, 0
		return said
	}
}

func states(lag, window time.Duration) func(c *monitor.Config) {
	return func(c *monitor.Config) { c.Replicas[0].StatedLag, c.Window = lag, window }
}

// What a server is trusted to show that tells no position: as old as is stated, and of
// what was written only what is older than the window.
func TestStatedLag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		w.standbys[0].mute()
		m := w.start(t, states(time.Second, 3*time.Second))
		pass(longest)
		assert.Equal(t, 1, times(w.happened(), "r0 no_position"), "said once")
		v := replica(m, 0)
		assert.True(t, v.NoPosition)
		assert.True(t, v.Up)
		assert.Equal(t, policy.RoleStandby, v.Role)
		assert.Equal(t, time.Second, v.StatedLag)
		assert.Equal(t, lsn.LSN(1), v.Applied.LSN, "nothing is older than the window")
		assert.Equal(t, m.Snapshot().Primary.Sampled.Add(-time.Second), v.ReplayedAt)
		assert.False(t, replica(m, 1).NoPosition)

		need := lsn.Position{History: w.state.History(), LSN: w.write()}
		wrote := time.Now()
		for !replica(m, 0).Applied.Covers(need) {
			pass(10 * time.Millisecond)
			if time.Since(wrote) > 10*time.Second {
				t.Fatal("it is never trusted")
			}
		}
		took := time.Since(wrote)
		assert.GreaterOrEqual(t, took, 3*time.Second, "the window")
		assert.LessOrEqual(t, took, 3*time.Second+2*longest)

		// A primary that nobody hears of proves nothing of it.
		later := lsn.Position{History: need.History, LSN: w.write()}
		pass(longest)
		w.primary.breaks(errRefused)
		pass(time.Minute)
		v = replica(m, 0)
		assert.False(t, v.Applied.Covers(later))
		lag, ok := v.Lag(time.Now())
		assert.True(t, ok)
		assert.GreaterOrEqual(t, lag, time.Minute)
	})
}

// Where nothing is stated, nothing is proven.
func TestNothingStated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].mute()
		m := w.start(t, states(0, 3*time.Second))
		pass(10 * time.Second)
		v := replica(m, 0)
		assert.True(t, v.NoPosition)
		assert.Equal(t, policy.RoleStandby, v.Role, "its system identifier is the primary's")
		assert.True(t, v.Applied.Zero())
		assert.True(t, v.ReplayedAt.IsZero())
		w.change(func() { w.standbys[0].state.System = 0 })
		pass(longest)
		assert.Equal(t, policy.RoleUnknown, replica(m, 0).Role, "nobody says whose standby it is")
		w.change(func() { w.standbys[0].state.System = 8 })
		pass(longest)
		assert.Equal(t, policy.RoleForeign, replica(m, 0).Role)
	})
}

// Nobody waits for a position that nobody sees.
func TestNoPositionIsNotPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].mute()
		m := w.start(t, states(time.Second, 3*time.Second))
		pass(longest)
		questions := func() int {
			f := w.standbys[0].fake
			return f.count(&f.samples) + f.count(&f.positions)
		}
		asked := questions()
		m.Want(math.MaxInt64, time.Now(), time.Now().Add(time.Second))
		pass(time.Second)
		assert.LessOrEqual(t, questions()-asked, 8, "five samples in a second")
	})
}

func times(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
