package readsplit

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/readsplit/readsplit/policy"
)

// registry knows the plugins of this process that are in use. Two of them can
// stand over one primary (two gorm.DBs, or resolvers with replicas of their
// own): a write through one must be seen by reads through the other.
type registry struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*router]
	// left are routers that are not in use any more, while something that was begun
	// through them is under way whose end nobody has seen. Nothing is read through them
	// that would look whether it has ended.
	left atomic.Pointer[[]*router]
	// async are the systems of which some connection may commit before it has flushed. The
	// connection may outlive the plugin that was told. Guarded by mu.
	async map[uint64]bool
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
	if rt.unseen() { // asked last: what begins later sees that rt is not in use
		r.keep(rt)
	}
}

// behind returns the routers that are not in use any more, and must not be forgotten yet.
func (r *registry) behind() []*router {
	if l := r.left.Load(); l != nil {
		return *l
	}
	return nil
}

// stays keeps rt among the routers that are looked at if it is not in use any more.
// Something whose end nobody sees has begun through it: a handle goes on writing when
// its plugin was closed.
func (r *registry) stays(rt *router) {
	if !rt.watched || rt.rehearsal != nil || slices.Contains(r.all(), rt) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep(rt)
}

// keep is stays for a caller who holds mu.
func (r *registry) keep(rt *router) {
	if l := r.behind(); !slices.Contains(l, rt) {
		l = append(l[:len(l):len(l)], rt)
		r.left.Store(&l)
	}
}

// letGo forgets the routers that are not in use any more, and through which nothing is
// under way.
func (r *registry) letGo() {
	for _, rt := range r.behind() {
		rt.sweepForeign(&policy.Query{}, noMarks)
		rt.sweepClosed()
		if rt.unseen() {
			continue
		}
		r.mu.Lock()
		if !rt.unseen() { // asked again: what begins now waits to be kept
			l := slices.DeleteFunc(slices.Clone(r.behind()), func(q *router) bool { return q == rt })
			r.left.Store(&l)
		}
		r.mu.Unlock()
	}
}

// sharing returns p and every plugin whose primary may be the same database
// cluster: the same system identifier, or one that is not known yet. p itself
// need not be in use any more: its statements still run. Nor need those through which
// something is still under way.
func (r *registry) sharing(rt *router) []*router {
	if rt.rehearsal != nil {
		return rt.rehearsal.sharing(rt)
	}
	l := rt.self
	for _, some := range [...][]*router{r.all(), r.behind()} {
		for _, q := range some {
			if q == rt || !q.watched || !rt.watched {
				continue
			}
			system, other := rt.history().System, q.history().System
			if system == 0 || other == 0 || system == other {
				l = append(l[:len(l):len(l)], q)
			}
		}
	}
	return l
}

// alone reports whether no plugin but rt's can be over the same database cluster, because
// there is none, nor one that was closed and through which something is under way.
func (r *registry) alone(rt *router) bool {
	l := r.list.Load()
	return l != nil && len(*l) == 1 && (*l)[0] == rt && len(r.behind()) == 0
}

// commitAsync says that commits through rt may from now on be acknowledged before they
// are flushed. Those who read through another plugin would miss them by a position that
// goes by what is flushed.
func (r *registry) commitAsync(rt *router) {
	r.mu.Lock()
	if r.async == nil {
		r.async = make(map[uint64]bool)
	}
	r.async[rt.history().System] = true // first: whoever begins later looks here
	r.mu.Unlock()
	for _, q := range r.sharing(rt) {
		q.monitor.MarkAsync()
	}
}

// commitsAsync reports whether that was said before rt was in use, of what may be its
// primary.
func (r *registry) commitsAsync(rt *router) bool {
	system := rt.history().System
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.async[system] || r.async[0] || system == 0 && len(r.async) > 0
}

// asyncBegins is commitAsync of one transaction, which ended is told the end of.
func (r *registry) asyncBegins(rt *router) (ended func()) {
	all := r.sharing(rt)
	for _, q := range all {
		q.monitor.AsyncBegins()
	}
	return func() {
		for _, q := range all {
			q.monitor.AsyncEnds()
		}
	}
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
