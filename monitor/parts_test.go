package monitor

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func second(n float64) time.Time {
	return midnight.Add(time.Duration(n * float64(time.Second)))
}

func TestMarks(t *testing.T) {
	const gap = 50 * time.Millisecond
	type add struct {
		at    float64
		flush lsn.LSN
	}
	for name, c := range map[string]struct {
		adds []add
		at   lsn.LSN
		want float64 // -1: none
	}{
		"nothing is known":                      {nil, 100, -1},
		"before the first":                      {[]add{{1, 100}}, 99, -1},
		"exactly there":                         {[]add{{1, 100}}, 100, 1},
		"beyond":                                {[]add{{1, 100}}, 900, 1},
		"the newest that it has replayed":       {[]add{{1, 100}, {2, 200}, {3, 300}}, 250, 2},
		"the newest of all":                     {[]add{{1, 100}, {2, 200}, {3, 300}}, 300, 3},
		"a quiet primary":                       {[]add{{1, 100}, {2, 100}, {3, 100}, {4, 100}}, 100, 4},
		"quiet, then busy":                      {[]add{{1, 100}, {2, 100}, {3, 100}, {3.2, 200}}, 150, 3},
		"an answer that was overtaken":          {[]add{{1, 100}, {2, 200}, {3, 150}}, 150, 1},
		"too close to the last":                 {[]add{{1, 100}, {1.01, 200}, {1.02, 300}}, 300, 1},
		"close, but then it was quiet":          {[]add{{1, 100}, {1.01, 200}, {1.2, 200}}, 200, 1.2},
		"close and equal is later news":         {[]add{{1, 100}, {1.01, 100}, {1.02, 100}}, 100, 1.02},
		"an earlier time is no news":            {[]add{{2, 100}, {1, 100}}, 100, 2},
		"an earlier time at a later position":   {[]add{{2, 100}, {1, 200}}, 200, 2},
		"the last mark that was dropped is old": {[]add{{1, 100}, {1.04, 200}}, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var m marks
			for _, a := range c.adds {
				m.add(second(a.at), a.flush, gap)
			}
			at, ok := m.replayedAt(c.at)
			assert.Equal(t, c.want >= 0, ok)
			if ok {
				assert.WithinDuration(t, second(c.want), at, 0)
			}
		})
	}
}

func TestMarksForgetTheOldestOnly(t *testing.T) {
	var m marks
	for i := range 3 * markRing {
		m.add(second(float64(i)), lsn.LSN(100+i), 0)
		require.LessOrEqual(t, len(m.m), markRing)
		at, ok := m.replayedAt(lsn.LSN(100 + i))
		require.True(t, ok)
		require.WithinDuration(t, second(float64(i)), at, 0)
	}
	last := 3*markRing - 1
	at, ok := m.replayedAt(lsn.LSN(100 + last - markRing/2))
	require.True(t, ok)
	assert.WithinDuration(t, second(float64(last-markRing/2)), at, 0)
	_, ok = m.replayedAt(100)
	assert.False(t, ok, "further behind than is remembered: no bound, never a wrong one")
}

// Whatever is added, the answer is the start of a real sample at or before the
// position, and no older than the gap allows.
func TestMarksAreSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		var m marks
		var at float64
		flush := lsn.LSN(1000)
		sampled := map[time.Time]lsn.LSN{}
		for range 300 {
			at += rng.Float64() / 10
			flush += lsn.LSN(rng.IntN(3) * 8)
			sampled[second(at)] = flush
			m.add(second(at), flush, 50*time.Millisecond)
			probe := flush - lsn.LSN(rng.IntN(64))
			found, ok := m.replayedAt(probe)
			if !ok {
				continue
			}
			require.Contains(t, sampled, found)
			require.LessOrEqual(t, sampled[found], probe)
			newest := found
			for began, position := range sampled {
				if position <= probe && began.After(newest) {
					newest = began
				}
			}
			require.Less(t, newest.Sub(found), 50*time.Millisecond, "a newer sample proves more")
		}
	}
}

