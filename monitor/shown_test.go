package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// What a replica has shown is what it had replayed when it was asked afterwards, and
// one byte: an earlier question says too little, another generation nothing.
func TestWhatAReplicaHasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.standbys[0].lag = 300 * time.Millisecond
		m := w.start(t)
		pass(time.Second)
		generation := m.Generation(0)
		history := m.Snapshot().Primary.Position.History

		first := w.write()
		pass(310 * time.Millisecond) // it shows first now
		second := w.write()          // and this one not yet
		read := time.Now()
		_, ok := m.Shown(0, generation, read)
		require.False(t, ok, "it was not asked since")
		p, ok := m.AwaitShown(t.Context(), 0, generation, read, time.Now().Add(20*time.Millisecond))
		require.True(t, ok)
		assert.Equal(t, lsn.Position{History: history, LSN: first + 1}, p)
		assert.Less(t, p.LSN, second, "not what the primary has")
		assert.Less(t, time.Since(read), 2*time.Millisecond, "one question")

		_, ok = m.Shown(0, generation+1, read)
		assert.False(t, ok, "another generation")
		_, ok = m.Shown(0, generation, time.Now())
		assert.False(t, ok, "a read that ended since")
		began := time.Now()
		_, ok = m.AwaitShown(t.Context(), 0, generation+1, began, began.Add(time.Second))
		assert.False(t, ok)
		assert.Zero(t, time.Since(began), "nothing to wait for")

		thaw := make(chan struct{})
		w.change(func() { w.standbys[0].frozen = thaw })
		_, ok = m.AwaitShown(t.Context(), 0, generation, time.Now(), time.Now().Add(10*time.Millisecond))
		assert.False(t, ok, "it does not answer")
		w.change(func() { w.standbys[0].frozen = nil })
		close(thaw)
	})
}

// Reached is what the primary is known to have, PassedAt since when.
func TestWhatThePrimaryHasReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		m := w.monitor()
		assert.True(t, m.Reached().Zero(), "it was never asked")
		m.Start()
		t.Cleanup(m.Close)
		pass(time.Second)
		before := m.Reached()
		at := w.write()
		mine := lsn.Position{History: before.History, LSN: at}
		assert.False(t, m.Reached().Covers(mine), "not known yet")
		assert.Zero(t, m.PassedAt(mine))
		wrote := time.Now()
		pass(longest + time.Millisecond)
		assert.Equal(t, mine, m.Reached())
		since := m.PassedAt(mine)
		assert.False(t, since.Before(wrote))
		assert.Less(t, since.Sub(wrote), longest+time.Millisecond)
		w.write()
		pass(longest + time.Millisecond)
		assert.Equal(t, since, m.PassedAt(mine), "the first that had it")
		other := mine
		other.Timeline++
		assert.Zero(t, m.PassedAt(other))
	})
}
