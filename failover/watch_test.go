package failover_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/lsn"
)

// fake is a host.
type fake struct {
	mu     sync.Mutex
	sample lsn.Sample
	err    error
	frozen bool
	asked  int
	closed bool
}

func (f *fake) Sample(ctx context.Context) (lsn.Sample, bool, error) {
	f.mu.Lock()
	f.asked++
	s, err, frozen := f.sample, f.err, f.frozen
	f.mu.Unlock()
	if frozen {
		<-ctx.Done()
		return lsn.Sample{}, false, ctx.Err()
	}
	return s, false, err
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}

func (f *fake) set(change func(f *fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

func promoted(timeline uint32) func(f *fake) {
	return func(f *fake) { f.sample.InRecovery, f.sample.Timeline = false, timeline }
}

// group is a primary and two standbys, watched.
func group(t *testing.T, edit func(hosts []*fake)) (w *failover.Watch, hosts []*fake, told func() []string) {
	var log []string
	var mu sync.Mutex
	cfg := failover.Config{SampleEvery: 200 * time.Millisecond, SampleTimeout: 500 * time.Millisecond, MaxSampleAge: time.Second}
	for i := range 3 {
		f := &fake{sample: lsn.Sample{Server: lsn.Server{System: 7, Started: int64(100 + i)}, InRecovery: i > 0}}
		if i == 0 {
			f.sample.Timeline = 1
		}
		hosts = append(hosts, f)
		cfg.Hosts = append(cfg.Hosts, failover.Host{Name: string(rune('a' + i)), Source: f})
	}
	cfg.OnOutcome = func(before, now failover.Outcome) func() {
		mu.Lock()
		defer mu.Unlock()
		log = append(log, fmt.Sprintf("%s %d", now.State, now.Leader))
		return nil
	}
	if edit != nil {
		edit(hosts)
	}
	w = failover.New(cfg)
	w.Start()
	t.Cleanup(func() {
		w.Close()
		for _, f := range hosts {
			assert.True(t, f.closed)
		}
	})
	return w, hosts, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), log...)
	}
}

func TestWatchFollowsAPromotion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hosts, told := group(t, nil)
		assert.Equal(t, failover.Elected, w.Outcome().State, "Start has asked everybody")
		hosts[0].set(func(f *fake) { f.err = errors.New("connection refused") })
		pass(1500 * time.Millisecond)
		assert.Equal(t, failover.Lost, w.Outcome().State)
		hosts[2].set(promoted(2))
		began := time.Now()
		for w.Outcome().Leader != 2 {
			pass(time.Millisecond)
		}
		assert.Less(t, time.Since(began), 30*time.Millisecond, "without a primary everybody is asked more often")
		assert.Equal(t, []string{"elected 0", "lost 0", "elected 2"}, told())
		st := w.Status()
		assert.Equal(t, "c", st.Primary)
		assert.EqualValues(t, 2, st.Timeline)
		assert.EqualValues(t, 1, st.Moves)
		assert.True(t, st.Hosts[2].Primary)
		assert.False(t, st.Hosts[1].Primary)
	})
}

// Nobody writes, so that nobody's error tells: the primary's own silence has the
// others asked more often.
func TestWatchOfAQuietApplication(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hosts, _ := group(t, nil)
		hosts[0].set(func(f *fake) { f.err = errors.New("connection refused") })
		pass(300 * time.Millisecond)
		assert.Equal(t, failover.Elected, w.Outcome().State, "what it said last is young still")
		hosts[2].set(promoted(2))
		began := time.Now()
		for w.Outcome().Leader != 2 {
			pass(time.Millisecond)
		}
		assert.Less(t, time.Since(began), 30*time.Millisecond)
	})
}

// One frozen host delays nobody: neither the start beyond one SampleTimeout, nor the
// others' questions.
func TestWatchOfAFrozenHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w, hosts, _ := group(t, func(hosts []*fake) {
			hosts[0].frozen = true
			promoted(2)(hosts[1])
		})
		assert.Equal(t, 500*time.Millisecond, time.Since(began))
		assert.Equal(t, 1, w.Outcome().Leader)
		hosts[2].set(promoted(3))
		began = time.Now()
		w.Poke()
		synctest.Wait()
		assert.Equal(t, 2, w.Outcome().Leader)
		assert.Less(t, time.Since(began), 10*time.Millisecond)
	})
}

// A poke asks at once, and a thousand of them no more often than one.
func TestWatchIsPoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hosts, _ := group(t, nil)
		pass(50 * time.Millisecond)
		hosts[1].set(promoted(2))
		w.Poke()
		synctest.Wait()
		require.Equal(t, 1, w.Outcome().Leader)

		before := hosts[0].count()
		for range 1000 {
			w.Poke()
			synctest.Wait()
			pass(100 * time.Microsecond)
		}
		assert.LessOrEqual(t, hosts[0].count()-before, 22, "in 100 ms")

		for _, f := range hosts {
			f.set(func(f *fake) { f.err = errors.New("connection refused") })
		}
		pass(time.Second)
		before = hosts[0].count()
		for range 1000 {
			w.Poke()
			pass(time.Millisecond)
		}
		assert.LessOrEqual(t, hosts[0].count()-before, 44, "in 1 s")
	})
}

// Ask waits for a question that was sent after the call.
func TestWatchIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hosts, _ := group(t, nil)
		pass(50 * time.Millisecond)
		hosts[1].set(promoted(2))
		require.NoError(t, w.Ask(t.Context(), 1))
		assert.Equal(t, 1, w.Outcome().Leader)
		hosts[2].set(func(f *fake) { f.frozen = true })
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		assert.ErrorIs(t, w.Ask(ctx, 2), context.DeadlineExceeded)
	})
}

// Two standbys are promoted to the same timeline.
func TestWatchOfATie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, hosts, told := group(t, nil)
		hosts[0].set(func(f *fake) { f.err = errors.New("connection refused") })
		hosts[1].set(promoted(2))
		pass(300 * time.Millisecond)
		hosts[2].set(promoted(2))
		pass(300 * time.Millisecond)
		assert.Equal(t, failover.Tied, w.Outcome().State)
		hosts[1].set(func(f *fake) { f.err = errors.New("connection refused") })
		pass(1300 * time.Millisecond)
		log := told()
		assert.Equal(t, []string{"elected 0", "elected 1", "tied 1"}, log[:3])
		assert.Equal(t, "elected 2", log[len(log)-1])
	})
}

func TestWatchThatIsNeverStarted(t *testing.T) {
	f := &fake{}
	w := failover.New(failover.Config{Hosts: []failover.Host{{Name: "a", Source: f}}})
	w.Close()
	w.Start()
	w.Close()
	assert.True(t, f.closed)
	assert.Zero(t, f.count())
	assert.Equal(t, failover.Unknown, w.Outcome().State)
}

// pass lets fake time go by and everything that is due in it happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
