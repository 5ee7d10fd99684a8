package overload_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/overload"
)

// queued starts a read that waits, and returns once it does.
func queued(g *overload.Gate, enter func() error, in func(error)) {
	go func() { in(enter()) }()
	synctest.Wait()
}

func TestHigherPriorityFirstThenByTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := overload.NewGate(1, nil)
		require.True(t, g.TryEnter())
		var order []string
		wait := func(name string, p overload.Priority) {
			queued(g, func() error { return g.Enter(t.Context(), p, time.Minute) }, func(err error) {
				assert.NoError(t, err)
				order = append(order, name)
			})
		}
		wait("low 1", overload.Low)
		wait("normal 1", overload.Normal)
		wait("high 1", overload.High)
		wait("low 2", overload.Low)
		wait("normal 2", overload.Normal)
		wait("high 2", overload.High)
		queued(g, func() error { return g.Again(t.Context(), time.Minute) }, func(err error) {
			assert.NoError(t, err)
			order = append(order, "again")
		})
		assert.Equal(t, 7, g.Status().Waiting)
		for range 7 {
			assert.Equal(t, 1, g.Status().InUse)
			g.Leave()
			synctest.Wait()
		}
		assert.Equal(t, []string{"again", "high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"}, order)
		g.Leave()
		st := g.Status()
		assert.Equal(t, overload.Status{Reads: 1, Waited: 7}, st)
	})
}

// Whoever comes while others wait does not get the place that they wait for.
func TestNobodyOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := overload.NewGate(2, nil)
		require.True(t, g.TryEnter())
		require.True(t, g.TryEnter())
		in := false
		queued(g, func() error { return g.Enter(t.Context(), overload.Low, time.Minute) }, func(err error) { in = err == nil })
		require.False(t, g.TryEnter())
		g.Leave()
		require.False(t, g.TryEnter(), "it belongs to the one who waits")
		synctest.Wait()
		require.True(t, in)
	})
}

func TestWaitsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := overload.NewGate(1, nil)
		require.True(t, g.TryEnter())

		began := time.Now()
		err := g.Enter(t.Context(), overload.Normal, 300*time.Millisecond)
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		require.ErrorIs(t, err, overload.ErrPrimaryBusy)
		var busy *overload.BusyError
		require.ErrorAs(t, err, &busy)
		assert.Equal(t, overload.BusyError{Reads: 1, Running: 1, Waited: 300 * time.Millisecond}, *busy)

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = g.Enter(ctx, overload.High, time.Minute)
		require.ErrorIs(t, err, overload.ErrPrimaryBusy)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "waited 50ms, until its context ended: context deadline exceeded")

		err = g.Enter(t.Context(), overload.Normal, 0)
		require.EqualError(t, err, "readsplit: the primary is busy with reads that no replica could serve: 1 run and 0 wait within "+
			"Config.PrimaryBudget.Reads, 1; this one waited 0s (bring the replicas back, read with Stale, raise Reads or MaxWait, or set Beyond: overload.ServeStale)")

		assert.Equal(t, overload.Status{Reads: 1, InUse: 1, Waited: 2, WaitedFor: 350 * time.Millisecond, Refused: 3}, g.Status())
		g.Leave()
		require.NoError(t, g.Enter(ctx, overload.Normal, 0), "nobody who gave up holds a place")
	})
}

// Who gives up in the middle of a queue leaves the others in their order.
func TestGivingUpInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := overload.NewGate(1, nil)
		require.True(t, g.TryEnter())
		var order []int
		var cancels []context.CancelFunc
		for i := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cancels = append(cancels, cancel)
			queued(g, func() error { return g.Enter(ctx, overload.Normal, time.Minute) }, func(err error) {
				if err == nil {
					order = append(order, i)
				} else {
					assert.ErrorIs(t, err, context.Canceled)
				}
			})
		}
		for _, i := range []int{0, 2, 4} {
			cancels[i]()
			synctest.Wait()
		}
		assert.Equal(t, 2, g.Status().Waiting)
		g.Leave()
		synctest.Wait()
		g.Leave()
		synctest.Wait()
		assert.Equal(t, []int{1, 3}, order)
	})
}

// Places whose holders do not tell are looked for by those who find no room, also
// while they wait.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g *overload.Gate
		var gone atomic.Bool
		g = overload.NewGate(1, func() {
			if gone.Swap(false) {
				g.Leave()
			}
		})
		require.True(t, g.TryEnter())
		require.False(t, g.TryEnter())
		gone.Store(true)
		require.True(t, g.TryEnter())

		var err error
		began := time.Now()
		queued(g, func() error { return g.Enter(t.Context(), overload.Normal, time.Minute) }, func(e error) { err = e })
		time.AfterFunc(time.Second, func() { gone.Store(true) })
		for g.Status().Waiting > 0 {
			<-time.After(time.Millisecond)
		}
		synctest.Wait()
		require.NoError(t, err)
		assert.Less(t, time.Since(began), 1010*time.Millisecond)
	})
}

