package conflicts_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/conflicts"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const report = "SELECT sum(total) FROM orders"

// clock cancels runs at moments after start.
type clock struct {
	conflicts.Memory
	now time.Time
}

func (c *clock) after(d time.Duration) *clock { c.now = c.now.Add(d); return c }

// cancelled is a run that lasts for a minute and is cancelled.
func (c *clock) cancelled() {
	began := c.now
	c.after(time.Minute)
	c.Cancelled(report, began, c.now)
}

func (c *clock) avoids() bool { return c.Avoids(report, c.now) }

func TestSecondCancellationKeepsAStatementAway(t *testing.T) {
	c := &clock{now: start}
	assert.False(t, c.avoids())
	c.cancelled()
	assert.False(t, c.avoids(), "once is no habit")
	c.cancelled()
	assert.True(t, c.avoids())
	assert.False(t, c.Avoids("SELECT 1", c.now), "others are not concerned")
	assert.Equal(t, 1, c.Avoided(c.now))
	c.after(conflicts.FirstTime - 1)
	assert.True(t, c.avoids())
	c.after(1)
	assert.False(t, c.avoids(), "it is tried again")
	assert.Zero(t, c.Avoided(c.now))
}

func TestPeriodDoublesUpToAnHour(t *testing.T) {
	c := &clock{now: start}
	c.cancelled()
	for _, want := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		c.cancelled() // one is enough for who is on trial
		c.after(time.Duration(want)*time.Minute - 1)
		assert.True(t, c.avoids(), "%d min", want)
		c.after(1)
		assert.False(t, c.avoids(), "%d min", want)
	}
	c.after(conflicts.Window + conflicts.LongestTime)
	c.cancelled()
	assert.False(t, c.avoids(), "that was long ago")
}

func TestCancellationsFarApartAreNoHabit(t *testing.T) {
	c := &clock{now: start}
	for range 10 {
		c.cancelled()
		assert.False(t, c.avoids())
		c.after(conflicts.Window)
	}
}

// A hundred runs that one VACUUM cancels are one event; and a statement most of
// whose runs come through is no burden where it is.
func TestShortAndFrequentStatementsStay(t *testing.T) {
	c := &clock{now: start}
	for range 20 {
		began := c.now
		c.after(30 * time.Second)
		for i := range 100 {
			c.Cancelled(report, began, c.now.Add(time.Duration(i)))
		}
		c.after(time.Second)
		assert.False(t, c.avoids())
		for range 1000 {
			c.Ran(report)
		}
	}
	c = &clock{now: start}
	for range 3 {
		c.Ran(report) // nobody remembers it yet
	}
	c.cancelled()
	c.Ran(report)
	c.cancelled()
	assert.True(t, c.avoids(), "half of its runs are cancelled")
	c.after(conflicts.FirstTime)
	for range 2 {
		c.Ran(report)
	}
	c.cancelled()
	assert.False(t, c.avoids(), "on trial it came through twice as often")
}

// A run that was under way when its statement was first kept away, or that runs
// where it may be, says nothing new.
func TestRunsElsewhereDoNotCount(t *testing.T) {
	c := &clock{now: start}
	c.cancelled()
	c.cancelled()
	for range 5 {
		c.Cancelled(report, c.now.Add(time.Second), c.now.Add(2*time.Second))
	}
	c.after(conflicts.FirstTime)
	assert.False(t, c.avoids())
}

func TestMemoryIsBounded(t *testing.T) {
	var m conflicts.Memory
	now := start
	for i := range 10 * conflicts.Most {
		text := fmt.Sprint("SELECT ", i)
		m.Cancelled(text, now, now)
		now = now.Add(time.Millisecond)
		m.Cancelled(text, now, now)
		now = now.Add(time.Millisecond)
		assert.True(t, m.Avoids(text, now))
	}
	assert.Equal(t, conflicts.Most, m.Avoided(now))
	assert.False(t, m.Avoids("SELECT 0", now))
}

func TestConcurrentUse(t *testing.T) {
	var m conflicts.Memory
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			now := start
			for i := range 200 {
				text := fmt.Sprint("SELECT ", (g+i)%7)
				m.Avoids(text, now)
				m.Ran(text)
				if i%20 == 0 {
					m.Cancelled(text, now, now.Add(time.Second))
				}
				now = now.Add(2 * time.Second)
			}
		})
	}
	all.Wait()
	assert.NotPanics(t, func() { m.Avoided(start) })
}

func TestNothingIsAllocated(t *testing.T) {
	var m conflicts.Memory
	look := func() { m.Avoids(report, start); m.Ran(report) }
	assert.Zero(t, testing.AllocsPerRun(100, look))
	m.Cancelled("SELECT 1", start, start)
	assert.Zero(t, testing.AllocsPerRun(100, look))
}

func BenchmarkAvoids(b *testing.B) {
	var m conflicts.Memory
	b.Run("nobody was in conflict", func(b *testing.B) {
		for b.Loop() {
			m.Avoids(report, start)
		}
	})
	m.Cancelled("SELECT 1", start, start)
	b.Run("others were", func(b *testing.B) {
		for b.Loop() {
			m.Avoids(report, start)
		}
	})
}
