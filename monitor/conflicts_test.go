package monitor_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// counting is a fake that counts conflicts.
type counting struct {
	*fake
	mu     sync.Mutex
	asked  []time.Time
	counts lsn.Conflicts
	err    error
}

func (c *counting) Conflicts(ctx context.Context) (lsn.Conflicts, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, time.Now())
	return c.counts, true, c.err
}

func (c *counting) times() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

func startCounting(t *testing.T, w *world) (*monitor.Monitor, *counting) {
	c := &counting{fake: w.standbys[0].fake, counts: lsn.Conflicts{Snapshot: 3}}
	m := w.start(t, func(cfg *monitor.Config) {
		cfg.Replicas[0].Source = c
		cfg.ConflictsEvery = 30 * time.Second
	})
	return m, c
}

func TestConflictsAreAskedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(2)
		m, c := startCounting(t, w)
		_, ok := m.Conflicts(0)
		assert.False(t, ok, "the start does not wait for it")
		pass(longest)
		got, ok := m.Conflicts(0)
		assert.True(t, ok)
		assert.Equal(t, lsn.Conflicts{Snapshot: 3}, got)
		_, ok = m.Conflicts(1)
		assert.False(t, ok, "its source cannot ask")
		pass(5 * time.Minute)
		assert.Equal(t, 10, c.times())

		// Not while somebody waits, however long.
		before := c.times()
		m.Want(w.write(), time.Now(), time.Now().Add(time.Minute))
		pass(59 * time.Second)
		assert.Equal(t, before, c.times())
		pass(2 * time.Second)
		assert.Equal(t, before+1, c.times())

		// Nor of a server that takes its time, or does not answer.
		w.change(func() { c.latency = 100 * time.Millisecond })
		pass(2 * time.Minute)
		assert.Equal(t, before+1, c.times())
		w.change(func() { c.latency = 0 })
		c.breaks(errRefused)
		pass(2 * time.Minute)
		assert.Equal(t, before+1, c.times())
		got, ok = m.Conflicts(0)
		assert.True(t, ok, "what was known stays")
		assert.Equal(t, lsn.Conflicts{Snapshot: 3}, got)
	})
}

// A role that may not see the view costs a line in the server's log each ten minutes,
// and its replica nothing.
func TestConflictsThatMayNotBeSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		c := &counting{fake: w.standbys[0].fake, err: errors.New("permission denied")}
		m := w.start(t, func(cfg *monitor.Config) {
			cfg.Replicas[0].Source, cfg.ConflictsEvery = c, 30*time.Second
		})
		w.happened()
		for range 100 {
			pass(longest)
			require.True(t, eligible(m, 0))
		}
		_, ok := m.Conflicts(0)
		assert.False(t, ok)
		assert.Equal(t, 1, c.times())
		pass(10 * time.Minute)
		assert.Equal(t, 2, c.times())
		assert.Empty(t, w.happened())
	})
}
