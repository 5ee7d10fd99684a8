package latency_test

import (
	"math"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy/latency"
)

const ms = time.Millisecond

// steady is a meter of a server that has served n reads, one after the other.
func steady(n int, took time.Duration) (m *latency.Meter, now time.Duration) {
	m = new(latency.Meter)
	for range n {
		m.Begin(now)
		now += took
		m.Served(now, took, 1)
		m.End(now)
	}
	return m, now
}

func assertNear(t *testing.T, want, got time.Duration, msg string) {
	t.Helper()
	assert.InEpsilon(t, float64(want), float64(got), 0.02, "%s: want %v, got %v", msg, want, got)
}

func TestFirstReads(t *testing.T) {
	var m latency.Meter
	assert.Zero(t, m.Latency(time.Hour), "nothing is known")
	m.Begin(0)
	assert.Zero(t, m.Latency(time.Hour), "nothing has ended")
	m.End(time.Hour)
	assert.Zero(t, m.Latency(time.Hour), "it may have been cancelled, or its statement be wrong")
	m.Served(time.Hour, 7*ms, 1)
	assertNear(t, 7*ms, m.Latency(time.Hour), "the first read is the estimate")
}

func TestEveryDurationIsKept(t *testing.T) {
	for _, d := range []time.Duration{1, 2, 999, ms, 4 * ms, time.Second, time.Hour, math.MaxInt64 / 2} {
		var m latency.Meter
		m.Served(0, d, 1)
		assertNear(t, d, m.Latency(0), d.String())
	}
	var m latency.Meter
	m.Served(-time.Hour, -5, 1)
	assert.Equal(t, time.Duration(1), m.Latency(-time.Hour), "a clock that went back")
}

func TestFollowsTheReads(t *testing.T) {
	m, now := steady(50, 4*ms)
	for range 64 {
		now += 40 * ms
		m.Served(now, 40*ms, 1)
	}
	slow := m.Latency(now)
	assert.Greater(t, slow, 36*ms)
	assert.LessOrEqual(t, slow, 40*ms)
	for range 200 {
		now += 4 * ms
		m.Served(now, 4*ms, 1)
	}
	assert.InDelta(t, float64(4*ms), float64(m.Latency(now)), float64(ms/10))
}

// One report among a thousand lookups must not make its server look like a slow one.
func TestOneReportIsNoSlowServer(t *testing.T) {
	m, now := steady(1000, ms)
	m.Served(now, 10*time.Second, 1)
	assert.Less(t, m.Latency(now), 2*ms)
}

// The broken server answers fastest: a failure after a tenth of a millisecond counts
// as a slow read.
func TestFailingFastIsNotFast(t *testing.T) {
	m, now := steady(50, 5*ms)
	for n := range 20 {
		before := m.Latency(now)
		now += ms / 10
		m.Failed(now, ms/10)
		require.Greater(t, m.Latency(now), before, "failure %d", n)
	}
	assert.Greater(t, m.Latency(now), 100*ms)

	var unknown latency.Meter
	unknown.Failed(0, ms/10)
	assertNear(t, latency.FailureLeast, unknown.Latency(0), "also where nothing else is known")

	// Half of the reads fail at once, the others take 5 ms.
	half, now := steady(50, 5*ms)
	for range 100 {
		now += ms
		half.Failed(now, ms/10)
		now += ms
		half.Served(now, 5*ms, 1)
	}
	assert.Greater(t, half.Latency(now), 25*ms)
}

func TestWhoGivesUpHasNotMeasured(t *testing.T) {
	m, now := steady(50, 20*ms)
	for range 50 {
		m.Abandoned(now, ms, 1)
	}
	assertNear(t, 20*ms, m.Latency(now), "given up early")
	for range 100 {
		m.Abandoned(now, time.Second, 1)
	}
	assert.Greater(t, m.Latency(now), 500*ms, "given up late: it takes that long at least")

	var unknown latency.Meter
	unknown.Abandoned(now, ms, 1)
	assert.Zero(t, unknown.Latency(now), "given up at once: not a server that takes a millisecond")
	unknown.Abandoned(now, time.Second, 1)
	assertNear(t, time.Second, unknown.Latency(now), "nobody has ever got an answer")
}

