package lsn

import (
	"fmt"
	"strings"
)

// CheckSQL asks whatever server answers what it is and how far it has replayed, for
// a read that runs on the same connection afterwards: behind one name there may be
// another server for each connection or, behind a pooler, for each transaction. It
// works in both roles, for an ordinary role, and changes nothing of the connection,
// which a pooler may hand to others. [ParseCheck] reads its answer.
//
// The position is read before the statement that follows takes its snapshot. That
// holds in READ COMMITTED alone: the snapshot of a REPEATABLE READ transaction is
// taken by this very question, before the position is looked at, and may be older.
// So the answer names the isolation level.
const CheckSQL = `SELECT concat_ws(' ', 'h1', r.rec,
 CASE WHEN r.rec THEN coalesce(pg_last_wal_replay_lsn()::text, '-') ELSE '-' END,
 CASE WHEN r.rec THEN coalesce(pg_last_wal_receive_lsn()::text, '-') ELSE '-' END,
 CASE WHEN r.rec THEN pg_is_wal_replay_paused() ELSE false END,
 CASE WHEN r.rec THEN '-' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
 coalesce((SELECT to_hex(received_tli) FROM pg_stat_wal_receiver), '-'),
 (SELECT to_hex(timeline_id) FROM pg_control_checkpoint()),
 (SELECT to_hex(min_recovery_end_timeline) FROM pg_control_recovery()),
 (SELECT system_identifier FROM pg_control_system()),
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 pg_backend_pid(), coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'),
 '/' || current_setting('transaction_isolation'))
FROM (SELECT pg_is_in_recovery() AS rec) AS r`

// BriefCheckSQL asks for what of [CheckSQL] changes from read to read: a quarter of its
// cost. What else is known of the server must be young, and known by its start, address
// and port. [ParseBriefCheck] reads its answer.
const BriefCheckSQL = `SELECT concat_ws(' ', 'b1', pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn()::text, '-'),
 CASE WHEN pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE false END,
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 pg_backend_pid(), coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'),
 '/' || current_setting('transaction_isolation'))`

// BeginSQL begins the transaction that a checked read runs in, before [CheckSQL]: in
// REPEATABLE READ, which the server's default may be, the check would prove nothing.
const BeginSQL = `BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ ONLY`

// Check is the answer to [CheckSQL].
type Check struct {
	// Sample has what [CheckSQL] asks for: Server, InRecovery, Replay, Receive, Paused,
	// the timelines and BackendPID. The rest is zero.
	Sample
	// Isolation is the isolation level of the transaction that asked, as PostgreSQL
	// writes it: "read committed".
	Isolation string
}

// checkFields is the number of blank-separated fields in CheckSQL's answer.
const checkFields = 15

// ParseCheck reads the answer to [CheckSQL] or [BareCheckSQL].
func ParseCheck(text string) (Check, error) {
	f := strings.SplitN(text, " ", checkFields)
	bare := f[0] == "h0"
	if len(f) != checkFields || f[0] != "h1" && !bare || !strings.HasPrefix(f[checkFields-1], "/") {
		return Check{}, fmt.Errorf("readsplit: check of a connection: %d fields, want %d", len(f), checkFields)
	}
	p := fields{name: "check of a connection", f: f}
	c := Check{
		Sample: Sample{
			InRecovery:       p.boolean(1),
			Replay:           p.lsn(2),
			Receive:          p.lsn(3),
			Paused:           p.boolean(4),
			Timeline:         p.hex(5),
			ReceivedTimeline: p.hex(6),
			ControlTimeline:  max(p.hex(7), p.hex(8)),
			BackendPID:       int(p.uint(11)),
		},
		Isolation: f[checkFields-1][1:],
	}
	c.Server = p.server(9)
	c.Addr, c.Port = p.addr(12)
	if p.err == nil && !c.InRecovery && !bare && c.Timeline == 0 {
		p.err = fmt.Errorf("readsplit: check of a primary without a timeline")
	}
	return c, p.err
}

// briefFields is the number of blank-separated fields in BriefCheckSQL's answer.
const briefFields = 9

// ParseBriefCheck reads the answer to [BriefCheckSQL]. The system identifier is zero:
// it was not asked for.
func ParseBriefCheck(text string) (Check, error) {
	f := strings.SplitN(text, " ", briefFields)
	if len(f) != briefFields || f[0] != "b1" || !strings.HasPrefix(f[briefFields-1], "/") {
		return Check{}, fmt.Errorf("readsplit: brief check of a connection: %d fields, want %d", len(f), briefFields)
	}
	p := fields{name: "brief check of a connection", f: f}
	c := Check{
		Sample:    Sample{InRecovery: p.boolean(1), Replay: p.lsn(2), Paused: p.boolean(3), BackendPID: int(p.uint(5))},
		Isolation: f[briefFields-1][1:],
	}
	c.Started = int64(p.uint(4))
	c.Addr, c.Port = p.addr(6)
	return c, p.err
}
