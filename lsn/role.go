package lsn

import (
	"fmt"
	"strings"
)

// RoleSQL asks a new connection which server it reached, and whether that is a
// primary: what must be known before a statement is sent that may write. It works
// on a primary and on a standby, for an ordinary role. [ParseRole] reads its
// answer.
const RoleSQL = `SELECT concat_ws(' ', 'p1', r.rec,
 CASE WHEN r.rec THEN '-' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
 (SELECT system_identifier FROM pg_control_system()),
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'))
FROM (SELECT pg_is_in_recovery() AS rec) AS r`

// Role is what a new connection to a server that should be the primary reached.
type Role struct {
	Server
	InRecovery bool
	// Timeline is what a primary writes; 0 on a standby.
	Timeline uint32
}

// ParseRole reads the answer to [RoleSQL].
func ParseRole(text string) (Role, error) {
	f := strings.Split(text, " ")
	if len(f) != 7 || f[0] != "p1" {
		return Role{}, fmt.Errorf("readsplit: role of a server: %d fields, want 7", len(f))
	}
	p := fields{name: "role of a server", f: f}
	r := Role{InRecovery: p.boolean(1), Timeline: p.hex(2), Server: p.server(3)}
	r.Addr, r.Port = p.addr(5)
	if p.err == nil && !r.InRecovery && r.Timeline == 0 {
		p.err = fmt.Errorf("readsplit: role of a primary without a timeline")
	}
	return r, p.err
}
