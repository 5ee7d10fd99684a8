package readsplit

import (
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// class is one group of replicas as a router sees it: its rule, and what became of its
// reads. It is there from the first replica on that is in the group, or from the start
// where the configuration describes it, and for good.
type class struct {
	router    *router
	name      string
	otherwise groups.Otherwise
	size      Pool // of its pools; what is 0 is as for the replica

	served, outside, onPrimary, refused atomic.Uint64
	because                             [256]atomic.Uint64 // of those that the group did not serve
}

var _ policy.LatencyLoad = (*class)(nil)

// InFlight implements policy.Load: what runs on a server counts for whoever comes,
// whichever pool it runs in.
func (c *class) InFlight(replica int) int64 { return c.router.InFlight(replica) }

// Latency implements policy.LatencyLoad: how long reports take says nothing of what the
// site's reads do, nor the other way round.
func (c *class) Latency(replica int, now time.Time) time.Duration {
	c.router.comparesLatencies()
	if l := c.router.replicas()[replica].lane(c); l != nil {
		return l.meter.Latency(now.Sub(processStart))
	}
	return 0
}

// load returns what a decision knows of the load of replicas.
func (rt *router) load(group string) policy.Load {
	if group != "" {
		if c := rt.members.class(group); c != nil {
			return c
		}
	}
	return rt
}

// count takes in who served a read of the group; nil: nobody.
func (c *class) count(s *server, reason, why policy.Reason) {
	switch {
	case c == nil:
		return
	case s == nil && reason == policy.ReasonGroupRefused:
		c.refused.Add(1)
	case s == nil:
		c.onPrimary.Add(1)
		if reason != policy.ReasonGroupOnPrimary {
			why = reason
		}
	case reason == policy.ReasonOutsideGroup:
		c.outside.Add(1)
	default:
		c.served.Add(1)
		return
	}
	c.because[why].Add(1)
}

// newClass returns what a router knows of a group before its first read.
func (rt *router) newClass(name string) *class {
	c := &class{router: rt, name: name}
	if g := rt.plugin.grouping.group(name); g != nil {
		c.otherwise, c.size = g.Otherwise, Pool(g.Pool)
	}
	return c
}

// status tells what became of the reads of c.
func (c *class) status(snap *policy.Snapshot) groups.Status {
	st := groups.Status{
		Name: c.name, Otherwise: c.otherwise,
		Served: c.served.Load(), Outside: c.outside.Load(), OnPrimary: c.onPrimary.Load(), Refused: c.refused.Load(),
		Because: make(map[policy.Reason]uint64),
	}
	for i := range snap.Replicas {
		r := &snap.Replicas[i]
		for _, g := range r.Groups {
			if g != c.name || r.Gone {
				continue
			}
			st.Replicas++
			if r.Up && !r.Drained {
				st.Up++
			}
			break
		}
	}
	for i := range c.because {
		if n := c.because[i].Load(); n > 0 {
			st.Because[policy.Reason(i)] = n
		}
	}
	return st
}
