package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

const (
	sampleEvery   = 200 * time.Millisecond
	sampleTimeout = time.Second
	maxLag        = 2 * time.Second
	maxWait       = 5 * time.Millisecond
	longest       = sampleEvery * 11 / 10 // with its jitter
)

// world is a primary and its standbys in the fake time of a synctest bubble.
type world struct {
	mu       sync.Mutex
	state    lsn.Sample // of the primary
	log      []entry    // every write
	primary  *fake
	standbys []*standby
	events   []string // "server state", as OnChange told them
	calls    []string // "dead 0", "alive 0"
}

type entry struct {
	at  time.Time
	lsn lsn.LSN
}

// standby replays the world's primary with a delay.
type standby struct {
	*fake
	w       *world
	lag     time.Duration
	replays lsn.LSN // it replays no further than this
	gets    lsn.LSN // it receives no further than this
	state   lsn.Sample
}

const free = lsn.LSN(math.MaxUint64)

func newWorld(standbys int) *world {
	w := &world{state: lsn.Sample{
		Server: lsn.Server{System: 7, Started: 1000, Addr: "10.0.0.1", Port: 5432},
		Flush:  100_000, Insert: 100_000, Timeline: 1, ControlTimeline: 1,
		WalWriterDelay: 200 * time.Millisecond, BlockSize: 8192, SegmentSize: 16 << 20,
	}}
	w.primary = &fake{answer: func() lsn.Sample { return w.state }, w: w}
	for i := range standbys {
		s := &standby{w: w, replays: free, gets: free, state: lsn.Sample{
			Server:     lsn.Server{System: 7, Started: int64(2000 + i), Addr: fmt.Sprintf("10.0.1.%d", i), Port: 5432},
			InRecovery: true, ReceivedTimeline: 1, ControlTimeline: 1, BlockSize: 8192, SegmentSize: 16 << 20,
		}}
		s.fake = &fake{answer: s.now, w: w}
		w.standbys = append(w.standbys, s)
	}
	return w
}

// start starts a Monitor of w inside a bubble; it is closed at the bubble's end.
func (w *world) start(t *testing.T, edits ...func(*monitor.Config)) *monitor.Monitor {
	m := w.monitor(edits...)
	m.Start()
	t.Cleanup(m.Close)
	return m
}

func (w *world) monitor(edits ...func(*monitor.Config)) *monitor.Monitor {
	note := func(list *[]string, format string, a ...any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		*list = append(*list, fmt.Sprintf(format, a...))
	}
	cfg := monitor.Config{
		Primary:     monitor.Target{Name: "primary", Source: w.primary},
		SampleEvery: sampleEvery, SampleTimeout: sampleTimeout, MaxLag: maxLag, MaxWait: maxWait, Nudge: true, Seed: 1,
		OnChange: func(c monitor.Change) { note(&w.events, "%s %s", c.Server, c.State) },
		OnDead:   func(i int) { note(&w.calls, "dead %d", i) },
		OnAlive:  func(i int) { note(&w.calls, "alive %d", i) },
	}
	for i, s := range w.standbys {
		cfg.Replicas = append(cfg.Replicas, monitor.Target{Name: fmt.Sprintf("r%d", i), Source: s.fake})
	}
	for _, e := range edits {
		e(&cfg)
	}
	return monitor.New(cfg)
}

// change runs f while no question is being answered.
func (w *world) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// write commits something on the primary and returns the position that covers it.
func (w *world) write() (at lsn.LSN) {
	w.change(func() {
		w.state.Flush = max(w.state.Flush, w.state.Insert) + 96
		w.state.Insert = w.state.Flush
		at = w.state.Flush
		w.log = append(w.log, entry{time.Now(), at})
	})
	return at
}

// positionAt is what the primary had at t.
func (w *world) positionAt(t time.Time) lsn.LSN {
	i := sort.Search(len(w.log), func(i int) bool { return w.log[i].at.After(t) })
	if i == 0 {
		return 100_000
	}
	return w.log[i-1].lsn
}

// now is what s answers; the caller holds w.mu.
func (s *standby) now() lsn.Sample {
	a := s.state
	a.Receive = min(s.gets, s.w.state.Flush)
	a.Replay = min(s.replays, s.gets, s.w.positionAt(time.Now().Add(-s.lag)))
	return a
}

// staleness is for how long something that s does not show has been committed.
func (s *standby) staleness() time.Duration {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	shows := s.now().Replay
	i := sort.Search(len(s.w.log), func(i int) bool { return s.w.log[i].lsn > shows })
	if i == len(s.w.log) {
		return 0
	}
	return time.Since(s.w.log[i].at)
}

// connects is what a new connection of the read pool reaches now.
func (s *standby) connects() lsn.Connect {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	a := s.now()
	return lsn.Connect{Server: a.Server, InRecovery: a.InRecovery, Replay: a.Replay}
}

