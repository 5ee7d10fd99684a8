package lsn

import (
	"math"
	"strings"
	"time"
)

// Some servers do not tell where they are: those that share the primary's storage
// refuse the functions for it or answer NULL, and elsewhere the role may not call them.
// The bare questions ask for the rest. What may be read from such a server follows
// from what its configuration says of it, and from time alone.

const systemSQL = `(SELECT system_identifier FROM pg_control_system())`

// BareSQL is [FullSQL] without positions and timelines. [ParseSample] reads its answer.
const BareSQL = `SELECT concat_ws(' ', 's0', pg_is_in_recovery(), '-', '-', false, '-', '-', '-', '-', '-', '-', ` + systemSQL + `,
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 (` + asyncSQL + ` OR ` + asyncFunctionSQL + `),
 (extract(epoch FROM current_setting('wal_writer_delay')::interval) * 1000)::bigint, '0', '0',
 pg_backend_pid(), current_setting('server_version_num'),
 coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'),
 coalesce(current_setting('max_connections', true), '0'), coalesce(current_setting('superuser_reserved_connections', true), '0'),
 coalesce(current_setting('reserved_connections', true), '0'),
 '/' || current_setting('cluster_name'))`

// BareCheckSQL is [CheckSQL] without positions and timelines. [ParseCheck] reads its
// answer.
const BareCheckSQL = `SELECT concat_ws(' ', 'h0', pg_is_in_recovery(), '-', '-', false, '-', '-', '-', '-', ` + systemSQL + `,
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 pg_backend_pid(), coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'),
 '/' || current_setting('transaction_isolation'))`

// BareConnectSQL is [ConnectSQL] without the position. [ParseConnect] reads its answer.
const BareConnectSQL = `SELECT concat_ws(' ', 'k1', set_config('default_transaction_read_only', 'on', false), pg_is_in_recovery(), '-', ` + systemSQL + `,
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'))`

// BareCaptureSQL asks a primary that does not tell its position whether it is one
// still: "true".
const BareCaptureSQL = `SELECT (NOT pg_is_in_recovery())::text`

// WithoutSystem is a bare question without the system identifier, for servers that
// refuse to tell that as well.
func WithoutSystem(question string) string { return strings.ReplaceAll(question, systemSQL, "'0'") }

// ClockTimeline is the timeline of the positions that [Clock] gives to a primary which
// does not tell its own: no server has it.
const ClockTimeline = math.MaxUint32

// Clock is t as a position, in microseconds since 1970: the place of a primary that
// does not tell its own. A write that was acknowledged before t is covered by it. Only
// a server that shows everything that was committed some time ago can be compared
// with it.
func Clock(t time.Time) LSN {
	// By the process's own clock since its start: the wall clock may be set back.
	return LSN(clockStart.UnixMicro() + t.Sub(clockStart).Microseconds())
}

var clockStart = time.Now()

// TellsNoPosition reports whether s is of a standby that does not tell where it is. One
// that has begun to answer has a replay position, always.
func (s *Sample) TellsNoPosition() bool { return s.InRecovery && s.Replay == 0 }
