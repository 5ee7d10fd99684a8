package readsplit

import (
	"sync"
	"sync/atomic"
)

// registry knows the plugins of this process that are in use. Two of them can
// stand over one primary (two gorm.DBs, or resolvers with replicas of their
// own): a write through one must be seen by reads through the other.
type registry struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*router]
}

var plugins registry

func (r *registry) all() []*router {
	if l := r.list.Load(); l != nil {
		return *l
	}
	return nil
}

func (r *registry) add(rt *router) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := append(append([]*router(nil), r.all()...), rt)
	r.list.Store(&l)
}

func (r *registry) remove(rt *router) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var l []*router
	for _, q := range r.all() {
		if q != rt {
			l = append(l, q)
		}
	}
	r.list.Store(&l)
}

// sharing returns p and every plugin whose primary may be the same database
// cluster: the same system identifier, or one that is not known yet. p itself
// need not be in use any more: its statements still run.
func (r *registry) sharing(rt *router) []*router {
	if rt.rehearsal != nil {
		return rt.rehearsal.sharing(rt)
	}
	l := rt.self
	for _, q := range r.all() {
		if q == rt || !q.watched || !rt.watched {
			continue
		}
		system, other := rt.history().System, q.history().System
		if system == 0 || other == 0 || system == other {
			l = append(l[:len(l):len(l)], q)
		}
	}
	return l
}

// alone reports whether no plugin but rt's can be over the same database cluster, because
// there is none.
func (r *registry) alone(rt *router) bool {
	l := r.list.Load()
	return l != nil && len(*l) == 1 && (*l)[0] == rt
}

// knows reports whether some plugin's primary has this system identifier.
func (r *registry) knows(system uint64) bool {
	for _, q := range r.all() {
		if q.history().System == system {
			return true
		}
	}
	return false
}

// rank orders plugins for a token: those that can tell a position, those whose
// database is not known yet, those that are closed and can no longer ask.
func (rt *router) rank() int {
	switch {
	case rt.closed.Load():
		return 2
	case rt.history().System == 0:
		return 1
	default:
		return 0
	}
}
