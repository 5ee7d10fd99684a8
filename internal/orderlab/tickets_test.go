package orderlab

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func ignore(int) {}

func TestTicketsComeInOrderAndOnce(t *testing.T) {
	var shown []int
	line := newTickets(t.Context(), 3, 0, nil, func(n int) { shown = append(shown, n) })
	var drawn []int
	for {
		n, ok := line.draw()
		if !ok {
			break
		}
		drawn = append(drawn, n)
	}
	require.NoError(t, line.wait())
	assert.Equal(t, []int{0, 1, 2}, drawn)
	assert.Equal(t, drawn, shown)
}

func TestAHoldingCueKeepsTheOrdersBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		line := newTickets(t.Context(), 3, 0, []Cue{{Order: 1, Hold: true, Do: func(context.Context) error {
			<-release
			return nil
		}}}, ignore)
		var mu sync.Mutex
		var drawn int
		for range 3 {
			go func() {
				if _, ok := line.draw(); ok {
					mu.Lock()
					drawn++
					mu.Unlock()
				}
			}()
		}
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return drawn
		}
		synctest.Wait()
		assert.Equal(t, 1, count(), "only order 0 is before the cue")
		close(release)
		synctest.Wait()
		assert.Equal(t, 3, count())
		require.NoError(t, line.wait())
	})
}

func TestACueThatDoesNotHoldRunsBesideTheOrders(t *testing.T) {
	release, over := make(chan struct{}), false
	line := newTickets(t.Context(), 2, 0, []Cue{{Order: 0, Do: func(context.Context) error {
		<-release
		over = true
		return nil
	}}}, ignore)
	for range 2 {
		_, ok := line.draw()
		assert.True(t, ok)
	}
	close(release)
	require.NoError(t, line.wait())
	assert.True(t, over, "wait joins the cue")
}

func TestCuesAreGivenInTheOrderOfTheOrders(t *testing.T) {
	var given []string
	note := func(name string) func(context.Context) error {
		return func(context.Context) error {
			given = append(given, name)
			return nil
		}
	}
	line := newTickets(t.Context(), 10, 0, []Cue{
		{Order: 7, Hold: true, Do: note("late")},
		{Order: 2, Hold: true, Do: note("first")},
		{Order: 2, Hold: true, Do: note("second")},
		{Order: 10, Hold: true, Do: note("never")},
	}, ignore)
	for {
		if _, ok := line.draw(); !ok {
			break
		}
	}
	require.NoError(t, line.wait())
	assert.Equal(t, []string{"first", "second", "late"}, given)
}

func TestOrdersBeginNoFasterThanThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var began []time.Duration
		line := newTickets(t.Context(), 4, 5*time.Millisecond, []Cue{{Order: 2, Hold: true, Do: func(context.Context) error {
			pass(time.Second)
			return nil
		}}}, func(int) { began = append(began, time.Since(start)) })
		for {
			if _, ok := line.draw(); !ok {
				break
			}
		}
		require.NoError(t, line.wait())
		assert.Equal(t, []time.Duration{
			0, 5 * time.Millisecond,
			1005 * time.Millisecond, 1010 * time.Millisecond, // what was held up is not caught up with
		}, began)
	})
}

func TestACueMaySlowTheOrdersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var began []time.Duration
		line := newTickets(t.Context(), 5, 0, []Cue{{Order: 2, Pause: time.Second, Hold: true, Do: func(context.Context) error { return nil }}},
			func(int) { began = append(began, time.Since(start)) })
		for {
			if _, ok := line.draw(); !ok {
				break
			}
		}
		require.NoError(t, line.wait())
		assert.Equal(t, []time.Duration{0, 0, time.Second, 2 * time.Second, 3 * time.Second}, began)
	})
}

func TestAFailureEndsTheRun(t *testing.T) {
	broken := errors.New("broken")
	t.Run("of a client", func(t *testing.T) {
		line := newTickets(t.Context(), 10, 0, nil, ignore)
		line.fail(broken)
		_, ok := line.draw()
		assert.False(t, ok)
		assert.ErrorIs(t, line.wait(), broken)
	})
	t.Run("of a cue that holds", func(t *testing.T) {
		line := newTickets(t.Context(), 10, 0, []Cue{{Order: 0, Hold: true, Do: func(context.Context) error { return broken }}}, ignore)
		_, ok := line.draw()
		assert.False(t, ok)
		assert.ErrorIs(t, line.wait(), broken)
	})
	t.Run("of a client while a cue holds", func(t *testing.T) {
		holding := make(chan struct{})
		line := newTickets(t.Context(), 10, 0, []Cue{{Order: 0, Hold: true, Do: func(ctx context.Context) error {
			close(holding)
			<-ctx.Done()
			return context.Cause(ctx)
		}}}, ignore)
		done := make(chan bool)
		go func() {
			_, ok := line.draw()
			done <- ok
		}()
		<-holding
		line.fail(broken)
		assert.False(t, <-done)
		assert.ErrorIs(t, line.wait(), broken)
	})
	t.Run("of whoever started it", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		line := newTickets(ctx, 10, 0, nil, ignore)
		cancel(broken)
		_, ok := line.draw()
		assert.False(t, ok)
		assert.ErrorIs(t, line.wait(), broken)
	})
}

func TestACueThatDrainsWaitsForTheOrdersBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, over := false, make(chan bool)
		line := newTickets(t.Context(), 2, 0, []Cue{{Order: 1, Drain: true, Do: func(context.Context) error {
			begun = true
			return nil
		}}}, ignore)
		_, ok := line.draw()
		require.True(t, ok)
		go func() {
			_, ok := line.draw()
			over <- ok
		}()
		synctest.Wait()
		assert.False(t, begun, "order 0 is being served")
		line.served()
		assert.True(t, <-over)
		assert.True(t, begun)
		require.NoError(t, line.wait())
	})
}
