package readsplit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/readsplit/readsplit/monitor"
)

// members are the replicas of a router, by the places that the monitor gives them.
// Reads look at them without a lock; who changes them holds Plugin.adding.
type members struct {
	list  atomic.Pointer[[]*server]
	named atomic.Pointer[map[string]*class] // groups that some replica is in, or was in, or that are described
	most  int                               // connections of the primary's pool, for sizes; 0: no limit
}

// replicas returns the servers by place, those that were removed too.
func (rt *router) replicas() []*server {
	if rt.of != nil {
		rt = rt.of // whoever joins while something is explained is in the news too
	}
	if p := rt.members.list.Load(); p != nil {
		return *p
	}
	return nil
}

// splits reports whether there is, or was, any replica.
func (rt *router) splits() bool { return len(rt.replicas()) > 0 }

// InFlight implements policy.Load.
func (rt *router) InFlight(replica int) int64 {
	// The monitor knows a replica a moment before it has joined. Nobody decides for it
	// then, but an explanation asks of all.
	if all := rt.replicas(); replica < len(all) {
		return all[replica].inFlight()
	}
	return 0
}

func (m *members) groups() map[string]*class {
	if p := m.named.Load(); p != nil {
		return *p
	}
	return nil
}

func (m *members) inGroup(name string) bool { return m.groups()[name] != nil }

// class returns a group by its name; nil: nothing is known of it here.
func (m *members) class(name string) *class { return m.groups()[name] }

// knows takes in groups that were not known yet, and returns them.
func (rt *router) knows(names []string) (added map[string]*class) {
	all := maps.Clone(rt.members.groups())
	for _, name := range names {
		if all[name] != nil {
			continue
		}
		if all == nil {
			all = make(map[string]*class)
		}
		if added == nil {
			added = make(map[string]*class)
		}
		all[name] = rt.newClass(name)
		added[name] = all[name]
	}
	rt.members.named.Store(&all)
	return added
}

// join makes the server of a replica and puts it at its place.
func (rt *router) join(place int, r Replica, d *dialer) {
	added := rt.knows(r.Groups)
	size := func(p Pool) Pool { return p.or(rt.cfg.Pool).sized(rt.members.most) }
	s := newServer(place, r, d, size(r.Pool), rt.plugin.db.Config)
	lanes := newLanes(s, r, rt.members.groups(), size, rt.plugin.db.Config)
	if len(lanes) > 0 {
		s.lanes.Store(&lanes)
	}
	for _, other := range rt.replicas() {
		if added != nil && !other.gone.Load() {
			more := newLanes(other, Replica{Pool: other.size}, added, size, rt.plugin.db.Config)
			for _, l := range more {
				l.prepared.instead = other.preparing
			}
			other.addLanes(more)
		}
	}
	s.monitor = rt.monitor
	s.held = &heldServer{router: rt, server: place + 1}
	if rt.cfg.Settings != nil {
		s.wanted = rt.plugin.wanted
	}
	s.preparing = preparingFor(s, rt.plugin.db.Config, rt.cfg.Settings != nil)
	s.prepared.instead = s.preparing
	for _, l := range lanes {
		l.prepared.instead = s.preparing
	}
	all := slices.Clone(rt.replicas())
	if place < len(all) {
		all[place] = s
	} else {
		all = append(all, s)
	}
	rt.members.list.Store(&all)
}

// monitored is how the monitor sees a replica.
func monitored(r Replica, from *source) monitor.Target {
	return monitor.Target{
		Name: r.Name, Zone: r.Zone, Weight: r.Weight, Groups: r.Groups,
		AllowPrimary: r.AllowPrimaryAsReplica, Logical: r.Logical, Reserved: r.Reserved,
		Balanced: r.Balanced && !tellsNames(r.Dialector), StatedLag: r.StatedLag, Source: from,
	}
}

// clocks lets a primary that does not tell its position have one by the clock, if it is
// stated of r how far behind it is.
func (rt *router) clocks(r Replica) {
	if r.StatedLag > 0 {
		rt.clock.Store(true)
	}
}

// watchedSource asks the replica at a place for the monitor.
func (rt *router) watchedSource(place int) *source {
	s := rt.replicas()[place]
	return &source{dialer: s.dialer, shared: s.dialer.scarce(), saw: rt.plugin.watchConnections(rt, s)}
}

// AddReplica adds a replica while the plugin is in use: to the resolver of that
// name, or to the plugin's own replicas under an empty one. It is asked once before
// AddReplica returns; one that does not answer joins when it comes up. With
// Config.FollowPrimary it is no host that may become the primary: those are named
// when the plugin starts. What is wrong with r is the error, and then nothing is added.
func (p *Plugin) AddReplica(resolver string, r Replica) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	rt, err := p.changeable("AddReplica", resolver)
	if err != nil {
		return err
	}
	return p.addAll(context.Background(), rt, false, []Replica{r})[0]
}

// RemoveReplica takes a replica out of service as [Plugin.Drain] does and forgets
// it: no connection to it is left. It is named as for Drain. When ctx ends before
// its reads have, they are broken off and run elsewhere; that is no error, but for
// rows of which the application has some already, beyond what docs/retries.md says.
func (p *Plugin) RemoveReplica(ctx context.Context, name string) error {
	found, err := p.takeOut(name, true)
	if err != nil {
		return err
	}
	for _, m := range found {
		_ = m.server.idle(ctx) // nobody else has to wait for that
	}
	p.adding.Lock()
	defer p.adding.Unlock()
	if p.closed.Load() {
		return ErrClosed
	}
	var errs []error
	for _, m := range found {
		errs = append(errs, p.forget(m))
	}
	return errors.Join(errs...)
}

// changeable returns the router of a resolver, of a plugin that is in use. The
// caller holds adding.
func (p *Plugin) changeable(what, resolver string) (*router, error) {
	switch {
	case p.closed.Load():
		return nil, ErrClosed
	case !p.initialized.Load():
		return nil, fmt.Errorf("readsplit: %s before db.Use: set Config.Replicas instead", what)
	case resolver == "":
		return p.main, nil
	}
	if rt := p.tables.Load().byName[resolver]; rt != nil {
		return rt, nil
	}
	return nil, fmt.Errorf("%w %q: %s", ErrUnknownGroup, resolver, p.useNames())
}

// member is a replica with the router that it belongs to.
type member struct {
	router *router
	server *server
}

// named returns the replicas of a name: everywhere, or of one resolver where the
// name is resolver/name.
func (p *Plugin) named(name string) ([]member, error) {
	var found []member
	var names []string
	for _, rt := range p.routers() {
		for _, s := range rt.replicas() {
			if s.gone.Load() {
				continue
			}
			full := s.name
			if rt.name != "" {
				full = rt.name + "/" + s.name
			}
			names = append(names, full)
			if name == s.name || name == rt.name+"/"+s.name {
				found = append(found, member{rt, s})
			}
		}
	}
	if len(found) == 0 {
		if len(names) == 0 {
			return nil, fmt.Errorf("readsplit: there is no replica %q, nor any other", name)
		}
		return nil, fmt.Errorf("readsplit: there is no replica %q: the replicas are %s", name, strings.Join(names, ", "))
	}
	return found, nil
}
