package orderlab

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// pass lets time go by: in a synctest bubble it is not the machine's.
func pass(d time.Duration) { <-time.After(d) }

func TestWatchCountsOnlyReadsBetweenTwoAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inForce atomic.Bool
		const answer = time.Millisecond // what a question takes
		w := startWatch(t.Context(), func(context.Context) bool {
			pass(answer)
			return inForce.Load()
		})
		start := time.Now()
		inForce.Store(true)
		<-w.Confirmed()
		from := time.Since(start)
		pass(10 * watchEvery)
		spans := w.stop(t.Context())
		to := time.Since(start)

		read := func(began, ended time.Duration) *reading {
			return &reading{began: start.Add(began), ended: start.Add(ended)}
		}
		last := to - answer // the last question was sent then, and its answer may have been true only then
		assert.True(t, read(from, last).within(spans))
		assert.False(t, read(from-1, last).within(spans), "it began before the first answer was there")
		assert.False(t, read(from, last+1).within(spans), "it ended after the last question was sent")
	})
}

func TestWatchEndsASpanWhenTheFaultEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inForce atomic.Bool
		inForce.Store(true)
		w := startWatch(t.Context(), func(context.Context) bool { return inForce.Load() })
		start := time.Now()
		pass(4*watchEvery + 1)
		inForce.Store(false)
		pass(4 * watchEvery)
		inForce.Store(true)
		pass(4 * watchEvery)
		spans := w.stop(t.Context())

		assert.Equal(t, []Span{
			{start, start.Add(4 * watchEvery)},
			{start.Add(9 * watchEvery), start.Add(12*watchEvery + 1)},
		}, spans)
		across := &reading{began: start.Add(watchEvery), ended: start.Add(10 * watchEvery)}
		assert.False(t, across.within(spans), "the fault was interrupted while it ran")
	})
}

func TestAReadIsAcrossWhatHappenedMeanwhile(t *testing.T) {
	start := time.Now()
	at := func(n int) time.Time { return start.Add(time.Duration(n)) }
	strike := Span{at(10), at(20)}
	for _, c := range []struct {
		began, ended int
		want         bool
	}{{0, 9, false}, {0, 10, false}, {0, 11, true}, {12, 15, true}, {19, 30, true}, {20, 30, false}, {0, 30, true}} {
		r := &reading{began: at(c.began), ended: at(c.ended)}
		assert.Equal(t, c.want, r.across(strike), "%d to %d", c.began, c.ended)
		assert.False(t, r.across(Span{}), "nothing happened")
	}
}
