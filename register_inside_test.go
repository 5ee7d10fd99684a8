package readsplit

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// A write that finds a claim which covers it leaves the claim alone, costs no
// allocation, and is known to be the last one all the same.
func TestWritesShareAClaim(t *testing.T) {
	var r register
	h := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	now := time.Now()
	wrote := func(next uint64, insert bool) {
		r.wrote(next, insert, h, now, time.Time{})
	}
	require.Zero(t, r.lastWrite())
	wrote(7, false)
	claim := r.p.Load()
	require.Equal(t, uint64(7), claim.Capture)
	require.True(t, r.lastWrite().Equal(now))

	now = now.Add(time.Second)
	wrote(7, false)
	require.Same(t, claim, r.p.Load())
	require.True(t, r.lastWrite().Equal(now))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		now = now.Add(time.Microsecond)
		wrote(7, false)
	}))
	require.True(t, r.lastWrite().Equal(now))

	// What asks for more is kept: the insert position, a later capture, another history
	// once the position is known, a window.
	wrote(7, true)
	require.True(t, r.load().Insert)
	wrote(7, false)
	require.True(t, r.load().Insert, "one capture covers both")
	wrote(8, false)
	require.Equal(t, uint64(8), r.load().Capture)
	pos := lsn.Position{History: h, LSN: 100}
	r.update(func(c session.Claim) session.Claim { return c.Settle(pos, now) })
	require.Equal(t, pos, r.load().Position)
	require.Zero(t, r.load().Capture)
	wrote(8, false)
	require.Equal(t, uint64(8), r.load().Capture, "the one before is settled")
	until := now.Add(time.Minute)
	r.wrote(8, false, h, now, until)
	require.True(t, r.load().Until.Equal(until))
	r.wrote(8, false, h, now, until.Add(-time.Second))
	require.True(t, r.load().Until.Equal(until), "a window never ends earlier")
	r.wrote(8, false, h, now, until.Add(time.Second))
	require.True(t, r.load().Until.Equal(until.Add(time.Second)))

	earlier := now.Add(-time.Hour)
	r.update(func(c session.Claim) session.Claim { return c.AfterWrite(9, false, h, earlier) })
	require.True(t, r.lastWrite().Equal(now), "a write that is recorded late is not the last one")

	var to register
	r.copyTo(&to)
	require.Equal(t, r.load(), to.load())
	require.True(t, to.lastWrite().Equal(now))
}

// Whatever order writers and those who settle come in, a write is covered by the claim
// that is there when it is recorded.
func TestWritesConcurrently(t *testing.T) {
	var r register
	var all sync.WaitGroup
	h := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	for w := range 8 {
		all.Go(func() {
			for n := range uint64(1000) {
				next := n/10 + 1
				r.wrote(next, w%2 == 0, h, time.Now(), time.Time{})
				c := r.load()
				if c.Capture < next && uint64(c.Position.LSN) < next {
					t.Errorf("a write that is covered by capture %d is lost: %+v", next, c)
					return
				}
				if c.Capture != 0 && n%7 == 0 {
					captured := c.Capture
					r.update(func(c session.Claim) session.Claim {
						if c.Capture != captured {
							return c
						}
						return c.Settle(lsn.Position{History: h, LSN: lsn.LSN(captured)}, time.Now())
					})
				}
			}
		})
	}
	all.Wait()
	require.WithinDuration(t, time.Now(), r.lastWrite(), time.Minute)
}
