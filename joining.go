package readsplit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/readsplit/readsplit/monitor"
)

// addAll adds replicas to a router and returns an error for each, or nil. All of them
// are asked at the same time. The caller holds adding.
func (p *Plugin) addAll(ctx context.Context, rt *router, discovered bool, replicas []Replica) []error {
	replicas, errs := weighed(replicas), make([]error, len(replicas))
	var joining []joiner
	for i, r := range replicas {
		j, err := p.joiner(rt, r)
		if err == nil && slices.ContainsFunc(joining, func(other joiner) bool { return other.Name == r.Name }) {
			err = errors.Join(fmt.Errorf("readsplit: Replica.Name is %q, as that of another one that is being added: names must differ", r.Name), j.dialer.close())
		}
		if errs[i] = err; err == nil {
			joining = append(joining, j)
		}
	}
	if len(joining) == 0 {
		return errs
	}
	if !rt.judging.Load() {
		// Before anybody serves: a view may do what no replica should.
		rt.judge()
	}
	rt.monitor.AddAll(ctx, targets(joining), func(i, place int) {
		rt.join(place, joining[i].Replica, joining[i].dialer)
		s := rt.replicas()[place]
		s.discovered.Store(discovered)
		if discovered && p.discovery.drained[s.name] {
			member{rt, s}.takeOut(false)
		}
		joining[i].from.saw = p.watchConnections(rt, s)
	})
	return errs
}

// joiner is a replica that is about to join.
type joiner struct {
	Replica
	dialer *dialer
	from   *source
}

func targets(joining []joiner) (all []monitor.Target) {
	for _, j := range joining {
		all = append(all, monitored(j.Replica, j.from))
	}
	return all
}

// joiner reports what is wrong with r, or opens it, without connecting.
func (p *Plugin) joiner(rt *router, r Replica) (joiner, error) {
	var v problems
	v.replica("Replica", r)
	v.statedLag("Replica", r, rt.cfg)
	if rt.database == nil {
		v.add("AddReplica on a database of dialect %q: replicas work with postgres and sqlserver", p.db.Dialector.Name())
	}
	if err := rt.unlike("Replica", r); err != nil {
		v.errs = append(v.errs, err)
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
		return joiner{}, err
	}
	rt.clocks(r)
	d, err := newDialer(r.Dialector)
	if err != nil {
		return joiner{}, fmt.Errorf("readsplit: Replica.Dialector (%q): %w", r.Name, err)
	}
	d.engine = rt.engineOf(r)
	return joiner{r, d, &source{dialer: d, shared: d.scarce()}}, nil
}

// forget ends what is left of a replica that was taken out. What is kept by name or by
// place goes with it: names may never come again, and places are taken over. The caller
// holds adding.
func (p *Plugin) forget(m member) error {
	rt, s := m.router, m.server
	rt.monitor.Remove(s.index)
	p.connections.forget(rt, s)
	rt.wasDown.Delete(s.name)
	if rt.follow != nil {
		rt.follow.promoted(placed{rt, s.index}, true)
	}
	return s.close()
}
