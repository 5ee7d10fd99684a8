package discover

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Members are what servers are added to and taken out of. All but Remove are called
// from one goroutine at a time.
type Members interface {
	// Add adds servers, all at the same time, and returns an error for each, or nil for
	// one that was added. One that is refused is tried again after a minute. A server
	// that is down is no error.
	Add(ctx context.Context, servers []Server) []error
	// Change takes in that the weight of a server is another one.
	Change(s Server)
	// Remove takes a server out and returns when nothing runs there any more. When ctx
	// ends what runs there is broken off.
	Remove(ctx context.Context, s Server)
}

// EventKind is what has happened.
type EventKind string

// Kinds of events. Each is told once, when it begins.
const (
	Failed   EventKind = "failed"   // lookups fail: everything stays as it is
	Answers  EventKind = "answers"  // lookups have answers again
	Empty    EventKind = "empty"    // an answer named nobody
	Added    EventKind = "added"    // a server is in use
	Removing EventKind = "removing" // a server is being taken out: it was missing for long enough
	Refused  EventKind = "refused"  // a server was found and is not used
)

// Event is something that has happened.
type Event struct {
	At     time.Time
	Source string
	Kind   EventKind
	Server string // the name of the server; empty where it is about none
	Err    error  // why
	// Start says that it is of the first lookup.
	Start bool
}

// Watch follows a [Source]. Use [New]. It is safe for concurrent use.
type Watch struct {
	cfg    Config
	to     Members
	tell   func(Event)
	source string

	mu       sync.Mutex
	plan     *plan
	answered time.Time
	failing  time.Time
	err      error
	empty    bool
	told     map[string]bool // endpoints of which it was told that they are not used

	rng         *rand.Rand
	lastLookup  time.Time
	poke, freed chan struct{}
	start, stop sync.Once
	ctx         context.Context
	cancel      context.CancelFunc
	done        sync.WaitGroup
}

// New returns a Watch that does nothing until [Watch.Start]. tell is told what happens,
// from the goroutine of the Watch, and must not block; nil: nobody is.
func New(cfg Config, to Members, tell func(Event)) *Watch {
	if tell == nil {
		tell = func(Event) {}
	}
	seed := rand.Uint64()
	w := &Watch{
		cfg: cfg.withDefaults(), to: to, tell: tell, rng: rand.New(rand.NewPCG(seed, 0)), told: make(map[string]bool),
		poke: make(chan struct{}, 1), freed: make(chan struct{}, 1),
	}
	if cfg.Source != nil {
		w.source = NameOf(cfg.Source)
	}
	w.plan = newPlan(w.cfg, seed)
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// Start asks the source once, for at most Config.Timeout, adds what it says, and
// begins to follow it. That nobody answers is not an error.
func (w *Watch) Start() {
	w.start.Do(func() {
		if w.ctx.Err() != nil || w.cfg.Source == nil {
			return
		}
		w.round(true)
		w.done.Go(w.run)
	})
}

// Close ends the lookup that is under way, and the waiting for servers that are being
// taken out, and joins the goroutines. It takes nobody out. It may be called before
// Start and more than once.
func (w *Watch) Close() {
	w.Stop()
	w.stop.Do(func() {
		w.start.Do(func() {}) // a later Start does nothing
		w.done.Wait()
	})
}

// Stop is Close that waits for nobody.
func (w *Watch) Stop() { w.cancel() }

// Poke has the source asked soon: something happened that may have changed its answer.
// It does not wait, and costs nothing where a lookup was made just now.
func (w *Watch) Poke() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// Status returns what is known now. It asks nobody.
func (w *Watch) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{Source: w.source, Answered: w.answered, Failing: w.failing, Err: w.err, Empty: w.empty, Servers: w.plan.found()}
}

// hurry divides Every where somebody has poked.
const hurry = 10