// A slow server that gets no reads is tried again: its estimate fades, and one read
// that is still slow brings it back.
func TestFades(t *testing.T) {
	m, now := steady(100, 50*ms)
	assertNear(t, 50*ms, m.Latency(now), "now")
	last := m.Latency(now)
	for range 40 {
		now += latency.Fade / 4
		require.LessOrEqual(t, m.Latency(now), last)
		last = m.Latency(now)
	}
	assert.Less(t, last, ms/100)
	assert.Positive(t, last, "it stays known")
	m.Served(now, 50*ms, 1)
	assertNear(t, 50*ms, m.Latency(now), "still slow")
	m.Served(now+10*latency.Fade, 5*ms, 1)
	assertNear(t, 5*ms, m.Latency(now+10*latency.Fade), "recovered")
	assert.Equal(t, time.Duration(1), m.Latency(now+1000*time.Hour))
}

// A server that hangs measures nothing: what waits there counts.
func TestWhatWaitsCounts(t *testing.T) {
	m, now := steady(100, 5*ms)
	m.Begin(now)
	m.Begin(now + 3*ms)
	assert.Equal(t, int64(2), m.InFlight())
	assertNear(t, 5*ms, m.Latency(now+5*ms), "as usual")
	assertNear(t, 20*ms, m.Latency(now+20*ms), "one has been waiting")
	assertNear(t, latency.StallFactor*5*ms, m.Latency(now+time.Hour), "bounded")
	m.End(now + time.Hour)
	m.Served(now+time.Hour, 5*ms, 1)
	assertNear(t, 5*ms, m.Latency(now+time.Hour), "one has ended")
	assertNear(t, 15*ms, m.Latency(now+time.Hour+15*ms), "the other waits on")
	m.End(now + time.Hour + 15*ms)
	assert.Zero(t, m.InFlight())
	assert.LessOrEqual(t, m.Latency(now+time.Hour+time.Second), 6*ms, "nobody waits")
}

// A read that begins after the last one has ended waits since it began, and not since
// others did.
func TestWhoBeginsAnewHasNotWaited(t *testing.T) {
	m, now := steady(100, 5*ms)
	m.Begin(now)
	m.Begin(now)
	m.End(now + ms)
	m.End(now + 2*ms)
	now += time.Second
	m.Begin(now)
	assert.LessOrEqual(t, m.Latency(now+3*ms), 5*ms)
	assertNear(t, 20*ms, m.Latency(now+20*ms), "now it has")
}

// One read in a millisecond is enough for whoever only looks.
func TestDue(t *testing.T) {
	var m latency.Meter
	assert.True(t, m.Due(ms), "nothing was measured yet")
	m.Served(5*ms, ms, 1)
	assert.False(t, m.Due(5*ms))
	assert.False(t, m.Due(5*ms+ms/2))
	assert.True(t, m.Due(6*ms))
	m.Failed(7*ms, ms)
	assert.False(t, m.Due(7*ms))
}

// The last read of a queue of a hundred waited for the others; the next one does not.
func TestAQueueThatHasDrained(t *testing.T) {
	m, now := steady(100, 5*ms)
	var began []int64
	for range 100 {
		began = append(began, m.Begin(now))
	}
	for i, n := range began {
		now += ms
		m.Served(now, time.Duration(5+i)*ms, n)
		m.End(now)
	}
	assert.Zero(t, m.InFlight())
	assert.Less(t, m.Latency(now), 5*ms)
	for range 50 {
		m.Begin(now)
	}
	assert.Greater(t, m.Latency(now), 40*ms, "a new queue")
}

func TestTogether(t *testing.T) {
	var m latency.Meter
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2000 {
				now := time.Duration(i) * ms
				m.Begin(now)
				switch {
				case i%100 == 99 && g == 0:
					m.Failed(now, ms)
				case i%50 == 49:
					m.Abandoned(now, ms, 1)
				default:
					m.Served(now, 5*ms, 1)
				}
				_ = m.Latency(now)
				m.End(now)
			}
		})
	}
	all.Wait()
	assert.Zero(t, m.InFlight())
	assert.GreaterOrEqual(t, m.Latency(2*time.Second), 4*ms)
	assert.LessOrEqual(t, m.Latency(2*time.Second), 20*ms)
}

func BenchmarkMeter(b *testing.B) {
	m, now := steady(10, ms)
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Begin(now)
			m.Served(now, ms, 1)
			m.End(now)
		}
	})
	b.Run("latency", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = m.Latency(now)
		}
	})
}
