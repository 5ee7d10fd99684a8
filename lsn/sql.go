package lsn

// FullSQL asks a server everything that a sample holds. It works on a primary
// and on a standby, for an ordinary role, from PostgreSQL 12 on: what the role
// may not see (the columns of pg_stat_wal_receiver need pg_monitor) comes back
// as "not known", never as an error. [ParseSample] reads its answer.
//
// Functions that fail in the other role stand behind CASE, because evaluating
// pg_current_wal_lsn() on a standby is an error, not a NULL. Whether commits may be
// asynchronous is asked of primaries alone: nothing is committed on a standby.
//
// It costs a server about 60 microseconds of a core on a primary, 50 on a standby
// (docs/waiting.md).
const FullSQL = `SELECT concat_ws(' ', 's1', r.rec,
 CASE WHEN r.rec THEN coalesce(pg_last_wal_replay_lsn()::text, '-') ELSE '-' END,
 CASE WHEN r.rec THEN coalesce(pg_last_wal_receive_lsn()::text, '-') ELSE '-' END,
 CASE WHEN r.rec THEN pg_is_wal_replay_paused() ELSE false END,
 CASE WHEN r.rec THEN '-' ELSE pg_current_wal_flush_lsn()::text END,
 CASE WHEN r.rec THEN '-' ELSE pg_current_wal_insert_lsn()::text END,
 CASE WHEN r.rec THEN '-' ELSE substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END,
 coalesce((SELECT to_hex(received_tli) FROM pg_stat_wal_receiver), '-'),
 (SELECT to_hex(timeline_id) FROM pg_control_checkpoint()),
 (SELECT to_hex(min_recovery_end_timeline) FROM pg_control_recovery()),
 (SELECT system_identifier FROM pg_control_system()),
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 CASE WHEN r.rec THEN false ELSE (` + asyncSQL + ` OR ` + asyncFunctionSQL + `) END,
 (extract(epoch FROM current_setting('wal_writer_delay')::interval) * 1000)::bigint,
 current_setting('wal_block_size'), pg_size_bytes(current_setting('wal_segment_size')),
 pg_backend_pid(), current_setting('server_version_num'),
 coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'),
 coalesce(current_setting('max_connections', true), '0'), coalesce(current_setting('superuser_reserved_connections', true), '0'),
 coalesce(current_setting('reserved_connections', true), '0'),
 '/' || current_setting('cluster_name'))
FROM (SELECT pg_is_in_recovery() AS rec) AS r`

// asyncSQL tells whether a commit in this database may be acknowledged before
// it is flushed: the setting that this connection sees, or a default of any
// role or database, because a session that logs in after an ALTER ROLE commits
// asynchronously while this older connection still says "on".
const asyncSQL = `(current_setting('synchronous_commit') = 'off' OR EXISTS (SELECT FROM pg_catalog.pg_db_role_setting d, unnest(d.setconfig) c WHERE lower(c) LIKE 'synchronous_commit=%' AND lower(c) NOT IN ('synchronous_commit=on', 'synchronous_commit=local', 'synchronous_commit=remote_write', 'synchronous_commit=remote_apply')))`

// asyncFunctionSQL tells whether a function of the application's mentions the
// setting: a trigger or a procedure that turns it off makes the commit of a
// transaction asynchronous without a word in any statement of the client. What the
// server brings along has an OID below 16384: without the index on it, 3,000 functions
// that nobody wrote would be read by every process five times a second, which was six
// sevenths of what a sample cost.
const asyncFunctionSQL = `EXISTS (SELECT FROM pg_catalog.pg_proc WHERE oid >= 16384 AND (prosrc ILIKE '%synchronous_commit%' OR array_to_string(proconfig, ',') ILIKE '%synchronous_commit%'))`

// CaptureSQL asks a primary for its position. [ParseCapture] reads its answer.
// It fails on a server in recovery.
const CaptureSQL = `SELECT concat_ws(' ', 'c1', pg_current_wal_flush_lsn(), pg_current_wal_insert_lsn(), ` + asyncSQL + `)`

// ReplaySQL asks a standby for its replay position, in about 40 microseconds.
// [ParseReplay] reads its answer.
const ReplaySQL = `SELECT concat_ws(' ', 'r1', pg_is_in_recovery(), coalesce(pg_last_wal_replay_lsn()::text, '-'))`

// ConnectSQL is sent on every new connection of a replica pool. It makes the
// connection read-only, so that a write that was misjudged is refused even by a
// replica that has just been promoted, and tells which server and which state
// of it the connection reached. [ParseConnect] reads its answer.
const ConnectSQL = `SELECT concat_ws(' ', 'k1', set_config('default_transaction_read_only', 'on', false), pg_is_in_recovery(),
 coalesce(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END, '-'),
 (SELECT system_identifier FROM pg_control_system()),
 (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint,
 coalesce(host(inet_server_addr()), '-'), coalesce(inet_server_port()::text, '-'))`

// NudgeSQL writes and commits one small WAL record on a primary (a logical
// message that nothing decodes, about 100 bytes with its commit). Its commit
// ends whatever record the flush position rested in, which a quiet primary
// would otherwise leave unfinished for up to 20 seconds while a healthy standby
// seems to fall behind.
const NudgeSQL = `SELECT pg_logical_emit_message(true, 'readsplit', '')::text`
