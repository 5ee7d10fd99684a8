package status

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Page shows the state of one plugin. Make it with [New]; one goroutine looks at the
// plugin's state, and asks no server, until Close. It is safe for concurrent use.
type Page struct {
	plugin  *readsplit.Plugin
	opts    Options
	keep    int
	crosses *http.CrossOriginProtection
	stop    chan struct{}
	stopped chan struct{}
	closing sync.Once

	mu     sync.Mutex
	report Report
	past   map[place]*past
	counts map[string]counts // of routers
	next   chan struct{}     // closed when there is a newer report

	deafSince time.Time // the ring has got nothing, although there was something; zero: it has
}

// place is one server of one router.
type place struct{ router, server string }

// counts are what rates are made of.
type counts struct {
	at                           time.Time
	replicas, primary            uint64
	reasons, onReplicas, refused map[policy.Reason]uint64
	poor                         int // looks in a row at which most reads went to the primary
}

// New returns the page of a plugin. It fails on options that have no meaning, naming
// the field, the value and the rule.
func New(plugin *readsplit.Plugin, o Options) (*Page, error) {
	o = o.withDefaults()
	err := o.validate()
	if plugin == nil {
		err = errors.Join(errors.New("readsplit: status: the plugin is nil: give New what readsplit.New returned"), err)
	}
	if err != nil {
		return nil, err
	}
	p := &Page{
		plugin: plugin, opts: o, keep: int(o.Keep / o.Every), crosses: http.NewCrossOriginProtection(),
		stop: make(chan struct{}), stopped: make(chan struct{}),
		past: make(map[place]*past), counts: make(map[string]counts), next: make(chan struct{}),
	}
	p.look(time.Now())
	go p.run()
	return p, nil
}

// Close stops looking and ends every stream. The plugin goes on.
func (p *Page) Close() error {
	p.closing.Do(func() { close(p.stop) })
	<-p.stopped
	return nil
}

func (p *Page) run() {
	defer close(p.stopped)
	tick := time.NewTicker(p.opts.Every)
	defer tick.Stop()
	for {
		select {
		case <-p.stop:
			return
		case now := <-tick.C:
			p.look(now)
		}
	}
}

// look makes a new report.
func (p *Page) look(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.plugin.Status()
	r := Report{At: now, Connections: connections(st.Connections)}
	all := append([]readsplit.Status{st}, st.Resolvers...)
	seen := make(map[place]bool)
	for i := range all {
		d := describe(&all[i], now)
		p.rates(&d, &all[i], now)
		for j := range d.Servers {
			p.remember(&d, &d.Servers[j], now, seen)
		}
		poor := p.poor(&d)
		d.MostlyPrimary = poor >= poorAfter
		p.counts[d.Name] = counts{at: now, replicas: d.Reads.Replicas, primary: d.Reads.Primary, reasons: all[i].Reasons, onReplicas: all[i].ReplicaReasons, refused: all[i].RefusedReasons, poor: poor}
		r.Routers = append(r.Routers, d)
	}
	for at := range p.past {
		if !seen[at] {
			delete(p.past, at) // removed from the configuration
		}
	}
	p.publish(r, all)
}

// publish completes a report and wakes those who wait for it. p.mu is held.
func (p *Page) publish(r Report, all []readsplit.Status) {
	if p.opts.Ring != nil {
		r.Decisions, r.Changes = decisions(p.opts.Ring.Decisions()), changes(p.opts.Ring.Changes())
	}
	r.Notices = p.notices(all, r.At)
	r.Headline = headline(&r)
	p.report = r
	close(p.next)
	p.next = make(chan struct{})
}

// rates fills in what has happened since the last look.
func (p *Page) rates(d *Router, st *readsplit.Status, now time.Time) {
	was, ok := p.counts[d.Name]
	if !ok {
		return
	}
	seconds := now.Sub(was.at).Seconds()
	if seconds <= 0 {
		return
	}
	replicas, primary := since(st.ReplicaReads, was.replicas), since(st.PrimaryReads, was.primary)
	d.Reads.PerSecond = float64(replicas+primary) / seconds
	d.Reads.ShareNow = share(replicas, primary)
	for i := range d.Reasons {
		w := &d.Reasons[i]
		replicas, refused := was.onReplicas[w.Reason], was.refused[w.Reason]
		before := was.reasons[w.Reason] - replicas - refused
		switch {
		case w.Replica:
			before = replicas
		case w.Refused:
			before = refused
		}
		w.PerSecond = float64(since(w.Count, before)) / seconds
	}
	slices.SortStableFunc(d.Reasons, func(a, b Reason) int { return cmp.Compare(b.PerSecond, a.PerSecond) })
}

// poorAfter is after how many looks in a row the headline says that most reads go to the
// primary: one slow second must not be read aloud.
const poorAfter = 3

// poor counts looks at which most reads went to the primary and nobody wants that.
func (p *Page) poor(d *Router) int {
	before := p.counts[d.Name].poor
	if d.Reads.ShareNow == nil {
		return before // no reads, no news
	}
	if w := d.mainReason(); *d.Reads.ShareNow < 0.5 && w != nil && !intended[w.Reason] {
		return before + 1
	}
	return 0
}

// since is how much a counter has grown; one that was begun anew says what it has.
func since(now, was uint64) uint64 {
	if now < was {
		return now
	}
	return now - was
}

// remember adds a server's state to its past.
func (p *Page) remember(d *Router, s *Server, now time.Time, seen map[place]bool) {
	at := place{d.Name, s.Name}
	if s.Primary {
		s.Reads = d.Reads.Primary
	}
	seen[at] = true
	h := p.past[at]
	if h == nil {
		h = &past{lastReads: s.Reads}
		p.past[at] = h
	}
	if was, ok := p.counts[d.Name]; ok && now.After(was.at) {
		s.PerSecond = float64(since(s.Reads, h.lastReads)) / now.Sub(was.at).Seconds()
	}
	h.lastReads = s.Reads
	lag := math.NaN()
	switch {
	case s.Primary && s.State == "up":
		lag = 0
	case s.Lag != nil && s.State != "down":
		lag = *s.Lag
	}
	h.add(p.keep, lag, s.PerSecond)
}

// now returns the newest report and what is closed when there is a newer one.
func (p *Page) now() (Report, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.report, p.next
}

// history returns the past of every server.
func (p *Page) history() []History {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []History
	for _, r := range p.report.Routers {
		for _, s := range r.Servers {
			if h := p.past[place{r.Name, s.Name}]; h != nil {
				all = append(all, History{
					Router: r.Name, Server: s.Name,
					Lag: slices.Clone(last(h.lag, p.keep)), Reads: slices.Clone(last(h.reads, p.keep)),
				})
			}
		}
	}
	return all
}
