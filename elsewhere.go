package readsplit

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// tryOn is try. Where connections to the same name were unfit for the read, one to
// another server behind it is preferred.
func (r *route) tryOn(s *server, attempt func(s *server) error, began time.Duration, trial bool) (ran pace, err error) {
	if c := r.past().check; c != nil && c.server == s && c.tried > 0 && len(c.avoid) > 0 {
		defer s.park(s.poolFor(r.pooled()), c.avoid)()
	}
	return s.try(attempt, began, trial, r.pooled(), r.router.compared.Load())
}

// elsewhere takes in that the connection that the read came to is unfit for it: it has
// not run. After some of them it goes to other replicas, or to the primary.
func (r *route) elsewhere(s *server, u *unfit, trial bool) {
	r.attempts--
	c := r.checkOf(s)
	c.tried++
	c.why = u.reason
	if c.tried < mostUnfit && u.reason != policy.ReasonBalanced {
		return
	}
	r.excludes(s)
	if u.err != nil {
		r.router.monitor.Struck(s.index, trial, u.err)
	}
}

// unfitReason is why a read goes to the primary that found no connection to a balanced
// name that was fit for it: the decision knows only that it was there.
func (r *route) unfitReason(reason policy.Reason) policy.Reason {
	if c := r.past().check; reason == policy.ReasonFailedThisRead && c != nil && c.why != 0 {
		return c.why
	}
	return reason
}

const (
	// mostParked is how many idle connections are looked at for one to another server.
	mostParked = 4
	// parkWait bounds the wait for an idle connection that somebody else has taken
	// meanwhile.
	parkWait = 2 * time.Millisecond
	// parkFor is for how long connections are kept out of the pool at most. Reads that
	// each kept some, and waited for one of the others', would wait for ever.
	parkFor = 20 * time.Millisecond
)

// park takes idle connections that lead to servers to be avoided out of the pool, as
// long as it takes for another connection to be next, and returns what puts them back.
// database/sql gives the one out first that came back last. It is a preference, and no
// proof: what matters is checked on whichever connection it is.
func (s *server) park(pool *sql.DB, avoid []lsn.Server) (unpark func()) {
	if !s.parking.TryLock() {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(context.Background(), parkWait)
	defer cancel()
	most := mostParked
	if open := pool.Stats().MaxOpenConnections; open > 0 {
		most = min(most, open-1) // one is left for the read
	}
	var parked []*sql.Conn
	for len(parked) < most && pool.Stats().Idle > 0 {
		conn, err := pool.Conn(ctx)
		if err != nil {
			break
		}
		right := true
		_ = conn.Raw(func(c any) error {
			h, ok := c.(*heldConn)
			right = !ok || h.link == nil || !slices.Contains(avoid, h.link.at)
			return nil
		})
		if right {
			_ = conn.Close()
			break
		}
		parked = append(parked, conn)
	}
	once := sync.OnceFunc(func() {
		for _, conn := range parked {
			_ = conn.Close()
		}
		s.parking.Unlock()
	})
	timer := time.AfterFunc(parkFor, once)
	return func() {
		timer.Stop()
		once()
	}
}

// demandParent makes q, a child, need what the primary had after its parent was read:
// the parent's server is one of several behind its name, and on another one, which has
// replayed less, an order might be without its lines.
func (rt *router) demandParent(ctx context.Context, parent *check, q *query, deadline time.Time) {
	if parent.capture == 0 || q.Mode == policy.Fresh {
		return
	}
	if q.Mode == policy.AnyReplica {
		// It gives up its own writes, and not what its parent has shown.
		q.Mode = policy.Stale
		q.Pending, q.Unsure, q.Foreign, q.Need = false, false, false, lsn.Position{}
	}
	pos, at, ok := rt.captured(ctx, &sight{capture: parent.capture}, deadline)
	switch {
	case !ok:
		q.Pending = true
	case q.Need.Zero() || pos.Covers(q.Need):
		q.Need, q.at = pos, at
	}
}

// shows reports whether some connection to a balanced name leads to a server that shows
// what q asks for.
func (s *server) shows(ctx context.Context, q *query) (ok bool) {
	conn, err := s.poolFor(s.router().members.class(q.Group)).Conn(ctx)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	r := &route{router: s.router()}
	r.checks(s, q)
	_ = conn.Raw(func(c any) error {
		h, held := c.(*heldConn)
		if !held {
			return nil
		}
		begun, err := r.past().check.pass(ctx, h)
		if begun {
			h.end(ctx)
		}
		ok = err == nil
		return nil
	})
	return ok
}