func TestEstimate(t *testing.T) {
	const ms, most = time.Millisecond, 15 * time.Millisecond
	var e estimate
	e.reached(0, 2*ms, most)
	assert.Equal(t, 500*time.Microsecond, e.delay, "half of the way to the middle of what was seen")

	e = estimate{}
	e.missing(20 * ms)
	assert.Equal(t, 20*ms, e.delay, "until then nobody need look")
	e.missing(3 * ms)
	assert.Equal(t, 20*ms, e.delay, "it was slower before")
	e.reached(198*ms, 202*ms, most)
	assert.Equal(t, 200*ms, e.delay, "what it takes now counts")
	e.found(150*ms, most)
	assert.Equal(t, 175*ms, e.delay)
	e.reached(ms, time.Second, most)
	assert.Equal(t, most, e.delay, "asked late, it may have been quick")
	e.reached(0, 0, most)
	e.reached(0, 0, most)
	assert.Less(t, e.delay, 5*ms, "two quick answers start the waits again")

	e = estimate{}
	e.missing(time.Hour)
	e.reached(time.Hour, time.Hour+ms, most)
	e.reached(time.Hour, 1<<63-1, most)
	assert.GreaterOrEqual(t, e.delay, time.Hour)
	e.reached(0, 0, most)
	e.reached(0, 0, most)
	assert.Less(t, e.delay, 5*ms, "an hour's pause is remembered no longer than a second's")

	e = estimate{delay: most}
	e.found(time.Second, most)
	assert.Equal(t, most, e.delay, "asked late, it says nothing")
	e.delay = time.Hour
	e.found(ms, most)
	e.found(ms, most)
	assert.Less(t, e.delay, 5*ms)
	e.missing(0)
	assert.Less(t, e.delay, 5*ms)
}

func TestCaptureRing(t *testing.T) {
	var c captures
	_, ok := c.covering(0)
	require.False(t, ok)
	_, ok = c.since(midnight)
	require.False(t, ok)

	// Every third one fails.
	const n = 3 * captureRing
	for i := range n {
		next := c.after()
		number := c.begin()
		require.Equal(t, next, number)
		require.Equal(t, number+1, c.after())
		if i%3 == 2 {
			continue
		}
		c.finish(capture{n: number, started: second(float64(number)), flush: lsn.LSN(number * 10), insert: lsn.LSN(number*10 + 5)})
	}
	newest := uint64(n - 1) // the last one failed
	got, ok := c.covering(newest)
	require.True(t, ok)
	assert.Equal(t, newest, got.n)
	_, ok = c.covering(newest + 1)
	assert.False(t, ok, "failed, and none after it")

	got, ok = c.covering(newest - 2) // failed: the next one covers it
	require.True(t, ok)
	assert.Equal(t, newest-1, got.n)

	oldest, ok := c.covering(1)
	require.True(t, ok, "older than what is remembered: the oldest covers it")
	assert.Equal(t, captureRing, c.len)
	assert.Less(t, oldest.n, newest-captureRing)
	for want := oldest.n; want <= newest; want++ {
		got, ok := c.covering(want)
		require.True(t, ok)
		require.GreaterOrEqual(t, got.n, want)
		require.LessOrEqual(t, got.n, want+1, "the earliest")
	}

	since, ok := c.since(second(float64(newest) - 0.5))
	require.True(t, ok)
	assert.Equal(t, newest, since.n)
	_, ok = c.since(second(float64(newest) + 0.5))
	assert.False(t, ok)
}

func TestCapturePosition(t *testing.T) {
	c := capture{history: before, flush: 10, insert: 15}
	assert.Equal(t, lsn.Position{History: before, LSN: 10}, c.position(false))
	assert.Equal(t, lsn.Position{History: before, LSN: 15}, c.position(true))
	c.async = true
	assert.Equal(t, lsn.Position{History: before, LSN: 15}, c.position(false))
}

func TestJitter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := jitter(rng, 200*time.Millisecond)
		require.GreaterOrEqual(t, d, 180*time.Millisecond)
		require.Less(t, d, 220*time.Millisecond)
		seen[d] = true
	}
	assert.Greater(t, len(seen), 900)
	assert.Equal(t, time.Duration(4), jitter(rng, 4))
}
