package discover_test

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

	"github.com/readsplit/readsplit/discover"
)

// world is a source and what its servers are added to.
type world struct {
	mu      sync.Mutex
	servers []discover.Server
	err     error
	hangs   bool
	panics  bool
	lookups []time.Time
	events  []string
	busy    chan struct{} // not nil: reads go on until it is closed
	refuse  error
}

func (w *world) Lookup(ctx context.Context) ([]discover.Server, error) {
	w.mu.Lock()
	w.lookups = append(w.lookups, time.Now())
	servers, err, hangs, panics := w.servers, w.err, w.hangs, w.panics
	w.mu.Unlock()
	if panics {
		panic("oh")
	}
	if hangs {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return servers, err
}

func (w *world) String() string { return "paper" }

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, fmt.Sprintf(format, args...))
}

func (w *world) Add(_ context.Context, servers []discover.Server) []error {
	errs := make([]error, len(servers))
	for i, s := range servers {
		w.say("add %s", s.Name)
		w.mu.Lock()
		errs[i] = w.refuse
		w.mu.Unlock()
	}
	return errs
}

func (w *world) Change(s discover.Server) { w.say("weigh %s %d", s.Name, s.Weight) }

func (w *world) Remove(ctx context.Context, s discover.Server) {
	w.mu.Lock()
	busy := w.busy
	w.mu.Unlock()
	if busy != nil {
		select {
		case <-busy:
		case <-ctx.Done():
			w.say("break off %s", s.Name)
		}
	}
	w.say("removed %s", s.Name)
}

func (w *world) tell(e discover.Event) {
	text := string(e.Kind)
	if e.Server != "" {
		text += " " + e.Server
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	w.say("%s", text)
}

// set changes the world.
func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// happened returns what has happened since it was called last.
func (w *world) happened() []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.events
	w.events = nil
	return e
}

func follow(t *testing.T, w *world, change ...func(*discover.Config)) *discover.Watch {
	t.Helper()
	c := discover.Config{Source: w}
	for _, f := range change {
		f(&c)
	}
	watch := discover.New(c, w, w.tell)
	watch.Start()
	t.Cleanup(watch.Close)
	return watch
}

func pass(d time.Duration) { <-time.After(d); synctest.Wait() }

var pg1, pg2 = discover.Server{Host: "pg1", Port: 1}, discover.Server{Host: "pg2", Port: 2}

func TestWatchFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{servers: []discover.Server{pg1}}
		watch := follow(t, w)
		assert.Equal(t, []string{"add pg1:1", "added pg1:1"}, w.happened(), "before Start returns")
		w.set(func() { w.servers = []discover.Server{pg1, pg2} })
		pass(11 * time.Second)
		assert.Equal(t, []string{"add pg2:2", "added pg2:2"}, w.happened())
		w.set(func() { w.servers = []discover.Server{{Host: "pg2", Port: 2, Weight: 3}} })
		pass(11 * time.Second)
		assert.Equal(t, []string{"weigh pg2:2 3"}, w.happened())
		st := watch.Status()
		require.Len(t, st.Servers, 2)
		assert.True(t, st.Servers[0].InUse)
		assert.False(t, st.Servers[0].Missing.IsZero())
		pass(45 * time.Second)
		assert.Equal(t, []string{"removing pg1:1", "removed pg1:1"}, w.happened())
		assert.Len(t, watch.Status().Servers, 1)
		for i := range w.lookups[1:] {
			d := w.lookups[i+1].Sub(w.lookups[i])
			assert.GreaterOrEqual(t, d, 9*time.Second)
			assert.LessOrEqual(t, d, 11*time.Second)
		}
	})
}

// A source that fails, hangs or panics changes nothing, and is told of once.
func TestWatchKeepsTheLastAnswer(t *testing.T) {
	for what, x := range map[string]struct {
		fail func(*world)
		said string
	}{
		"fails":  {func(w *world) { w.err = errors.New("no") }, "failed: no"},
		"hangs":  {func(w *world) { w.hangs = true }, "failed: context deadline exceeded"},
		"panics": {func(w *world) { w.panics = true }, "failed: readsplit: the source panicked: oh"},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{servers: []discover.Server{pg1}}
				watch := follow(t, w)
				w.happened()
				w.set(func() { x.fail(w) })
				pass(24 * time.Hour)
				assert.Equal(t, []string{x.said}, w.happened(), "once")
				st := watch.Status()
				require.Error(t, st.Err)
				assert.False(t, st.Failing.IsZero())
				assert.True(t, st.Servers[0].InUse)
				w.set(func() { w.err, w.hangs, w.panics = nil, false, false })
				pass(15 * time.Second)
				assert.Equal(t, []string{"answers"}, w.happened())
				assert.NoError(t, watch.Status().Err)
			})
		})
	}
}

func TestWatchStartsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{hangs: true, servers: []discover.Server{pg1}}
		began := time.Now()
		follow(t, w)
		assert.Equal(t, 2*time.Second, time.Since(began))
		assert.Equal(t, []string{"failed: context deadline exceeded"}, w.happened())
		w.set(func() { w.hangs = false })
		pass(15 * time.Second)
		assert.Equal(t, []string{"answers", "add pg1:1", "added pg1:1"}, w.happened())
	})
}

func TestWatchEmptyAnswersAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{servers: []discover.Server{pg1}}
		watch := follow(t, w)
		w.happened()
		w.set(func() { w.servers = nil })
		pass(4 * time.Minute)
		assert.Equal(t, []string{"empty"}, w.happened())
		assert.True(t, watch.Status().Empty)
		pass(2 * time.Minute)
		assert.Equal(t, []string{"removing pg1:1", "removed pg1:1"}, w.happened())
	})
}

// Reads end normally, for as long as Drain allows; meanwhile the source is asked on, and
// the server does not come back half-way.
func TestWatchDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{servers: []discover.Server{pg1, pg2}, busy: make(chan struct{})}
		watch := follow(t, w)
		w.happened()
		w.set(func() { w.servers = []discover.Server{pg2} })
		pass(time.Minute)
		assert.Equal(t, []string{"removing pg1:1"}, w.happened())
		assert.True(t, watch.Status().Servers[0].Leaving)
		w.set(func() { w.servers = []discover.Server{pg1, pg2} })
		pass(time.Minute)
		assert.Empty(t, w.happened())
		close(w.busy)
		assert.Equal(t, []string{"removed pg1:1", "add pg1:1", "added pg1:1"}, w.happened(), "at once, without another lookup")

		w.set(func() { w.servers, w.busy = []discover.Server{pg2}, make(chan struct{}) })
		pass(6 * time.Minute)
		assert.Equal(t, []string{"removing pg1:1", "break off pg1:1", "removed pg1:1"}, w.happened())
	})
}

func TestWatchTellsOnceOfWhoIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{servers: []discover.Server{pg1}, refuse: errors.New("no")}
		watch := follow(t, w)
		assert.Equal(t, []string{"add pg1:1", "refused pg1:1: no"}, w.happened())
		pass(59 * time.Second)
		assert.Empty(t, w.happened())
		require.EqualError(t, watch.Status().Servers[0].Why, "no")
		pass(12 * time.Second)
		assert.Equal(t, []string{"add pg1:1"}, w.happened(), "it is tried again, and told of no more")
		w.set(func() { w.refuse = nil })
		pass(75 * time.Second)
		assert.Equal(t, []string{"add pg1:1", "added pg1:1"}, w.happened())
		assert.NoError(t, watch.Status().Servers[0].Why)
	})
}

func TestWatchIsPoked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		watch := follow(t, w, func(c *discover.Config) { c.Every = time.Minute })
		pass(10 * time.Second)
		for range 100 {
			watch.Poke()
			pass(time.Millisecond)
		}
		pass(10 * time.Second)
		assert.Len(t, w.lookups, 3, "one at once, and one a tenth of Every later")
	})
}

// Close ends what is under way at once, may be called at any time, and leaves nobody.
func TestWatchCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{servers: []discover.Server{pg1, pg2}, busy: make(chan struct{})}
		watch := follow(t, w, func(c *discover.Config) { c.Timeout = time.Hour })
		w.set(func() { w.servers = []discover.Server{pg2} })
		pass(time.Minute)
		w.set(func() { w.hangs = true })
		pass(time.Minute)
		began := time.Now()
		w.happened()
		watch.Close()
		watch.Close()
		assert.Zero(t, time.Since(began))
		assert.Equal(t, []string{"break off pg1:1", "removed pg1:1"}, w.happened())

		never := discover.New(discover.Config{Source: w}, w, nil)
		never.Close()
		asked := len(w.lookups)
		never.Start()
		assert.Len(t, w.lookups, asked)
		nobody := discover.New(discover.Config{}, w, nil)
		nobody.Start()
		assert.Equal(t, discover.Status{Servers: []discover.Found{}}, nobody.Status())
		nobody.Close()
	})
}

// A Close while the first lookup hangs ends Start.
func TestWatchClosesWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{hangs: true}
		watch := discover.New(discover.Config{Source: w, Timeout: time.Hour}, w, w.tell)
		began := time.Now()
		go watch.Start()
		synctest.Wait()
		watch.Close()
		assert.Zero(t, time.Since(began))
		assert.Empty(t, w.happened())
	})
}
