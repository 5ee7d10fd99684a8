package failover_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/lsn"
)

const (
	ours   = 7
	maxAge = time.Second
)

// clock is the time of a test, in milliseconds.
type clock struct {
	election failover.Election
	seen     []failover.Seen
	zero     time.Time
}

func newClock(hosts int) *clock {
	return &clock{seen: make([]failover.Seen, hosts), zero: time.Unix(1_700_000_000, 0)}
}

func (c *clock) at(ms int) time.Time { return c.zero.Add(time.Duration(ms) * time.Millisecond) }

// primary has a host answer as a primary.
func (c *clock) primary(ms, host int, started int64, timeline uint32) {
	c.answer(ms, host, lsn.Sample{Server: lsn.Server{System: ours, Started: started}, Timeline: timeline})
}

// standby has it answer as a standby that streams a timeline, 0 where that is not seen.
func (c *clock) standby(ms, host int, started int64, streams uint32) {
	c.answer(ms, host, lsn.Sample{Server: lsn.Server{System: ours, Started: started}, InRecovery: true, ReceivedTimeline: streams})
}

func (c *clock) answer(ms, host int, s lsn.Sample) {
	c.seen[host] = failover.Seen{Sample: s, Began: c.at(ms)}
}

func (c *clock) decide(ms int) failover.Outcome { return c.election.Decide(c.at(ms), maxAge, c.seen) }

// elected asserts that a host is elected.
func (c *clock) elected(t *testing.T, ms, host int, timeline uint32) {
	t.Helper()
	o := c.decide(ms)
	assert.Equal(t, failover.Elected, o.State, "at %d ms", ms)
	assert.Equal(t, host, o.Leader, "at %d ms", ms)
	assert.Equal(t, timeline, o.Timeline, "at %d ms", ms)
	assert.NoError(t, o.Err([]string{"a", "b", "c"}))
}

// refused asserts that nobody may be written to.
func (c *clock) refused(t *testing.T, ms int, state failover.State, kind error, text string) {
	t.Helper()
	o := c.decide(ms)
	assert.Equal(t, state, o.State, "at %d ms", ms)
	err := o.Err([]string{"a", "b", "c"})
	assert.ErrorIs(t, err, kind)
	assert.EqualError(t, err, kind.Error()+": "+text)
	var safe interface{ SafeToRetry() bool }
	assert.True(t, errors.As(err, &safe) && safe.SafeToRetry(), "nothing was sent")
}

