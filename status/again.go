package status

import (
	"cmp"
	"slices"
	"time"

	"github.com/readsplit/readsplit"
)

// lookAgain makes a report between two looks, for what somebody has just changed. Rates
// are those of the look before, and the past gets no point: over the milliseconds since
// then one read would be a thousand a second, and a plot has its points at equal
// distances in time.
func (p *Page) lookAgain(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := p.plugin.Status()
	r := Report{At: now, Connections: connections(st.Connections), Again: true}
	all := append([]readsplit.Status{st}, st.Resolvers...)
	for i := range all {
		d := describe(&all[i], now)
		if was := slices.IndexFunc(p.report.Routers, func(w Router) bool { return w.Name == d.Name }); was >= 0 {
			d.keepRates(&p.report.Routers[was])
		}
		r.Routers = append(r.Routers, d)
	}
	p.publish(r, all)
}

// keepRates takes over what a report had of what happens per second.
func (r *Router) keepRates(was *Router) {
	r.Reads.PerSecond, r.Reads.ShareNow, r.MostlyPrimary = was.Reads.PerSecond, was.Reads.ShareNow, was.MostlyPrimary
	for i := range r.Reasons {
		w := &r.Reasons[i]
		if j := slices.IndexFunc(was.Reasons, func(x Reason) bool { return x.Reason == w.Reason && x.Replica == w.Replica }); j >= 0 {
			w.PerSecond = was.Reasons[j].PerSecond
		}
	}
	slices.SortStableFunc(r.Reasons, func(a, b Reason) int { return cmp.Compare(b.PerSecond, a.PerSecond) })
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.Primary {
			s.Reads = r.Reads.Primary
		}
		if j := slices.IndexFunc(was.Servers, func(x Server) bool { return x.Name == s.Name }); j >= 0 {
			s.PerSecond = was.Servers[j].PerSecond
		}
	}
}
