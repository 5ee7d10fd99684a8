package tdsenv

import (
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
)

// What tells one server, one run of it, and one reign of a primary from another.

// databasesView is sys.databases, as far as everybody may see it: tempdb is made when a server
// starts. A secondary's database is not read-only by itself: that column stays 0.
func (h *host) databasesView() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{text("name"), number("database_id"), tiny("state"), text("state_desc"), flag("is_read_only"),
		moment("create_date"), number("delayed_durability")}}
	durability := int64(h.cluster.cfg.DelayedDurability)
	add := func(name string, id, delayed int64) {
		set.Rows = append(set.Rows, []any{name, id, int64(0), "ONLINE", false, h.started.UTC(), delayed})
	}
	add("master", 1, 0)
	add("tempdb", 2, 0)
	for _, db := range h.cluster.databases {
		add(db.name, db.id, durability)
	}
	return set
}

// groupStates is sys.dm_hadr_availability_group_states. A secondary that its cluster cannot be
// asked from knows no primary.
func (h *host) groupStates() *engine.Rowset {
	set := &engine.Rowset{Cols: []engine.Column{guid("group_id"), text("primary_replica")}}
	if !h.cluster.cfg.NoGroup {
		set.Rows = append(set.Rows, []any{h.cluster.group, h.leader()})
	}
	return set
}

// leader is the primary that the server knows of: the last one that could reach it.
func (s *Server) leader() string {
	if c := s.cluster; !s.under(cut) || s == c.primary || s.led == "" {
		s.led = c.primary.name
	}
	return s.led
}

// recovery is where the log of the primary began when it became one; on a secondary NULL here.
func (c *Cluster) recovery(db *database, r replicaRow) any {
	if !r.primary {
		return nil
	}
	return db.recovery.dec()
}
