package readsplit

import (
	"fmt"
	"reflect"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// wish is what dbresolver's clauses ask of a statement: Clauses(dbresolver.Write),
// Clauses(dbresolver.Read), Clauses(dbresolver.Use(name)). They belong to the
// handle, and to everything that is derived from it.
type wish struct {
	write  bool
	read   bool
	router *router // of Use; nil: the table decides
	group  string  // of Use, where that names a group of replicas
	err    error   // Use names nothing
}

// Under these names dbresolver's clauses leave what they ask for, and look for a
// callback to tell. They are unexported there.
const (
	wishCallback = "gorm:db_resolver"
	wishWrite    = "gorm:db_resolver:write"
	wishRead     = "gorm:db_resolver:read"
	wishUse      = "gorm:db_resolver:using"
)

// wishes is what dbresolver's clauses call when they are added to a handle, so
// that Clauses(dbresolver.Write).Begin() finds a pool that begins where it
// should. It is registered as a callback of queries, where it has nothing to do.
func (p *Plugin) wishes(db *gorm.DB) {
	stmt := db.Statement
	if own, ok := stmt.ConnPool.(*route); ok && own.stmt == stmt && !own.called {
		own.called = true // GORM runs its callbacks
		return
	}
	inner, rehearsal := ofRehearsal(stmt.ConnPool)
	own, ok := inner.(*route)
	if ok && own.stmt == stmt && !own.called {
		own.called = true // GORM runs its callbacks
		return
	}
	outer, prepared := unwrap(inner)
	if !p.wishesOn(outer) {
		return
	}
	r := &route{prepared: prepared}
	wish := p.wishOf(stmt)
	if pool, ok := outer.(*route); ok {
		if pool.stmt == stmt && !pool.done.Load() {
			// Added by a callback, to the statement that runs.
			if wish.err != nil {
				_ = db.AddError(wish.err)
			}
			pool.heed(wish)
			return
		}
		// What it belongs to holds for whatever comes of the handle: in a hook of a
		// write that is the primary.
		r = pool.child(nil, prepared, false)
	}
	r.wish, r.waiting = wish, true
	switch {
	case r.bound:
	case wish.router != nil:
		r.router = wish.router
	default:
		r.router = p.main
	}
	stmt.ConnPool = rehearsal.pool(r)
}

// wishesOn reports whether a wish can say where statements go that come with pool: not
// in a transaction, nor on a connection of the application's own. It is asked first,
// because each query of a transaction comes here.
func (p *Plugin) wishesOn(pool gorm.ConnPool) bool {
	switch pool := pool.(type) {
	case *route:
		return pool.router.plugin == p
	case *rootPool:
		return pool.router.plugin == p
	case *trackedTx, *readOnlyTx:
		return false
	default:
		return p.isBase(pool)
	}
}

// wishOf reads what the clauses of a statement ask for.
func (p *Plugin) wishOf(stmt *gorm.Statement) *wish {
	w := &wish{}
	_, w.write = stmt.Settings.Load(wishWrite)
	_, w.read = stmt.Settings.Load(wishRead)
	w.read = w.read && !w.write
	if use := reflect.ValueOf(stmt.Clauses[wishUse].Expression); use.IsValid() && use.Kind() == reflect.Struct {
		if name := use.FieldByName("Use"); name.IsValid() && name.Kind() == reflect.String && name.Len() > 0 {
			p.use(w, name.String())
		}
	}
	return w
}

// use says what Use(name) asks for.
func (p *Plugin) use(w *wish, name string) {
	t := p.tables.Load()
	switch {
	case t.byName[name] != nil:
		w.router = t.byName[name]
	case t.byTable[plainTable(name)] != nil:
		w.router = t.byTable[plainTable(name)]
	case p.main.members.inGroup(name):
		w.group = name
	default:
		w.err = fmt.Errorf("%w %q in Clauses(dbresolver.Use): %s", ErrUnknownGroup, name, p.useNames())
	}
}

// heed makes a statement do what its clauses ask for.
func (r *route) heed(w *wish) {
	r.wish = w
	if w == nil {
		return
	}
	if w.write && !r.pinned {
		r.pin(policy.ReasonFresh)
	}
	if w.router != nil {
		r.router = w.router
	}
}

// mode is what a read asks for: what its context says, or its clauses where that
// says nothing.
func (r *route) mode(m *marks) policy.Mode {
	if m.mode == policy.Normal && r.wish != nil && r.wish.read {
		return policy.UseReplica
	}
	return m.mode
}

// group is the group of replicas that a read asks for.
func (r *route) group(m *marks) string {
	if m.group == "" && r.wish != nil {
		return r.wish.group
	}
	return m.group
}
