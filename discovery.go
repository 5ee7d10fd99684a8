package readsplit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dialect"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/observe"
)

// discovery adds what Config.Discover finds to the plugin's own replicas, and takes out
// what is gone. A nil one does nothing.
type discovery struct {
	p     *Plugin
	watch *discover.Watch
	port  int // of servers whose source does not know it
	// template makes dialectors.
	template gorm.Dialector
	// drained are the names of servers that were out of service when they were missing
	// for too long. Guarded by Plugin.adding.
	drained map[string]bool
}

// newDiscovery starts nothing: New does no I/O.
func newDiscovery(p *Plugin) *discovery {
	cfg := p.given.Discover
	if cfg.Source == nil || cfg.Validate() != nil {
		return nil // reported by validate
	}
	d := &discovery{p: p}
	cfg.Source = completed{d, cfg.Source}
	d.watch = discover.New(cfg, d, d.tell)
	return d
}

// start asks the source for the first time. Nobody holds p.adding.
func (d *discovery) start() {
	if d == nil {
		return
	}
	d.template = d.p.templateDialector()
	if d.port = dialect.Port(d.template); d.port == 0 {
		d.port = 5432
	}
	d.watch.Start()
}

func (d *discovery) stop() {
	if d != nil {
		d.watch.Close()
	}
}

// poke has the source asked soon.
func (d *discovery) poke() {
	if d != nil {
		d.watch.Poke()
	}
}

func (d *discovery) status() discover.Status {
	if d == nil {
		return discover.Status{}
	}
	return d.watch.Status()
}

// Add implements [discover.Members].
func (d *discovery) Add(ctx context.Context, servers []discover.Server) []error {
	p, errs := d.p, make([]error, len(servers))
	p.adding.Lock()
	defer p.adding.Unlock()
	if p.closed.Load() {
		for i := range errs {
			errs[i] = ErrClosed
		}
		return errs
	}
	var replicas []Replica
	var at []int
	for i, s := range servers {
		r, err := d.replica(s)
		if err == nil {
			err = d.known(s)
		}
		if errs[i] = err; err == nil {
			replicas, at = append(replicas, r), append(at, i)
		}
	}
	for k, err := range p.addAll(ctx, p.main, true, replicas) {
		if err == nil {
			err = d.twin(replicas[k].Name)
		}
		errs[at[k]] = err
	}
	return errs
}

// saidByDiscovery takes in a change of a replica that a source has named, and has the
// source asked where it may know more. It reports whether nothing else is to be said: a
// name of all servers names the primary, too, and that is no mistake.
func (rt *router) saidByDiscovery(c monitor.Change) bool {
	d := rt.plugin.discovery
	if d == nil || rt != rt.plugin.main {
		return false
	}
	switch {
	case c.State == monitor.StateNewHistory, c.State == monitor.StateDown:
		d.poke()
	case c.Replica >= 0 && c.State == monitor.StateWritable && rt.replicas()[c.Replica].discovered.Load() && rt.monitor.IsPrimary(c.Replica):
		rt.info("readsplit: %s, which discovery has found, is the primary itself: no read goes there until it is a standby", c.Server)
		return true
	}
	return false
}

// known refuses a server that is configured as a replica already.
func (d *discovery) known(s discover.Server) error {
	for _, r := range d.p.cfg.Replicas {
		for _, h := range dialect.Hosts(r.Dialector) {
			if h.Name == s.Endpoint() || h.Name == (discover.Server{Host: s.Host, Port: s.Port}).Endpoint() && s.Address == "" {
				return fmt.Errorf("readsplit: %s is Config.Replicas' %q already", s.Endpoint(), r.Name)
			}
		}
	}
	return nil
}

// twin takes out a server that turned out to be another replica: two would get twice
// its share of the reads. The caller holds adding.
func (d *discovery) twin(name string) error {
	rt := d.p.main
	for _, s := range rt.replicas() {
		if s.name != name || s.gone.Load() {
			continue
		}
		other, same := rt.monitor.Twin(s.index)
		if !same {
			return nil
		}
		m := member{rt, s}
		m.takeOut(true)
		return errors.Join(fmt.Errorf("readsplit: it is the same server as replica %q", other), d.p.forget(m))
	}
	return nil
}

// Change implements [discover.Members].
func (d *discovery) Change(s discover.Server) {
	p := d.p
	p.adding.Lock()
	defer p.adding.Unlock()
	weight := max(s.Weight, 1)
	if s.Weight == 0 {
		weight = max(p.cfg.Discovered.Weight, 1)
	}
	for _, r := range p.main.replicas() {
		if r.name == s.Name && !r.gone.Load() && !p.closed.Load() {
			p.main.monitor.Reweigh(r.index, weight)
		}
	}
}

// Remove implements [discover.Members].
func (d *discovery) Remove(ctx context.Context, s discover.Server) {
	d.keepDrained(s.Name)
	// It fails where an operator has removed the replica, or the plugin is closed.
	_ = d.p.RemoveReplica(ctx, "/"+s.Name)
}

// keepDrained remembers that an operator has taken a server out of service that is about
// to be forgotten: it is restarted for longer than Grace, most likely, and would serve
// reads in the middle of what it was drained for as soon as it is found again.
func (d *discovery) keepDrained(name string) {
	d.p.adding.Lock()
	defer d.p.adding.Unlock()
	for _, r := range d.p.main.replicas() {
		if r.name != name || r.gone.Load() || !r.out.Load() {
			continue
		}
		if d.drained == nil {
			d.drained = make(map[string]bool)
		}
		d.drained[name] = true
	}
}

// resumes forgets that a server is to stay out of service, and reports whether it was.
// The caller holds adding.
func (d *discovery) resumes(name string) bool {
	if d == nil {
		return false
	}
	name = strings.TrimPrefix(name, "/")
	was := d.drained[name]
	delete(d.drained, name)
	return was
}

// tell logs what has happened, and tells the observers.
func (d *discovery) tell(e discover.Event) {
	p := d.p
	switch e.Kind {
	case discover.Failed:
		stays := "the replicas stay as they are"
		if e.Start {
			stays = "none is found until it answers"
		}
		p.warn("readsplit: discovery by %s fails, and %s: %v", e.Source, stays, e.Err)
	case discover.Answers:
		p.warn("readsplit: discovery by %s has answers again", e.Source)
	case discover.Empty:
		if e.Start {
			p.warn("readsplit: discovery by %s found nobody yet: look at the name if that lasts", e.Source)
			break
		}
		p.warn("readsplit: discovery by %s found nobody; those that are in use stay for Config.Discover.EmptyGrace", e.Source)
	case discover.Refused:
		p.warn("readsplit: discovery by %s found %q, which is not used: %v", e.Source, e.Server, e.Err)
	case discover.Removing:
		p.warn("readsplit: discovery by %s has not found %q for a while: it is taken out of service", e.Source, e.Server)
	case discover.Added:
		if e.Start {
			p.main.info("readsplit: discovery by %s found %q", e.Source, e.Server)
		} else {
			p.warn("readsplit: discovery by %s found %q", e.Source, e.Server)
		}
	}
	o := observe.Discovery{At: time.Now(), Source: e.Source, Kind: string(e.Kind), Server: e.Server, Err: e.Err}
	tellEach(p, p.told.Discoveries, func(l observe.DiscoveryObserver) { l.ObserveDiscovery(o) })
}
