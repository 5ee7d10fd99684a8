package readsplit

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// detour is what a read has been through that did not simply run on the first replica
// that was right for it. It is apart from the route, which is made for each statement
// and would be twice as large with it, while few reads have one.
type detour struct {
	exclude   uint64        // replicas that failed this read
	failedOn  [8]int32      // see policy.Query.Failed
	trial     bool          // it was sent to a replica that is ejected
	refused   bool          // a replica refused it as a write: it is one wherever it runs
	conflicts bool          // a conflict with replay has cancelled a long run of this read
	fell      bool          // it fell back on the primary
	lifted    bool          // its group has no replica for it, and others may serve it
	forced    policy.Reason // set: the primary, for this reason
	objected  policy.Reason // what kept its group from serving it
	check     *check        // what it has to be shown where it was decided for a balanced name
	place     *budget       // where a read that fell back on the primary has a place, until rows or a transaction hold it
	aside     *class        // the group in whose pool it runs, where that is not its own
	waited    time.Duration // what the newest decision took, where it had to wait
	before    before
}

// straight is the detour of a read that has made none. It is never changed.
var straight = &detour{}

// past is what r has been through, to look at.
func (r *route) past() *detour {
	if r.detour == nil {
		return straight
	}
	return r.detour
}

// strays is what r goes through, to be changed.
func (r *route) strays() *detour {
	if r.detour == nil {
		r.detour = new(detour)
	}
	return r.detour
}

// pooled is the group whose pool r runs in; nil: the site's.
func (r *route) pooled() *class {
	if c := r.past().aside; c != nil {
		return c
	}
	return r.class
}

// goesAs says which group r is meant for, and how it is served: in the pool of another
// one, or outside of all.
func (r *route) goesAs(c, aside *class, lifted bool) {
	r.class = c
	if r.detour != nil || aside != nil || lifted {
		d := r.strays()
		d.aside, d.lifted = aside, lifted
	}
}
