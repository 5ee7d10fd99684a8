package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/lsn"
)

// Each question returns one JSON value, so that it needs no prepared statement and
// survives any pooler. None has a parameter.

const aboutSQL = `SELECT json_build_object('recovery', pg_is_in_recovery(), 'database', current_database(), 'user', current_user,
 'version', current_setting('server_version'), 'number', current_setting('server_version_num')::int,
 'started', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, 'cluster', current_setting('cluster_name'), 'pid', pg_backend_pid(),
 'monitor', pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
 'emit', coalesce((SELECT bool_or(has_function_privilege(oid, 'EXECUTE')) FROM pg_catalog.pg_proc WHERE proname = 'pg_logical_emit_message'), false))`

// judged are the settings that are looked at.
var judged = []string{
	"archive_mode", "default_transaction_read_only",
	"hot_standby_feedback", "idle_in_transaction_session_timeout", "idle_session_timeout", "lock_timeout",
	"max_connections", "max_locks_per_transaction", "max_prepared_transactions", "max_slot_wal_keep_size",
	"max_standby_streaming_delay", "max_wal_senders", "max_worker_processes", "primary_conninfo",
	"recovery_min_apply_delay", "restore_command", "statement_timeout", "synchronous_commit",
	"synchronous_standby_names", "transaction_timeout", "wal_keep_segments", "wal_keep_size", "wal_level",
}

// settingsSQL keeps what is in primary_conninfo, a password perhaps, on the server.
var settingsSQL = `SELECT json_object_agg(name, json_build_object('value', CASE WHEN name = 'primary_conninfo' AND setting <> '' THEN 'set' ELSE setting END, 'source', source))
FROM pg_catalog.pg_settings WHERE name IN ('` + strings.Join(judged, "', '") + `')`

const standbysSQL = `SELECT coalesce(json_agg(json_build_object('name', coalesce(application_name, ''), 'state', coalesce(state, ''), 'sync', coalesce(sync_state, '')) ORDER BY application_name), '[]')
FROM pg_catalog.pg_stat_replication`

// slotsSQL leaves out what a standby has copied of its primary's slots (from PostgreSQL
// 17 on): those are never in use there, and must not be dropped.
const slotsSQL = `SELECT coalesce(json_agg(json_build_object('name', slot_name, 'active', active, 'status', coalesce(to_jsonb(s) ->> 'wal_status', ''),
 'kept', coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_insert_lsn() END, restart_lsn), 0)) ORDER BY slot_name), '[]')
FROM pg_catalog.pg_replication_slots AS s WHERE NOT temporary AND coalesce(to_jsonb(s) ->> 'synced', '') <> 'true'` // wal_status is there from PostgreSQL 13 on

const receiverSQL = `SELECT json_build_object('timeline', coalesce(received_tli, 0), 'host', coalesce(sender_host, ''), 'port', coalesce(sender_port, 0))
FROM pg_catalog.pg_stat_wal_receiver`

const conflictsSQL = `SELECT json_build_object('tablespace', sum(confl_tablespace), 'lock', sum(confl_lock), 'snapshot', sum(confl_snapshot), 'buffer pin', sum(confl_bufferpin), 'deadlock', sum(confl_deadlock))
FROM pg_catalog.pg_stat_database_conflicts WHERE datname = current_database()`

const archiverSQL = `SELECT json_build_object('failed', failed_count, 'last', CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN last_failed_wal ELSE '' END)
FROM pg_catalog.pg_stat_archiver`

const connectionsSQL = `SELECT coalesce(sum(numbackends), 0)::int FROM pg_catalog.pg_stat_database`

// longSQL asks for old transactions, without what they run.
func longSQL(least time.Duration) string {
	return fmt.Sprintf(`SELECT coalesce(json_agg(t), '[]') FROM (
 SELECT json_build_object('pid', pid, 'user', coalesce(usename, ''), 'state', coalesce(state, ''), 'age', extract(epoch FROM clock_timestamp() - xact_start)) AS t
 FROM pg_catalog.pg_stat_activity
 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '%d milliseconds'
 ORDER BY xact_start LIMIT 5) AS oldest`, least.Milliseconds())
}

// readsplit asks what readsplit will ask, as the same user: what a role may not do
// shows now, and not when the application starts.
func (f *facts) readsplit(ctx context.Context) {
	try := func(what, query string) string {
		text, err := ask(ctx, f.conn, f.timeout, query)
		if err != nil {
			f.refuse(what, err, true)
		}
		return text
	}
	if text := try("the sample of a server", lsn.FullSQL); text != "" {
		s, err := lsn.ParseSample(text)
		if err != nil {
			f.refuse("the sample of a server", err, true)
		}
		f.sample = s
	}
	if f.primary {
		try("who the primary is", lsn.RoleSQL)
		if !f.about.Recovery {
			try("the capture of a position", lsn.CaptureSQL)
		}
		f.catalogue(ctx)
		return
	}
	if f.about.Recovery {
		try("the replay position", lsn.ReplaySQL)
	}
	// It makes the connection read-only, which must not stay on one that a pooler
	// hands to somebody else.
	try("what a new connection asks", "BEGIN; "+lsn.ConnectSQL+"; ROLLBACK")
}

// catalogue loads the catalogue as readsplit does, to see that the user may.
func (f *facts) catalogue(ctx context.Context) {
	if f.about.Recovery {
		return // it must be the primary's
	}
	cfg := f.cfg.Copy()
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	db := stdlib.OpenDB(*cfg)
	defer func() { _ = db.Close() }() // nothing was written
	failed := make(chan error, 1)
	c, err := catalog.New(catalog.Config{DB: db, Timeout: f.timeout, Every: -1, OnError: func(err error) {
		select {
		case failed <- err:
		default:
		}
	}})
	if err != nil {
		f.refuse("the catalogue", err, true)
		return
	}
	defer c.Close()
	c.Start()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	loaded := make(chan error, 1)
	go func() { loaded <- c.Wait(ctx) }()
	select {
	case err = <-failed:
		cancel()
		<-loaded
	case err = <-loaded:
	}
	if err != nil {
		f.refuse("the catalogue", err, true)
	}
}
