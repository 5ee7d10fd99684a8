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
	named atomic.Pointer[map[string]bool] // groups that some replica is in, or was in
	most  int                             // connections of the primary's pool, for sizes; 0: no limit
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
		return all[replica].meter.InFlight()
	}
	return 0
}

func (m *members) groups() map[string]bool {
	if p := m.named.Load(); p != nil {
		return *p
	}
	return nil
}

func (m *members) inGroup(name string) bool { return m.groups()[name] }

// join makes the server of a replica and puts it at its place.
func (rt *router) join(place int, r Replica, d *dialer) {
	s := newServer(place, r, d, r.Pool.or(rt.cfg.Pool).sized(rt.members.most), rt.plugin.db.Config)
	s.monitor = rt.monitor
	s.held = &heldServer{router: rt, server: place + 1}
	if rt.cfg.Settings != nil {
		s.wanted = rt.plugin.wanted
	}
	groups := maps.Clone(rt.members.groups())
	for _, g := range r.Groups {
		if groups == nil {
			groups = make(map[string]bool)
		}
		groups[g] = true
	}
	rt.members.named.Store(&groups)
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
		AllowPrimary: r.AllowPrimaryAsReplica, Balanced: r.Balanced, StatedLag: r.StatedLag, Source: from,
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
	r = weighed([]Replica{r})[0]
	var v problems
	v.replica("Replica", r)
	v.statedLag("Replica", r, rt.cfg)
	if p.db.Dialector.Name() != "postgres" {
		v.add("AddReplica on a database of dialect %q: replicas work with postgres", p.db.Dialector.Name())
	}
	for _, s := range rt.replicas() {
		if s.name == r.Name && !s.gone.Load() {
			v.add("Replica.Name is %q, as that of a replica that is there: names must differ; rename it, or remove the other with RemoveReplica", r.Name)
		}
	}
	for _, g := range r.Groups {
		if t := p.tables.Load(); t.byName[g] != nil {
			v.add("Replica.Groups names %q, which is a resolver: Use(%q) would mean both; rename one", g, g)
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	rt.clocks(r)
	d, err := newDialer(r.Dialector)
	if err != nil {
		return fmt.Errorf("readsplit: Replica.Dialector (%q): %w", r.Name, err)
	}
	from := &source{dialer: d, shared: d.scarce()}
	rt.monitor.Add(monitored(r, from), func(place int) {
		rt.join(place, r, d)
		from.saw = p.watchConnections(rt, rt.replicas()[place])
	})
	if !rt.judging.Load() {
		rt.judge()
	}
	return nil
}

// RemoveReplica takes a replica out of service as [Plugin.Drain] does and forgets
// it: no connection to it is left. It is named as for Drain. When ctx ends before
// its reads have, they are broken off and run elsewhere; that is no error.
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
		m.router.monitor.Remove(m.server.index)
		p.connections.forget(m.router, m.server)
		errs = append(errs, m.server.close())
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
