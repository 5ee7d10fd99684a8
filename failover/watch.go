package failover

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// Source asks one host. It is called from one goroutine at a time. Sample asks with
// lsn.FullSQL, over a connection that it makes where there is none and drops after
// an error, and honours ctx.
type Source interface {
	Sample(ctx context.Context) (s lsn.Sample, fresh bool, err error)
	Close() error
}

// Host is one server that may be the primary.
type Host struct {
	Name   string
	Source Source
}

// Config says which hosts to ask and how. All durations are positive.
type Config struct {
	Hosts         []Host
	SampleEvery   time.Duration // pause between two questions to one host
	SampleTimeout time.Duration // the most that one question may take
	MaxSampleAge  time.Duration // older answers elect nobody

	// OnOutcome is told of every outcome that differs from the one before, one after
	// the other, before anybody can see it. It must not block and must not call the
	// Watch. What it returns is run afterwards, unless nil, at no particular time.
	OnOutcome func(before, now Outcome) (later func())
	// Seed feeds the jitter.
	Seed uint64
}

const (
	// pause is the shortest time between two questions to a host that answers, and
	// pauseFailed to one that does not: a thousand writes that fail ask no more often.
	pause       = 5 * time.Millisecond
	pauseFailed = 25 * time.Millisecond
	// hurry divides SampleEvery while there is no primary, or it does not answer.
	hurry = 8
)

// Watch follows the primary of a group of hosts. Use [New]. It is safe for concurrent use.
type Watch struct {
	cfg     Config
	names   []string
	outcome atomic.Pointer[Outcome]
	probes  []*probe

	mu       sync.Mutex
	election Election
	seen     []Seen
	open     bool // the first round is over

	start, stop sync.Once
	ctx         context.Context
	cancel      context.CancelFunc
	done        sync.WaitGroup
}

// probe is the questioning of one host.
type probe struct {
	poke  chan struct{}
	fails int         // in a row; the goroutine's own, as what follows
	began time.Time   // when the newest question was sent
	down  atomic.Bool // it was not answered

	mu       sync.Mutex
	begun    uint64        // questions
	finished uint64        // the number of the newest one that is over
	news     chan struct{} // closed when one is over; nil while nobody waits
}

// New returns a Watch that does nothing until [Watch.Start].
func New(cfg Config) *Watch {
	w := &Watch{cfg: cfg, seen: make([]Seen, len(cfg.Hosts))}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for _, h := range cfg.Hosts {
		w.names = append(w.names, h.Name)
		w.probes = append(w.probes, &probe{poke: make(chan struct{}, 1)})
	}
	w.outcome.Store(&Outcome{State: Unknown, Leader: -1})
	return w
}

// Start asks all hosts at the same time, waits until each has answered or
// SampleTimeout is over, and starts one goroutine for each.
func (w *Watch) Start() {
	w.start.Do(func() {
		if w.ctx.Err() != nil {
			return
		}
		var first sync.WaitGroup
		for i := range w.probes {
			first.Go(func() { w.ask(i) })
		}
		first.Wait()
		w.mu.Lock()
		w.open = true
		w.mu.Unlock()
		w.decide()
		seeds := rand.New(rand.NewPCG(w.cfg.Seed, 1))
		for i := range w.probes {
			rng := rand.New(rand.NewPCG(w.cfg.Seed, seeds.Uint64()))
			w.done.Go(func() { w.run(i, rng) })
		}
	})
}

// Close stops every goroutine, waits for them and closes every Source. It may be
// called before Start and more than once.
func (w *Watch) Close() {
	w.stop.Do(func() {
		w.cancel()
		w.start.Do(func() {}) // a later Start does nothing
		w.done.Wait()
		for _, h := range w.cfg.Hosts {
			_ = h.Source.Close()
		}
	})
}

// Outcome returns what is known now.
func (w *Watch) Outcome() Outcome { return *w.outcome.Load() }

// Names returns the names of the hosts.
func (w *Watch) Names() []string { return w.names }

// Poke has every host asked at once: something happened that a change of primary
// would explain. It does not wait, and costs nothing where a question is due anyway.
func (w *Watch) Poke() {
	for _, p := range w.probes {
		p.wake()
	}
}

// Ask has one host asked, and waits until a question that was sent after the call
// is over, and judged.
func (w *Watch) Ask(ctx context.Context, host int) error {
	p := w.probes[host]
	p.mu.Lock()
	want := p.begun + 1
	p.mu.Unlock()
	p.wake()
	for {
		p.mu.Lock()
		if p.finished >= want {
			p.mu.Unlock()
			return nil
		}
		if p.news == nil {
			p.news = make(chan struct{})
		}
		news := p.news
		p.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return context.Canceled
		}
	}
}

