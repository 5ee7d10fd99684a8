package readsplit

import (
	"hash/fnv"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// SetGuarantee asks for another level than Config.Guarantee for the reads of s, more
// or less. What s was shown before it asked for more does not bind it.
func (s *Session) SetGuarantee(g session.Guarantee) {
	s.level.Store(1 + int32(min(g, session.Causal))) // what is not known asks for the most
}

// KeepServer holds the reads of each request of s (see [WithSession]) on the server
// of its first one, as policy.OneServer does for all requests: on the replica while
// that may serve them, else on the primary. The writes of s hold as ever.
func (s *Session) KeepServer() { s.keeps.Store(true) }

// Prefer makes the reads of s prefer one replica of those that may serve them, the
// same for the same key, in every process that knows the replicas by the same names:
// the one whose caches have seen this user, by the id of the user for example. Keys
// are spread over the replicas by weight; when one of them is away, its own users
// alone move (see policy.Affinity). It is a preference: a replica that does not show
// what s must see does not serve it. An empty key ends it.
func (s *Session) Prefer(key string) {
	if key == "" {
		s.affinity.Store(0)
		return
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(key)) // never fails
	s.affinity.Store(max(1, h.Sum64()))
}

// guarantee returns the level that the reads of m rely on.
func (rt *router) guarantee(m *marks) session.Guarantee {
	if m.session == nil {
		return session.ReadYourWrites
	}
	if g := m.session.level.Load(); g > 0 {
		return session.Guarantee(g - 1)
	}
	return rt.cfg.Guarantee
}

// wishes adds to q what the session asks of the choice among servers.
func (s *Session) wishes(q *policy.Query) {
	if s != nil {
		q.KeepServer, q.Affinity = s.keeps.Load(), s.affinity.Load()
	}
}
