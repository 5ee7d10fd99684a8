package readsplit

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// groupRefusal is a read that is refused because no replica of its group is right for
// it.
type groupRefusal struct {
	group  string
	reason policy.Reason // what kept the group from serving it
	err    error         // of the replica where it was tried last; nil: nowhere
}

func (e *groupRefusal) Error() string {
	text := fmt.Sprintf("%v: group %q (%s)", groups.ErrRefused, e.group, because(e.reason))
	if e.err != nil {
		text += fmt.Sprintf("; the last replica said: %v", e.err)
	}
	return text
}

func (e *groupRefusal) Unwrap() []error {
	if e.err != nil {
		return []error{groups.ErrRefused, e.err}
	}
	return []error{groups.ErrRefused}
}

// keptFromGroup reports whether a read of a group goes to the primary for a reason that
// the group's rule is about: none of its replicas is right for it, or nobody can tell.
// What an operator or the read itself wants there is no such reason.
func keptFromGroup(reason policy.Reason) bool {
	switch kindOf(reason) {
	case fallback, owing:
		return true
	}
	return reason == policy.ReasonGroupEmpty || reason == policy.ReasonNoReplicas
}

// otherwise decides about a read that no replica of its group may serve, by the rule of
// the group. class is nil where the router knows nothing of the group: a mark of a whole
// request meets statements of resolvers too.
func (r *route) otherwise(q *query, d policy.Decision, snap *policy.Snapshot) (policy.Decision, error) {
	c := r.class
	if r.past().lifted && d.Target == policy.ToReplica {
		d.Reason = policy.ReasonOutsideGroup
	}
	if r.past().lifted && kindOf(d.Reason) == fallback {
		d.Reason = policy.ReasonGroupOnPrimary
	}
	if c == nil || q.Group == "" || d.Target != policy.ToPrimary || !keptFromGroup(d.Reason) {
		return d, nil
	}
	r.strays().objected = d.Reason
	switch c.otherwise {
	case groups.Refuse:
		return d, &groupRefusal{group: c.name, reason: d.Reason}
	case groups.AnyReplica:
		q.Group, q.PreferPrimary = "", false
		if other := r.router.ruling(&q.Query, snap, time.Now()); other.Target == policy.ToReplica {
			other.Reason, r.detour.lifted = policy.ReasonOutsideGroup, true
			return other, nil
		}
	case groups.Primary:
	}
	if kindOf(d.Reason) == fallback {
		d.Reason = policy.ReasonGroupOnPrimary
	}
	return d, nil
}

// refusedByGroup reports whether err is that of a read that its group keeps off the
// primary.
func refusedByGroup(err error) bool {
	_, ok := err.(*groupRefusal) //nolint:errorlint // ours, and not wrapped yet
	return ok
}

// refusal is the error of a read that would go to the primary for this reason, where
// its group refuses that; nil: it does not.
func (r *route) refusal(reason policy.Reason) error {
	if c := r.class; c != nil && c.otherwise == groups.Refuse && !r.past().lifted && keptFromGroup(reason) {
		r.strays().objected = reason
		return &groupRefusal{group: c.name, reason: reason}
	}
	return nil
}

// leaves decides about a read of a group that has failed on its replicas and would have
// to run on the primary for that: by the rule of the group. again says that it is to be
// decided once more, without the group.
func (r *route) leaves(ctx context.Context, reason policy.Reason, last error) (again bool, err error) {
	if reason != policy.ReasonReplicaFailed && reason != policy.ReasonSchemaBehind {
		return false, nil
	}
	c := r.class
	if c == nil || r.router.closed.Load() || ctx.Err() != nil {
		return false, nil //nolint:nilerr // the statement fails by itself then, with its own error
	}
	d := r.strays()
	d.objected = reason
	switch c.otherwise {
	case groups.Refuse:
		return false, &groupRefusal{group: c.name, reason: reason, err: last}
	case groups.AnyReplica:
		again = !d.lifted
		d.lifted = true
	case groups.Primary:
	}
	return again, nil
}

// enter says which group a read is meant for, and whether that narrows its choice. A
// child is meant for what its parent was meant for: it is read where that was, whatever
// its own table says.
func (r *route) enter(q *policy.Query, parent *route) {
	rt := r.router
	if parent != nil && parent.ran && parent.at != nil {
		r.goesAs(parent.class, parent.past().aside, r.past().lifted || parent.past().lifted)
		q.Group = ""
		if c := parent.pooled(); c != nil {
			q.Group = c.name
		}
	} else {
		var c *class
		if q.Group != "" {
			c = rt.members.class(q.Group)
		}
		r.goesAs(c, nil, r.past().lifted)
	}
	if r.past().lifted {
		q.Group, q.PreferPrimary = "", false
	}
}

// toldBy records what the answer of a replica has shown to the read's session. One that
// is fed by logical replication shows nothing that could be compared.
func (r *route) toldBy(m *marks, s *server, generation uint64, err error) {
	if !s.logical {
		r.router.told(m, s, generation, r.sight, err)
	}
}

// countGroup takes in who served a read of a group.
func (r *route) countGroup(s *server, reason policy.Reason) {
	r.class.count(s, reason, r.past().objected)
	if l := s.laneOf(r.pooled()); l != nil {
		l.reads.Add(1)
	}
}

// laneOf is lane for a server that may be nil.
func (s *server) laneOf(c *class) *lane {
	if s == nil || c == nil {
		return nil
	}
	return s.lane(c)
}

// lastly adds to the refusal of a read what the replica said where it ran last.
func lastly(err, last error) error {
	if refused, ok := err.(*groupRefusal); ok && refused.err == nil { //nolint:errorlint // ours, and not wrapped yet
		refused.err = last
	}
	return err
}
