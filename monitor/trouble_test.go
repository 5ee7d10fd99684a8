package monitor_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
)

// told starts a monitor of one replica and a primary that is written to, and returns
// what lets time go by and returns the changes of it.
func told(t *testing.T, edits ...func(*monitor.Config)) (*world, *monitor.Monitor, func(time.Duration) []string) {
	w := newWorld(1)
	m := w.start(t, edits...)
	after := func(d time.Duration) []string {
		for range int(d / (50 * time.Millisecond)) {
			w.write()
			pass(50 * time.Millisecond)
		}
		return w.happened()
	}
	require.Subset(t, after(time.Second), []string{"primary up", "r0 proven"})
	return w, m, after
}

func TestPausedReplayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, after := told(t, func(c *monitor.Config) { c.MaxLag = time.Hour })
		r := w.standbys[0]
		w.change(func() { r.state.Paused, r.replays = true, r.now().Replay })
		assert.Equal(t, []string{"r0 paused"}, after(longest+50*time.Millisecond), "at once")
		assert.Empty(t, after(time.Minute), "said once")
		w.change(func() { r.state.Paused, r.replays = false, free })
		assert.Equal(t, []string{"r0 replays"}, after(2*time.Second))
		assert.Empty(t, after(time.Minute))
	})
}

func TestCutOffIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, after := told(t, func(c *monitor.Config) { c.MaxLag = time.Hour })
		r := w.standbys[0]
		w.change(func() { r.gets = r.now().Receive })
		assert.Empty(t, after(1900*time.Millisecond))
		assert.False(t, replica(m, 0).CutOff)
		assert.Equal(t, []string{"r0 cut_off"}, after(900*time.Millisecond))
		assert.True(t, replica(m, 0).CutOff)
		assert.Empty(t, after(time.Minute), "said once")
		w.change(func() { r.gets = free })
		assert.Equal(t, []string{"r0 receives"}, after(2*time.Second))
		assert.False(t, replica(m, 0).CutOff)

		// A quiet primary has nothing to receive, and replay that waits is no cut.
		pass(time.Minute)
		assert.Empty(t, w.happened())
		w.change(func() { r.replays = r.now().Replay })
		assert.Empty(t, after(time.Minute))

		// Of another run nothing is known from before.
		w.change(func() { r.gets = r.now().Receive })
		after(10 * time.Second)
		w.change(func() { r.state.Started++ })
		after(longest + 50*time.Millisecond)
		assert.False(t, replica(m, 0).CutOff)
		after(4 * time.Second)
		assert.True(t, replica(m, 0).CutOff)
	})
}

func TestLagIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _, after := told(t)
		r := w.standbys[0]
		w.change(func() { r.replays = r.now().Replay })
		assert.Empty(t, after(maxLag))
		assert.Equal(t, []string{"r0 lagging"}, after(1500*time.Millisecond))
		w.change(func() { r.replays = free })
		assert.Empty(t, after(9*time.Second), "it has to last")
		assert.Equal(t, []string{"r0 within_lag"}, after(2*time.Second))
	})
}

// A lag that crosses the bound again and again must not flood whoever is told.
func TestFlappingIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		bad, good, of time.Duration // beyond MaxLag, within it, and for how long altogether
		want          int
	}{
		"every 6 s":          {3 * time.Second, time.Second, 20 * time.Minute, 1},
		"shorter than lasts": {300 * time.Millisecond, time.Second, 20 * time.Minute, 0},
		"every 21 s":         {4 * time.Second, 15 * time.Second, 20 * time.Minute, 3},
		"every hour":         {time.Minute, 59 * time.Minute, 2 * time.Hour, 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(1)
				w.start(t)
				r := w.standbys[0]
				after := func(d time.Duration) {
					for end := time.Now().Add(d); time.Now().Before(end); {
						w.write()
						pass(min(d, 500*time.Millisecond))
					}
				}
				after(time.Second)
				w.happened()
				for began := time.Now(); time.Since(began) < c.of; {
					w.change(func() { r.replays = r.now().Replay })
					after(maxLag + c.bad)
					w.change(func() { r.replays = free })
					after(c.good)
				}
				events := w.happened()
				assert.Len(t, events, c.want)
				for i, e := range events {
					assert.Equal(t, []string{"r0 lagging", "r0 within_lag"}[i%2], e)
				}
			})
		})
	}
}

// While the primary is lost nobody knows who lags, and a second alarm for each replica
// would hide the first.
func TestNothingIsToldOfLagWithoutThePrimary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, m, after := told(t)
		// The last of what it wrote has reached nobody.
		w.change(func() { w.standbys[0].gets = w.standbys[0].now().Receive })
		assert.Empty(t, after(longest+50*time.Millisecond))
		assert.Positive(t, replica(m, 0).BehindBytes)
		w.primary.breaks(errRefused)
		assert.Equal(t, []string{"primary down"}, after(time.Minute))
		assert.False(t, replica(m, 0).CutOff)
		w.primary.breaks(nil)
		w.change(func() { w.standbys[0].gets = free })
		pass(500 * time.Millisecond)
		assert.Equal(t, []string{"primary up"}, w.happened())
		assert.False(t, replica(m, 0).CutOff)
	})
}
