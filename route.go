package readsplit

import (
	"context"
	"database/sql"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// route is the pool of one statement: the callback before the statement puts it
// in place of the root pool, and where the statement goes is decided when GORM
// has built it and runs it. Deciding any earlier would have to build the SQL
// earlier, and clauses that another plugin adds in between would be lost.
//
// After the statement the route stays behind as the pool of the handle, where it
// behaves as the root pool does and tells what was decided.
type route struct {
	router *router
	// prepared is the application's store of prepared statements when the
	// statement came in prepared mode.
	prepared *gorm.PreparedStmtDB
	// stmt is the statement that a read may be run again for.
	stmt *gorm.Statement
	// parent is the route that the statement inherited: of the query that it
	// preloads for, of the write whose hook it is.
	parent *route
	// holder is the route of the write whose hook, or the hook's handle, this is.
	holder *route
	// pinned keeps everything on the primary, for the reason why.
	pinned bool
	why    policy.Reason
	// bound keeps whatever inherits the route with its router, whatever table that
	// is about: the migrator of a table looks at others, and at the catalogue.
	bound bool
	// wish is what the handle's clauses ask for; nil: nothing.
	wish *wish
	// waiting says that the route holds the wish of a handle, and has no statement
	// yet.
	waiting bool
	// called says that GORM has run the callback of wishes.
	called bool
	// done says that the statement is over. What it left is not changed any more.
	done atomic.Bool

	at *server // where the statement ran; nil: the primary, or not yet
	// generation is that of the replica where it ran.
	generation uint64
	ran        bool
	reason     policy.Reason
	tries      bool  // it may be sent to a replica that is ejected
	ahead      bool  // read small results before giving out their first row
	wrote      bool  // rows belong to a statement that is not a read
	begins     bool  // it is for a transaction that begins with its first read
	attempts   int32 // how often it was run

	sight   *sight        // what its session had seen when it was decided
	attempt *attempt      // under way
	began   time.Duration // the newest run, since processStart
	rows    *sql.Rows     // of the newest query
	effect  effect        // of the newest statement that is not a read
	class   *class        // the group that it is meant for
	detour  *detour       // see past and strays
}

// runner runs statements: a pool, or one server's prepared statements.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// child returns the route for a statement that comes with r as its pool: it runs
// on the handle that r was left on, or belongs to the statement that r is for.
func (r *route) child(stmt *gorm.Statement, prepared *gorm.PreparedStmtDB, pinned bool) *route {
	c := &route{prepared: prepared, stmt: stmt, pinned: pinned}
	if c.prepared == nil {
		c.prepared = r.prepared
	}
	switch {
	case r.waiting:
		c.wish, c.parent, c.holder, c.pinned, c.bound = r.wish, r.parent, r.holder, pinned || r.pinned, r.bound
	case r.done.Load():
		c.wish = r.wish
		if h := r.holder; h != nil && !h.done.Load() {
			// A handle that a query in a hook has left: the write is still under way.
			c.parent, c.pinned, c.holder = h, true, h
		}
	default:
		c.parent, c.pinned, c.bound = r, pinned || r.pinned, r.bound
		if c.holder = r.holder; c.holder == nil && r.pinned {
			c.holder = r
		}
		if r.wish != nil && r.wish.read {
			c.wish = &wish{read: true} // what Use asks for is the statement's own
		}
	}
	if c.bound {
		c.router = r.router
	}
	return c
}

// pin keeps a statement, and what inherits its route, on the primary.
func (r *route) pin(why policy.Reason) { r.pinned, r.why = true, why }

// primary returns what runs statements on the primary.
func (r *route) primary() runner {
	switch {
	case r.prepared == nil:
		return r.router.target()
	case r.router.prepared != nil:
		return r.router.prepared
	default:
		return r.prepared
	}
}

// on returns what runs reads on s; nil is the primary.
func (r *route) on(s *server) runner {
	switch {
	case s == nil:
		return r.primary()
	case r.prepared != nil && !s.preparing.inUse() && !s.pooled.Load(): // behind a pooler the next server has not prepared it
		return s.preparedFor(r.pooled())
	default:
		return s.poolFor(r.pooled())
	}
}

// next returns the route for a statement that does not come through callbacks:
// the one whose statement is over stays as it is, for those who ask what was
// decided, and several goroutines may hold it.
func (r *route) next() *route {
	if !r.waiting && !r.done.Load() {
		return r
	}
	c := r.child(nil, nil, false)
	c.router = r.router
	c.heed(c.wish)
	return c
}

// end ends the statement. The handle keeps the route, but not what the statement
// held.
func (r *route) end() {
	r.stmt, r.rows = nil, nil
	if r.parent != nil {
		r.parent = nil
	}
	if r.effect.began != nil {
		r.effect = effect{}
	}
	if r.detour != nil {
		r.detour.before = before{}
	}
	r.done.Store(true)
}