func (p *probe) wake() {
	select {
	case p.poke <- struct{}{}:
	default:
	}
}

func (w *Watch) run(i int, rng *rand.Rand) {
	p := w.probes[i]
	timer := time.NewTimer(w.every(rng))
	defer timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-timer.C:
		case <-p.poke:
			if !w.wait(p) {
				return
			}
		}
		w.ask(i)
		if p.fails == 1 {
			timer.Reset(0) // the server may only have restarted
		} else {
			timer.Reset(w.every(rng))
		}
	}
}

// every is the time to the next question.
func (w *Watch) every(rng *rand.Rand) time.Duration {
	d := w.cfg.SampleEvery
	if o := w.outcome.Load(); o.State != Elected || w.probes[o.Leader].down.Load() {
		d = max(d/hurry, pauseFailed)
	}
	if spread := int64(d / 5); spread > 0 {
		d += time.Duration(rng.Int64N(spread) - spread/2)
	}
	return d
}

// wait keeps the pause between two questions.
func (w *Watch) wait(p *probe) bool {
	least := pause
	if p.fails > 0 {
		least = pauseFailed
	}
	d := least - time.Since(p.began)
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.ctx.Done():
		return false
	}
}

// ask asks one host and holds an election.
func (w *Watch) ask(i int) {
	p := w.probes[i]
	p.mu.Lock()
	p.begun++
	n := p.begun
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.SampleTimeout)
	p.began = time.Now()
	s, _, err := w.cfg.Hosts[i].Source.Sample(ctx)
	cancel()
	p.down.Store(err != nil)
	if err != nil {
		p.fails++
		w.mu.Lock()
		w.seen[i].Silent = true
		w.mu.Unlock()
		if p.fails == 1 && w.outcome.Load().Leader == i {
			w.Poke()
		}
	} else {
		p.fails = 0
		w.mu.Lock()
		w.seen[i] = Seen{Sample: s, Began: p.began}
		w.mu.Unlock()
	}
	if w.ctx.Err() == nil {
		w.decide()
	}
	p.mu.Lock()
	p.finished = n
	if p.news != nil {
		close(p.news)
		p.news = nil
	}
	p.mu.Unlock()
}

// decide holds an election and tells of its outcome.
func (w *Watch) decide() {
	w.mu.Lock()
	if !w.open {
		// Before everybody was asked, a wrong address that answers first would be
		// the whole cluster.
		w.mu.Unlock()
		return
	}
	before := *w.outcome.Load()
	now := w.election.Decide(time.Now(), w.cfg.MaxSampleAge, w.seen)
	var later func()
	if !now.same(&before) && w.cfg.OnOutcome != nil {
		later = w.cfg.OnOutcome(before, now)
	}
	w.outcome.Store(&now)
	w.mu.Unlock()
	if later != nil {
		later()
	}
	if now.Unsettled || now.State != before.State && now.State != Elected {
		w.Poke()
	}
}

// Knows reports whether one of the hosts is this run of a server, and answered as a
// primary.
func (w *Watch) Knows(s lsn.Server) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.seen, func(h Seen) bool {
		return !h.Sample.InRecovery && h.Sample.System == s.System && h.Sample.Started == s.Started
	})
}

// same reports whether two outcomes say the same.
func (o *Outcome) same(b *Outcome) bool {
	return o.State == b.State && o.Leader == b.Leader && o.Server == b.Server && o.Timeline == b.Timeline && o.Highest == b.Highest &&
		slices.Equal(o.Rivals, b.Rivals) && slices.Equal(o.Refused, b.Refused) && slices.Equal(o.Foreign, b.Foreign)
}

// Status returns what is known, for metrics, pages and tests.
func (w *Watch) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.Outcome()
	st := Status{State: o.State, Timeline: o.Timeline, Moves: o.Moves}
	if o.Leader >= 0 {
		st.Primary = w.names[o.Leader]
	}
	for i, name := range w.names {
		h := HostStatus{Name: name, Refused: slices.Contains(o.Refused, i), Foreign: slices.Contains(o.Foreign, i)}
		if seen := &w.seen[i]; !seen.Began.IsZero() {
			h.Answered, h.Primary = seen.Began, !seen.Sample.InRecovery
			h.Timeline = seen.Sample.Timeline
			if !h.Primary {
				h.Timeline = seen.Sample.ReceivedTimeline
			}
		}
		st.Hosts = append(st.Hosts, h)
	}
	return st
}
