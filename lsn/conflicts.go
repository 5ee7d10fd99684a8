package lsn

import (
	"fmt"
	"strings"
)

// ConflictsSQL asks a standby how many statements replay has cancelled there, of the
// database that the connection is to, since its statistics were reset (a crash resets
// them). [ParseConflicts] reads its answer. It works from PostgreSQL 12 on, for every
// role unless somebody took the view away from it; on a primary all is 0.
const ConflictsSQL = `SELECT concat_ws(' ', 'x1', confl_tablespace, confl_lock, confl_snapshot, confl_bufferpin, confl_deadlock,
 coalesce(pg_catalog.to_jsonb(c) ->> 'confl_active_logicalslot', '0'))
FROM pg_catalog.pg_stat_database_conflicts AS c WHERE datname = current_database()`

// Conflicts is how many statements were cancelled on a standby, by what they stood in
// the way of.
type Conflicts struct {
	Tablespace, Lock, Snapshot, BufferPin, Deadlock uint64
	// Slot is of logical replication slots: PostgreSQL 16 and later, else 0.
	Slot uint64
}

// ParseConflicts reads the answer to [ConflictsSQL].
func ParseConflicts(text string) (Conflicts, error) {
	f := strings.Split(text, " ")
	if len(f) != 7 || f[0] != "x1" {
		return Conflicts{}, fmt.Errorf("readsplit: conflicts of a standby: %d fields, want 7", len(f))
	}
	p := fields{name: "conflicts of a standby", f: f}
	c := Conflicts{
		Tablespace: p.uint(1), Lock: p.uint(2), Snapshot: p.uint(3),
		BufferPin: p.uint(4), Deadlock: p.uint(5), Slot: p.uint(6),
	}
	return c, p.err
}
