package monitor

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// Monitor watches a primary and its replicas. Use [New]. What its comments do not except
// is safe for concurrent use.
type Monitor struct {
	cfg      Config
	snap     atomic.Pointer[policy.Snapshot]
	captures captures
	async    atomic.Bool
	unwaited unwaited
	replicas atomic.Pointer[[]*replica] // by place; changed under mu
	watchers atomic.Int32               // who wait for any answer of a replica
	primary  primary
	rest     rest
	base     time.Time    // of moments
	quick    atomic.Int64 // see Quickest

	mu sync.Mutex // guards what follows and each replica's shared state
	// lostFork is the primary's history that a replica had left which was removed.
	lostFork lsn.History
	news     atomic.Pointer[chan struct{}] // closed at the next publication; nil while nobody waits
	want     want
	ahead    ahead
	needs    targets // what anybody waits for, on whatever replica
	// hushed is the furthest position that was stored since somebody was woken last: who
	// comes to wait for less may have looked before it was stored.
	hushed    lsn.LSN
	turn      int              // whose turn it is among equally quick replicas
	published time.Time        // when the snapshot was
	late      map[int]struct{} // places whose news are not in it yet, see publishLater

	start, stop sync.Once
	ctx         context.Context
	cancel      context.CancelFunc
	done        sync.WaitGroup
}

// New returns a Monitor that does nothing until [Monitor.Start].
func New(cfg Config) *Monitor {
	m := &Monitor{cfg: cfg, late: make(map[int]struct{}), base: time.Now()}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	m.cfg.Health = cfg.Health.withDefaults()
	m.primary.poke, m.primary.again = make(chan struct{}, 1), make(chan struct{}, 1)
	m.primary.pace = pace{every: captureEvery, burst: captureBurst}
	s := &policy.Snapshot{Primary: policy.Primary{Name: cfg.Primary.Name}}
	var all []*replica
	for i, t := range cfg.Replicas {
		r := m.newReplica(i, t)
		all = append(all, r)
		s.Replicas = append(s.Replicas, r.view())
	}
	m.replicas.Store(&all)
	s.Prepare(time.Now())
	m.snap.Store(s)
	return m
}

// Start asks every server, all replicas at the same time and the primary before
// and after them, each question for at most SampleTimeout, and starts one
// goroutine per server. A server that does not answer is not an error: it joins
// when it does.
func (m *Monitor) Start() {
	m.start.Do(func() {
		if m.ctx.Err() != nil {
			return
		}
		// Before the replicas, so that a busy primary has a position that they can
		// have replayed: their lag is known from the first read on.
		m.samplePrimary()
		var first sync.WaitGroup
		for _, r := range m.all() {
			first.Go(r.sampleFull)
		}
		first.Wait()
		// After them, so that no replica of this primary can be beyond its answer.
		m.samplePrimary()
		seeds := rand.New(rand.NewPCG(m.cfg.Seed, 0))
		for _, r := range m.all() {
			r.start(rand.New(rand.NewPCG(m.cfg.Seed, seeds.Uint64())))
		}
		rng := rand.New(rand.NewPCG(m.cfg.Seed, seeds.Uint64()))
		m.done.Go(func() { m.runPrimary(rng) })
	})
}

// Close stops every goroutine, waits for them and closes every Source. It may be
// called before Start and more than once.
func (m *Monitor) Close() {
	m.stop.Do(func() {
		m.cancel()
		m.start.Do(func() {}) // a later Start does nothing
		m.done.Wait()
		for _, r := range m.all() {
			r.close()
		}
		_ = m.cfg.Primary.Source.Close()
	})
}

// Snapshot returns what is known now. The caller must not change it.
func (m *Monitor) Snapshot() *policy.Snapshot { return m.snap.Load() }

// News returns a channel that is closed when something new has been published.
// To miss nothing, fetch the channel first and look at the snapshot and the
// captures afterwards.
func (m *Monitor) News() <-chan struct{} {
	// Without mu, which is held while the snapshot is copied: whoever wrote comes here.
	for {
		if news := m.news.Load(); news != nil {
			return *news
		}
		news := make(chan struct{})
		if m.news.CompareAndSwap(nil, &news) {
			return news
		}
	}
}

// Generation counts the events that make earlier approvals of replica i void: it
// came back in an older state, or another server answers at its name. A read
// that was approved at one generation and ended at another may have run on the
// older state and must not be used.
func (m *Monitor) Generation(i int) uint64 { return m.all()[i].gen.Load() }

// MarkAsync says that commits of this process may from now on be acknowledged
// before they are flushed (a SET of synchronous_commit passed), so that every
// capture is taken at the insert position.
func (m *Monitor) MarkAsync() {
	if m.async.Swap(true) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.primary.setMargin(true)
	m.publish(m.viewAll)
}

// viewAll renders every replica anew. The caller holds m.mu.
func (m *Monitor) viewAll(s *policy.Snapshot) {
	for i, r := range m.all() {
		s.Replicas[i] = r.view()
	}
}

// publish stores a changed copy of the snapshot and wakes whoever waits. The
// caller holds m.mu.
func (m *Monitor) publish(change func(s *policy.Snapshot)) {
	m.store(change)
	m.hushed = 0
	if news := m.news.Swap(nil); news != nil {
		close(*news)
	}
}

// store is publish that wakes nobody. The caller holds m.mu.
func (m *Monitor) store(change func(s *policy.Snapshot)) {
	old := m.snap.Load()
	s := &policy.Snapshot{Primary: old.Primary, Replicas: append([]policy.Replica(nil), old.Replicas...)}
	change(s)
	for i := range m.late {
		s.Replicas[i] = m.all()[i].view()
	}
	clear(m.late)
	m.published = time.Now()
	m.quick.Store(int64(quickestOf(s)))
	s.Prepare(m.published)
	m.snap.Store(s)
}

func (m *Monitor) changed(i int, state State, err error) {
	if m.cfg.OnChange == nil {
		return
	}
	name := m.cfg.Primary.Name
	if i >= 0 {
		name = m.all()[i].target.Name
	}
	m.cfg.OnChange(Change{Server: name, Replica: i, State: state, Err: err})
}

// jitter spreads the samples of many processes: d, give or take a tenth.
func jitter(rng *rand.Rand, d time.Duration) time.Duration {
	spread := int64(d / 5)
	if spread <= 0 {
		return d
	}
	return d - time.Duration(spread/2) + time.Duration(rng.Int64N(spread))
}

// phase is the first pause of a server's samples: anything up to d, so that processes
// that were started together do not ask together for long.
func phase(rng *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(rng.Int64N(int64(d))) + 1
}

// timeout bounds one question to r.
func (r *replica) timeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, r.m.cfg.SampleTimeout)
}

// timeout bounds one question to one server.
func (m *Monitor) timeout() (context.Context, context.CancelFunc) {
	return context.WithTimeout(m.ctx, m.cfg.SampleTimeout)
}

const maxLSN = lsn.LSN(^uint64(0))