func TestElection(t *testing.T) {
	t.Run("the primary among standbys", func(t *testing.T) {
		c := newClock(3)
		c.refused(t, 0, failover.Unknown, failover.ErrNoPrimary, `none of "a" and "b" and "c" says that it is one; promote one of them, or correct the addresses`)
		c.standby(1, 0, 100, 1)
		c.refused(t, 2, failover.Unknown, failover.ErrNoPrimary, `none of "a" and "b" and "c" says that it is one; promote one of them, or correct the addresses`)
		c.primary(3, 1, 200, 1)
		c.standby(4, 2, 300, 1)
		c.elected(t, 5, 1, 1)
		assert.Zero(t, c.decide(6).Moves)
	})
	t.Run("a promotion, with the old primary dead", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.standby(0, 1, 200, 1)
		c.elected(t, 1, 0, 1)
		c.elected(t, 1000, 0, 1)
		o := c.decide(1001)
		assert.Equal(t, failover.Lost, o.State, "its newest answer is too old")
		assert.Equal(t, 0, o.Leader, "it stays the target, and its own errors come out")
		assert.NoError(t, o.Err(nil))
		c.primary(1500, 1, 200, 2)
		c.elected(t, 1501, 1, 2)
		assert.EqualValues(t, 1, c.decide(1502).Moves)
	})
	t.Run("a promotion, with the old primary alive: the higher timeline wins for good", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.elected(t, 1, 0, 1)
		c.primary(10, 1, 200, 2)
		c.elected(t, 11, 1, 2)
		assert.Equal(t, []int{0}, c.decide(11).Refused)
		for ms := 100; ms < 2000; ms += 100 {
			c.primary(ms, 0, 100, 1) // the new one does not answer any more
			c.decide(ms)
		}
		o := c.decide(2000)
		assert.Equal(t, failover.Lost, o.State)
		assert.Equal(t, 1, o.Leader, "it does not go back to the old primary")
		assert.Equal(t, []int{0}, o.Refused)
		c.primary(2100, 1, 201, 2)
		c.elected(t, 2101, 1, 2)
	})
	t.Run("two promotions in a row", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.elected(t, 1, 0, 1)
		c.primary(10, 1, 200, 2)
		c.elected(t, 11, 1, 2)
		c.primary(20, 2, 300, 3)
		c.elected(t, 21, 2, 3)
		assert.Equal(t, []int{0, 1}, c.decide(21).Refused)
		assert.EqualValues(t, 2, c.decide(22).Moves)
	})
	t.Run("a restart is no tie", func(t *testing.T) {
		c := newClock(2) // two names of one server
		c.primary(0, 0, 100, 1)
		c.primary(0, 1, 100, 1)
		c.elected(t, 1, 0, 1)
		c.primary(300, 1, 101, 1) // host 0 was last asked before the restart
		o := c.decide(301)
		assert.Equal(t, failover.Elected, o.State)
		assert.True(t, o.Unsettled)
		c.primary(302, 0, 101, 1)
		c.elected(t, 303, 0, 1)
		o = c.decide(304)
		assert.False(t, o.Unsettled)
		assert.EqualValues(t, 101, o.Server.Started)
		assert.EqualValues(t, 1, o.Moves)
	})
	t.Run("a tie is proven, and ends", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.elected(t, 1, 0, 1)
		c.primary(10, 1, 200, 2)
		c.elected(t, 12, 1, 2)
		c.primary(11, 2, 300, 2)
		o := c.decide(13)
		assert.True(t, o.Unsettled)
		assert.Equal(t, 1, o.Leader, "nobody moves while nothing is proven")
		c.primary(14, 2, 300, 2)
		assert.True(t, c.decide(15).Unsettled, "the other one may be gone")
		c.primary(16, 1, 200, 2)
		c.refused(t, 17, failover.Tied, failover.ErrTwoPrimaries,
			`"b" and "c" are both primaries and write timeline 2; nothing is sent to either until one of them is stopped, or made a standby of the other`)
		for ms := 100; ms <= 1010; ms += 10 {
			c.primary(ms, 2, 300, 2) // the other one was stopped
			assert.Equal(t, failover.Tied, c.decide(ms).State, "at %d ms", ms)
		}
		c.elected(t, 1020, 2, 2)
	})
	t.Run("a tie ends with a higher timeline", func(t *testing.T) {
		c := newClock(3)
		for _, ms := range []int{0, 10} {
			c.primary(ms, 0, 100, 2)
			c.primary(ms, 1, 200, 2)
			c.decide(ms + 1)
		}
		assert.Equal(t, failover.Tied, c.decide(12).State)
		c.primary(20, 2, 300, 3)
		c.elected(t, 21, 2, 3)
	})
	t.Run("a standby knows of a primary that is none of ours", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.standby(0, 1, 200, 1)
		c.elected(t, 1, 0, 1)
		c.standby(10, 1, 200, 2)
		c.refused(t, 11, failover.Superseded, failover.ErrOldPrimary,
			`timeline 2 has been seen, which "a" does not write; add the host of its primary to those that are followed, or restart this process if that timeline was given up`)
		c.primary(20, 2, 300, 2)
		c.elected(t, 21, 2, 2)
	})
	t.Run("what a new process sees first", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 0, 100, 1)
		c.standby(0, 1, 200, 2)
		c.refused(t, 1, failover.Superseded, failover.ErrOldPrimary,
			`timeline 2 has been seen, which "a" does not write; add the host of its primary to those that are followed, or restart this process if that timeline was given up`)
	})
	t.Run("another cluster is never followed", func(t *testing.T) {
		c := newClock(3)
		foreign := lsn.Sample{Server: lsn.Server{System: 8, Started: 900}, Timeline: 9}
		c.answer(0, 0, foreign)
		c.standby(0, 1, 200, 0)
		c.primary(0, 2, 300, 1)
		c.elected(t, 1, 2, 1)
		assert.Equal(t, []int{0}, c.decide(2).Foreign)
		for ms := 100; ms < 2000; ms += 100 {
			c.answer(ms, 0, foreign)
			c.answer(ms, 1, foreign)
			c.decide(ms)
		}
		o := c.decide(2000)
		assert.Equal(t, failover.Lost, o.State)
		assert.Equal(t, 2, o.Leader)
		assert.Equal(t, []int{0, 1}, o.Foreign)
	})
	t.Run("one name that leads to another server", func(t *testing.T) {
		c := newClock(2)
		c.primary(0, 0, 100, 1)
		c.standby(0, 1, 200, 1)
		c.elected(t, 1, 0, 1)
		c.primary(10, 0, 300, 2)
		c.elected(t, 11, 0, 2)
		assert.EqualValues(t, 300, c.decide(12).Server.Started)
		assert.EqualValues(t, 1, c.decide(12).Moves)
	})
	t.Run("two names of one server", func(t *testing.T) {
		c := newClock(3)
		c.primary(0, 1, 100, 1)
		c.elected(t, 1, 1, 1)
		c.primary(2, 0, 100, 1)
		c.elected(t, 3, 1, 1)
		c.seen[1].Silent = true
		c.elected(t, 10, 0, 1)
		assert.Zero(t, c.decide(11).Moves, "it is the same server")
		c.primary(20, 1, 100, 1)
		c.elected(t, 21, 0, 1)
	})
}
