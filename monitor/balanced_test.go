package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

func isBalanced(c *monitor.Config) { c.Replicas[0].Balanced = true }

// says is what a connection that leads to s is told now.
func (s *standby) says() lsn.Sample {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.now()
}

func TestCheckedIsJudgedAsAReplicaIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t, isBalanced)
		pass(longest)
		a, b := w.standbys[0], w.standbys[1] // b answers connections to r0 too
		need := lsn.Position{History: w.state.History(), LSN: w.write()}
		w.change(func() { a.replays, b.replays = 100_000, free })
		pass(longest) // the primary is sampled
		now := time.Now()
		behind := m.Checked(0, now, a.says(), true)
		ahead := m.Checked(0, now, b.says(), true)
		for _, v := range []policy.Replica{behind, ahead} {
			assert.False(t, v.Balanced, "one server, for this connection")
			assert.True(t, v.Up)
			assert.Equal(t, now, v.Sampled)
			assert.Equal(t, policy.RoleStandby, v.Role)
		}
		assert.False(t, behind.Applied.Covers(need))
		assert.Equal(t, uint64(need.LSN-100_000), behind.BehindBytes)
		assert.True(t, ahead.Applied.Covers(need))
		lag, ok := ahead.Lag(now)
		assert.True(t, ok)
		assert.LessOrEqual(t, lag, longest)
		for _, v := range []policy.Replica{replica(m, 0)} {
			assert.True(t, v.Balanced)
			assert.True(t, v.Applied.Zero(), "what one server shows says nothing of the name")
		}
		assert.Len(t, m.Backends(0), 2)
		assert.Nil(t, m.Backends(1))
	})
}

func TestCheckedForeignAndPromoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t, isBalanced)
		pass(longest)
		w.happened()
		s := w.standbys[1].says()
		foreign := s
		foreign.System = 8
		assert.Equal(t, policy.RoleForeign, m.Checked(0, time.Now(), foreign, true).Role)
		assert.Equal(t, policy.RoleForeign, m.Checked(0, time.Now(), foreign, true).Role)
		assert.Equal(t, []string{"r0 foreign"}, w.happened(), "said once")
		promoted := s
		promoted.InRecovery, promoted.Replay, promoted.Timeline = false, 0, 2
		v := m.Checked(0, time.Now(), promoted, true)
		assert.Equal(t, policy.RolePrimary, v.Role)
		assert.False(t, v.AllowPrimary)
		assert.True(t, v.Applied.Zero())
		assert.Equal(t, []string{"r0 writable"}, w.happened())
		later := s
		later.Replay = 900_000 // beyond what the primary has: not before the next sample says so
		m.Checked(0, time.Now(), later, true)
		pass(longest)
		assert.Equal(t, []string{"r0 foreign"}, w.happened())
	})
}

// A brief answer is completed only while all is young, and not across a promotion.
func TestKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m := w.start(t, isBalanced)
		pass(longest)
		s := w.standbys[1].says()
		brief := lsn.Sample{Server: s.Server, InRecovery: true, Replay: s.Replay + 5, BackendPID: 9}
		brief.System = 0
		_, ok := m.Known(0, brief, time.Second)
		assert.False(t, ok, "it was never asked")
		m.Checked(0, time.Now(), s, true)
		full, ok := m.Known(0, brief, time.Second)
		assert.True(t, ok)
		assert.Equal(t, s.System, full.System)
		assert.Equal(t, s.ReceivedTimeline, full.ReceivedTimeline)
		assert.Equal(t, s.Replay+5, full.Replay)
		promoted := brief
		promoted.InRecovery = false
		_, ok = m.Known(0, promoted, time.Second)
		assert.False(t, ok)
		pass(2 * time.Second)
		m.Checked(0, time.Now(), full, false)
		_, ok = m.Known(0, brief, time.Second)
		assert.False(t, ok, "all was asked two seconds ago")
	})
}

// A pooler is recognised by its first answer, and samples that come from one server
// and the next are no restarts.
func TestPooledAnswersAreBalanced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].state.Pooled = true
		m := w.start(t)
		assert.True(t, replica(m, 0).Balanced)
		assert.Contains(t, w.happened(), "r0 balanced")
		generation := m.Generation(0)
		for i := range 5 {
			w.change(func() { w.standbys[0].state.Started = int64(5000 + i%2) })
			pass(longest)
			assert.True(t, replica(m, 0).Up)
		}
		assert.Equal(t, generation, m.Generation(0))
		assert.NotContains(t, w.happened(), "r0 restarted")
		w.change(func() { w.standbys[0].state.InRecovery = false })
		pass(longest)
		assert.Equal(t, policy.RoleStandby, replica(m, 0).Role, "a standby was there a moment ago")
		pass(time.Minute)
		assert.Equal(t, policy.RolePrimary, replica(m, 0).Role, "there are only primaries behind it")
		w.change(func() { w.standbys[0].state.InRecovery = true })
		pass(longest)
		assert.Equal(t, policy.RoleStandby, replica(m, 0).Role)
	})
}