func (w *Watch) run() {
	timer := time.NewTimer(w.every())
	defer timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.freed:
			w.apply(false) // the name or the place that somebody waits for is free
			continue
		case <-w.poke:
			if d := w.cfg.Every/hurry - time.Since(w.lastLookup); d > 0 {
				timer.Reset(d)
				continue
			}
		case <-timer.C:
		}
		w.round(false)
		timer.Reset(w.every())
	}
}

// every is Config.Every, give or take a tenth: processes that were started together do
// not ask together.
func (w *Watch) every() time.Duration {
	d := w.cfg.Every
	return d - d/10 + time.Duration(w.rng.Int64N(int64(d/5)+1))
}

// round asks the source, and does what follows.
func (w *Watch) round(start bool) {
	w.lastLookup = time.Now()
	servers, err := w.lookup()
	if w.ctx.Err() != nil {
		return
	}
	now := time.Now()
	w.mu.Lock()
	var kinds []EventKind
	if err != nil {
		if w.failing.IsZero() {
			kinds, w.failing = append(kinds, Failed), now
		}
		w.err = err
	} else {
		if !w.failing.IsZero() {
			kinds = append(kinds, Answers)
		}
		w.answered, w.failing, w.err = now, time.Time{}, nil
		servers = tidied(servers, 0)
		w.plan.answer(now, servers)
		if len(servers) == 0 && !w.empty {
			kinds = append(kinds, Empty)
		}
		w.empty = len(servers) == 0
	}
	w.mu.Unlock()
	for _, kind := range kinds {
		w.tell(Event{At: now, Source: w.source, Kind: kind, Err: err, Start: start})
	}
	if err == nil {
		w.apply(start)
	}
}

// lookup asks the source. One that panics has failed: it would end the process.
func (w *Watch) lookup() (servers []Server, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Timeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			servers, err = nil, fmt.Errorf("readsplit: the source panicked: %v", cause)
		}
	}()
	servers, err = w.cfg.Source.Lookup(ctx)
	if err == nil && ctx.Err() != nil {
		return nil, ctx.Err() // what came too late may be half of it
	}
	return servers, err
}

// apply does what is to be done.
func (w *Watch) apply(start bool) {
	now := time.Now()
	w.mu.Lock()
	s := w.plan.next(now)
	w.mu.Unlock()
	event := func(kind EventKind, name string, err error) {
		w.tell(Event{At: time.Now(), Source: w.source, Kind: kind, Server: name, Err: err, Start: start})
	}
	for _, server := range s.remove {
		event(Removing, server.Name, nil)
		w.done.Go(func() { w.remove(server) })
	}
	for _, server := range s.change {
		w.to.Change(server)
	}
	if len(s.add) > 0 {
		errs := w.to.Add(w.ctx, s.add)
		if w.ctx.Err() != nil {
			return
		}
		w.mu.Lock()
		for i, server := range s.add {
			w.plan.added(time.Now(), server, errs[i])
		}
		w.mu.Unlock()
		for i, server := range s.add {
			if errs[i] == nil {
				event(Added, server.Name, nil)
			}
		}
	}
	for _, f := range w.refused() {
		event(Refused, f.Name, f.Why)
	}
}

// refused returns the servers that are found and not used, and of which nothing was
// said yet.
func (w *Watch) refused() (found []Found) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := make(map[string]bool)
	for _, f := range w.plan.found() {
		if f.InUse || f.Leaving || f.Why == nil {
			continue
		}
		now[f.Endpoint()] = true
		if !w.told[f.Endpoint()] {
			found = append(found, f)
		}
	}
	w.told = now
	return found
}

// remove takes a server out.
func (w *Watch) remove(s Server) {
	ctx, cancel := context.WithTimeout(w.ctx, w.cfg.Drain)
	defer cancel()
	w.to.Remove(ctx, s)
	w.mu.Lock()
	w.plan.removed(s)
	w.mu.Unlock()
	select {
	case w.freed <- struct{}{}:
	default:
	}
}
