package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Two hundred replicas are sampled 1,000 times a second. Their news are published
// together, in so few snapshots that it does not matter what one costs, and no sample
// seems older than it would by more than a sample of the primary. What takes an
// approval away, and what somebody waits for, does not wait for others.
func TestManyReplicasPublishTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(200)
		m := w.start(t)
		pass(time.Second)
		published, last := 0, m.Snapshot()
		for range 2000 {
			pass(time.Millisecond)
			if s := m.Snapshot(); s != last {
				last, published = s, published+1
			}
		}
		assert.LessOrEqual(t, published, 2000/4+2000/100, "one in 4 ms, and the primary's")
		assert.Greater(t, published, 100)
		for i, r := range m.Snapshot().Replicas {
			require.True(t, eligible(m, i))
			require.LessOrEqual(t, time.Since(r.Sampled), 2*longest)
		}

		w.standbys[77].freeze()
		m.Suspect(77, errRefused)
		assert.False(t, replica(m, 77).Up, "at once")

		w.change(func() { w.standbys[5].lag = 3 * time.Millisecond })
		need := w.write()
		began := time.Now()
		m.Want(need, began, began.Add(maxWait))
		eventually(t, maxWait, "a replica that somebody waits for", func() bool {
			for i := range m.Snapshot().Replicas {
				if replica(m, i).Applied.LSN >= need {
					return true
				}
			}
			return false
		})
		w.standbys[77].thaw()
	})
}
