package readsplit

import (
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
)

// ownPool is the setting of a statement that holds the pool that it came with.
const ownPool = "readsplit:own_pool"

// keepPool remembers the pool of a write with a default transaction, after which GORM
// puts the configured one in its place.
func (p *Plugin) keepPool(db *gorm.DB, pool gorm.ConnPool) {
	p.keepsPools.Store(true)
	db.InstanceSet(ownPool, pool)
}

// keptPool returns what keepPool has remembered for the statement of db; nil: nothing.
// To look it up takes GORM a text, so nobody looks as long as nothing was ever kept.
func (p *Plugin) keptPool(db *gorm.DB) gorm.ConnPool {
	if !p.keepsPools.Load() {
		return nil
	}
	own, _ := db.InstanceGet(ownPool)
	pool, _ := own.(gorm.ConnPool)
	return pool
}

// afterWrite returns what a write with a default transaction leaves behind as the pool
// of its handle; ran says that there was something to write. What it tells of such writes
// is the same for all of them, so that they share one: nobody changes a route that is done.
func (rt *router) afterWrite(prepared *gorm.PreparedStmtDB, ran bool) *route {
	if r := rt.wroteRoute.Load(); r != nil && ran && r.prepared == prepared {
		return r
	}
	r := &route{router: rt, prepared: prepared}
	if ran {
		r.ran, r.reason = true, policy.ReasonWrite
	}
	r.end()
	if ran {
		rt.wroteRoute.Store(r)
	}
	return r
}
