package monitor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// SubscriptionSource is a Source that can ask a server that is fed by logical
// replication how far its subscriptions are, with lsn.SubscriptionSQL; connected and
// errors as for ConflictSource.
type SubscriptionSource interface {
	Subscription(ctx context.Context) (s lsn.Subscription, connected bool, err error)
}

// subscriptionEvery is the shortest time between two such questions: the answer is for
// people.
const subscriptionEvery = time.Second

// Subscription is what a server that is fed by logical replication says of its
// subscriptions, for people: no decision looks at it.
type Subscription struct {
	lsn.Subscription
	// Behind is how many bytes the primary has written beyond Received, if it is the
	// publisher; it is set where both are known.
	Behind      uint64
	BehindKnown bool
	// Sampled is when the question was sent.
	Sampled time.Time
}

// Subscription returns what replica i said last of its subscriptions; ok is false before
// its first answer, where its source cannot ask, and for all that are not Logical.
func (m *Monitor) Subscription(i int) (s Subscription, ok bool) {
	r := m.all()[i]
	m.mu.Lock()
	defer m.mu.Unlock()
	if !r.target.Logical || r.fed.Sampled.IsZero() || !r.up {
		return Subscription{}, false
	}
	s = r.fed
	if s.Received > 0 && m.primary.flush > 0 {
		s.BehindKnown = true
		if m.primary.flush > s.Received {
			s.Behind = uint64(m.primary.flush - s.Received)
		}
	}
	return s, true
}

// askSubscription asks r how far its subscriptions are. A failure says nothing of r: the
// next sample does.
func (r *replica) askSubscription() {
	now := time.Now()
	if !r.target.Logical || r.feed == nil || now.Before(r.fedAt) {
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.m.cfg.SampleTimeout/conflictsPart)
	defer cancel()
	s, connected, err := r.feed.Subscription(ctx)
	switch {
	case err != nil:
		r.fedAt = now.Add(conflictsBan)
	case connected:
		r.fedAt = now.Add(subscriptionEvery)
		r.m.mu.Lock()
		r.fed = Subscription{Subscription: s, Sampled: now}
		r.m.mu.Unlock()
	}
}

// apart reports whether r's newest sample is of another database cluster than the
// primary's, as that of a server must be that is fed by logical replication. Whoever is
// of the primary's own cluster was declared wrongly: it is the primary, or has positions.
// While the primary was never reached, the declaration counts.
func (r *replica) apart(system uint64) bool { return r.m.primary.history.System != system }

// takeLogical records a sample of a server that was declared to be fed by logical
// replication: it is there, and may be read from by those who ask for nothing more. The
// caller holds Monitor.mu.
func (r *replica) takeLogical(note func(State)) {
	role := r.roleOfLogical(&r.sample)
	if role != r.role && (role == policy.RoleForeign || role == policy.RolePrimary) {
		note(StateNotLogical)
	}
	r.role = role
}

// roleOfLogical is what a server is that was declared to be fed by logical replication,
// by what it says of itself. The caller holds Monitor.mu.
func (r *replica) roleOfLogical(s *lsn.Sample) policy.Role {
	switch {
	case r.apart(s.System):
		return policy.RoleLogical
	case s.InRecovery:
		return policy.RoleForeign
	}
	return policy.RolePrimary
}
