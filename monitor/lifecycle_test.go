package monitor_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

func TestClose(t *testing.T) {
	t.Run("before Start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(2)
			m := w.monitor()
			m.Close()
			m.Start()
			m.Close()
			pass(time.Minute)
			assertClosed(t, w, 0)
			assert.False(t, m.AwaitCapture(t.Context(), m.NextCapture(), time.Now().Add(time.Hour)))
			assert.NotNil(t, m.Snapshot())
		})
	})
	t.Run("while questions hang and callers wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(2)
			m := w.monitor()
			m.Start()
			pass(time.Second)
			for _, f := range []*fake{w.primary, w.standbys[0].fake, w.standbys[1].fake} {
				f.freeze()
			}
			pass(longest) // all of them hang now
			w.happened()
			var all sync.WaitGroup
			all.Go(func() {
				assert.False(t, m.AwaitCapture(context.Background(), m.NextCapture(), time.Now().Add(time.Hour)))
			})
			all.Go(func() { assert.False(t, m.AwaitNews(context.Background(), m.News(), time.Now().Add(time.Hour))) })
			synctest.Wait()
			began := time.Now()
			for range 5 {
				all.Go(m.Close)
			}
			all.Wait()
			assert.Zero(t, time.Since(began), "nobody waits for a question that hangs")
			questions := w.primary.count(&w.primary.samples)
			m.Close()
			m.Start()
			pass(time.Minute)
			assertClosed(t, w, questions)
			assert.Empty(t, w.happened(), "being closed is no news of a server")
			assert.Empty(t, w.called())
		})
	})
	t.Run("during Start", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(1)
			w.primary.frozen = make(chan struct{})
			m := w.monitor()
			go m.Start()
			synctest.Wait()
			m.Close()
			asked := w.primary.count(&w.primary.samples)
			pass(time.Minute)
			assertClosed(t, w, asked)
		})
	})
	t.Run("at any moment", func(t *testing.T) {
		for seed := range uint64(20) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 0))
				w := newWorld(2)
				m := w.monitor()
				var all sync.WaitGroup
				all.Go(m.Start)
				for range 3 {
					all.Go(func() {
						need := w.write()
						m.AwaitCapture(context.Background(), m.NextCapture(), time.Now().Add(time.Second))
						m.Want(need, time.Now(), time.Now().Add(maxWait))
						m.Suspect(0, errRefused)
					})
				}
				pass(time.Duration(rng.IntN(3000)) * 100 * time.Microsecond)
				m.Close()
				all.Wait()
				// A goroutine that was left behind would make the bubble panic.
				assertClosed(t, w, w.primary.count(&w.primary.samples))
			})
		}
	})
}

func assertClosed(t *testing.T, w *world, samples int) {
	t.Helper()
	assert.Equal(t, samples, w.primary.count(&w.primary.samples), "nothing is asked after Close")
	for _, f := range []*fake{w.primary, w.standbys[0].fake} {
		assert.Equal(t, 1, f.count(&f.closed), "every source is closed once")
		assert.Zero(t, f.count(&f.inFlight))
	}
}

func TestMonitorsDoNotSampleInStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newWorld(1), newWorld(1)
		a.start(t)
		b.start(t, func(c *monitor.Config) { c.Seed = 2 })
		pass(10 * time.Second)
		starts := map[time.Time]int{}
		for _, f := range []*fake{a.primary, a.standbys[0].fake, b.primary, b.standbys[0].fake} {
			f.w.change(func() {
				require.InDelta(t, 51, len(f.sampleStarts), 5)
				for _, at := range f.sampleStarts[2:] {
					starts[at]++
				}
			})
		}
		for at, n := range starts {
			require.Equal(t, 1, n, "%d at %v", n, at)
		}
	})
}