// happened returns what OnChange was told since the last call.
func (w *world) happened() (events []string) {
	w.change(func() { events, w.events = w.events, nil })
	return events
}

func (w *world) called() (calls []string) {
	w.change(func() { calls, w.calls = w.calls, nil })
	return calls
}

// fake is a Source.
type fake struct {
	w      *world
	answer func() lsn.Sample

	// Guarded by the world's mutex.
	err       error
	latency   time.Duration
	frozen    chan struct{} // not nil: nothing is answered before it is closed
	nudge     func() error
	connected bool

	inFlight, most                     int
	samples, positions, asked, nudges  int
	closed                             int
	sampleStarts, asks, positionStarts []time.Time
	lastNudge                          time.Time
}

var errRefused = errors.New("connection refused")

// ask waits as long as the server takes and answers with its state in the
// middle of that time.
func (f *fake) ask(ctx context.Context) (lsn.Sample, error) {
	f.w.mu.Lock()
	f.inFlight++
	f.most = max(f.most, f.inFlight)
	half, frozen := f.latency/2, f.frozen
	f.w.mu.Unlock()
	defer f.w.change(func() { f.inFlight-- })

	fail := func(err error) (lsn.Sample, error) {
		f.w.change(func() { f.connected = false })
		return lsn.Sample{}, err
	}
	wait := func() error {
		select {
		case <-time.After(half):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if frozen != nil {
		select {
		case <-frozen:
		case <-ctx.Done():
			return fail(ctx.Err())
		}
	}
	if err := wait(); err != nil {
		return fail(err)
	}
	f.w.mu.Lock()
	answer, err := f.answer(), f.err
	f.w.mu.Unlock()
	if err != nil {
		return fail(err)
	}
	if err := wait(); err != nil {
		return fail(err)
	}
	return answer, nil
}

func (f *fake) Sample(ctx context.Context) (lsn.Sample, bool, error) {
	fresh := false
	f.w.change(func() {
		f.samples++
		f.sampleStarts = append(f.sampleStarts, time.Now())
		fresh, f.connected = !f.connected, true
	})
	s, err := f.ask(ctx)
	s.Insert = s.Insert.RecordEnd(s.BlockSize, s.SegmentSize)
	return s, fresh, err
}

func (f *fake) Position(ctx context.Context) (lsn.LSN, bool, bool, error) {
	connected := false
	f.w.change(func() {
		if connected = f.connected; connected {
			f.positions++
			f.positionStarts = append(f.positionStarts, time.Now())
		}
	})
	if !connected {
		return 0, false, false, nil
	}
	s, err := f.ask(ctx)
	return s.Replay, s.InRecovery, true, err
}

func (f *fake) Capture(ctx context.Context) (lsn.Capture, bool, error) {
	connected := false
	f.w.change(func() {
		if connected = f.connected; connected {
			f.asked++
			f.asks = append(f.asks, time.Now())
		}
	})
	if !connected {
		return lsn.Capture{}, false, nil
	}
	s, err := f.ask(ctx)
	return lsn.Capture{Flush: s.Flush, Insert: s.Insert, AsyncCommit: s.AsyncCommit}, true, err
}

func (f *fake) Nudge(context.Context) error {
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	f.nudges++
	f.lastNudge = time.Now()
	if f.nudge == nil {
		return nil
	}
	return f.nudge()
}

func (f *fake) Close() error {
	f.w.change(func() { f.closed++; f.connected = false })
	return nil
}

// freeze makes the server accept questions and answer none; thaw ends it.
func (f *fake) freeze() { f.w.change(func() { f.frozen = make(chan struct{}) }) }

func (f *fake) thaw() {
	f.w.change(func() {
		close(f.frozen)
		f.frozen = nil
	})
}

// breaks makes every connection to the server fail with err; nil mends it.
func (f *fake) breaks(err error) { f.w.change(func() { f.err = err }) }

// count reads one of f's counters.
func (f *fake) count(n *int) (v int) {
	f.w.change(func() { v = *n })
	return v
}

// pass lets fake time go by and everything that is due in it happen.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// eventually lets fake time go by in small steps until ok, and reports how long
// it took.
func eventually(t *testing.T, limit time.Duration, what string, ok func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	for !ok() {
		require.Less(t, time.Since(began), limit, what)
		pass(100 * time.Microsecond)
	}
	return time.Since(began)
}

func replica(m *monitor.Monitor, i int) policy.Replica { return m.Snapshot().Replicas[i] }

func eligible(m *monitor.Monitor, i int) bool {
	r := replica(m, i)
	lag, ok := r.Lag(time.Now())
	return r.Up && r.Role == policy.RoleStandby && ok && lag <= maxLag
}