func TestRoomCostsNothing(t *testing.T) {
	g := overload.NewGate(2, nil)
	ctx := overload.WithPriority(context.Background(), overload.High)
	assert.Zero(t, testing.AllocsPerRun(1000, func() {
		if g.Enter(ctx, overload.PriorityOf(ctx), time.Second) != nil {
			panic("there is room")
		}
		g.Leave()
	}))
}

// Never more inside than there are places, nobody is forgotten, and in the end all
// places are free, whoever gives up when.
func TestGateUnderStress(t *testing.T) {
	const places = 3
	g := overload.NewGate(places, func() {})
	var inside, most, got, gaveUp atomic.Int64
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rng.IntN(2000))*time.Microsecond)
				var err error
				if rng.IntN(4) == 0 {
					err = g.Again(ctx, time.Duration(rng.IntN(1000))*time.Microsecond)
				} else {
					err = g.Enter(ctx, overload.Priority(rng.IntN(3)-1), time.Duration(rng.IntN(1000))*time.Microsecond)
				}
				if err == nil {
					n := inside.Add(1)
					for old := most.Load(); n > old && !most.CompareAndSwap(old, n); {
						old = most.Load()
					}
					got.Add(1)
					for range rng.IntN(2000) {
						inside.Load()
					}
					inside.Add(-1)
					g.Leave()
				} else if assert.ErrorIs(t, err, overload.ErrPrimaryBusy) {
					gaveUp.Add(1)
				}
				cancel()
			}
		})
	}
	all.Wait()
	assert.LessOrEqual(t, most.Load(), int64(places))
	st := g.Status()
	assert.Zero(t, st.InUse)
	assert.Zero(t, st.Waiting)
	assert.Equal(t, uint64(gaveUp.Load()), st.Refused)
	assert.Positive(t, got.Load())
}

func TestPriorityOf(t *testing.T) {
	assert.Equal(t, overload.Normal, overload.PriorityOf(context.Background()))
	var none context.Context // of old code
	assert.Equal(t, overload.Normal, overload.PriorityOf(none))
	low := overload.WithPriority(context.Background(), overload.Low)
	assert.Equal(t, overload.Low, overload.PriorityOf(low))
	assert.Equal(t, overload.High, overload.PriorityOf(overload.WithPriority(low, overload.High)), "the last one counts")
	assert.Equal(t, overload.Low, overload.PriorityOf(overload.WithPriority(none, overload.Low)))
}

func TestBudgetValidate(t *testing.T) {
	for _, good := range []overload.Budget{
		{}, {Reads: 1}, {Reads: 4, MaxWait: time.Second}, {Reads: 4, Beyond: overload.ServeStale, MaxWait: time.Second}, {Reads: 4, Beyond: overload.Fail},
	} {
		assert.NoError(t, good.Validate(), "%+v", good)
	}
	for text, bad := range map[string]overload.Budget{
		"Budget.Reads is -1: must not be negative; 0 means no bound":                             {Reads: -1},
		"Budget.Beyond is 9: must be overload.Wait":                                              {Reads: 1, Beyond: 9},
		"Budget.MaxWait is -1s: must not be negative":                                            {Reads: 1, MaxWait: -time.Second},
		"Budget.MaxWait is 1s, and Beyond is overload.Fail, under which nothing waits":           {Reads: 1, Beyond: overload.Fail, MaxWait: time.Second},
		"Budget.Reads is 0, which bounds nothing, and Beyond or MaxWait is set: set Reads":       {MaxWait: time.Second},
		"Reads is 0, which bounds nothing, and Beyond or MaxWait is set: set Reads, or leave bo": {Beyond: overload.ServeStale},
	} {
		assert.ErrorContains(t, bad.Validate(), text)
	}
	all := overload.Budget{Reads: -1, Beyond: 9, MaxWait: -1}.Validate()
	joined, ok := all.(interface{ Unwrap() []error })
	require.True(t, ok)
	assert.Len(t, joined.Unwrap(), 3, "each problem is reported")
	assert.NotErrorIs(t, all, overload.ErrPrimaryBusy)
	assert.Equal(t, overload.Budget{Reads: 3, MaxWait: time.Second}, overload.Budget{Reads: 3}.WithDefaults())
}
