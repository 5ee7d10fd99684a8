package lsn_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

// plainRole has no grant and no membership: what it can read, everybody can.
const (
	plainRole     = "plain"
	plainPassword = "only-in-a-test"
)

func addPlainRole(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	_, err := c.Primary().DB().ExecContext(t.Context(), "CREATE ROLE "+plainRole+" LOGIN PASSWORD '"+plainPassword+"'")
	require.NoError(t, err)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
}

// connect opens one connection of its own; options are further words of the DSN.
func connect(t *testing.T, s *testenv.Server, options string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("pgx", s.DSN()+" "+options)
	require.NoError(t, err)
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = conn.Close()
		require.NoError(t, db.Close())
	})
	return conn
}

const asPlain = "user=" + plainRole + " password=" + plainPassword

type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func value[T any](t *testing.T, on asker, query string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, on.QueryRowContext(t.Context(), query, args...).Scan(&v), query)
	return v
}

func lsnOf(t *testing.T, on asker, query string) lsn.LSN {
	t.Helper()
	l, err := lsn.ParseLSN(value[string](t, on, "SELECT ("+query+")::text"))
	require.NoError(t, err)
	return l
}

func sampleOf(t *testing.T, on asker) lsn.Sample {
	t.Helper()
	s, err := lsn.ParseSample(value[string](t, on, lsn.FullSQL))
	require.NoError(t, err)
	return s
}

func captureOf(t *testing.T, on asker) lsn.Capture {
	t.Helper()
	c, err := lsn.ParseCapture(value[string](t, on, lsn.CaptureSQL), 8192, 16<<20)
	require.NoError(t, err)
	return c
}

func replayOf(t *testing.T, on asker) (lsn.LSN, bool) {
	t.Helper()
	l, standby, err := lsn.ParseReplay(value[string](t, on, lsn.ReplaySQL))
	require.NoError(t, err)
	return l, standby
}

// until asks again and again, for at most a minute, and reports how long it took.
func until(t *testing.T, what string, done func() bool) time.Duration {
	t.Helper()
	began := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		require.Less(t, time.Since(began), time.Minute, what)
		<-tick.C
	}
	return time.Since(began)
}

func TestQueriesOnRealServers(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(1))
	addPlainRole(t, c)
	for role, options := range map[string]string{"superuser": "", "ordinary role": asPlain} {
		t.Run(role, func(t *testing.T) {
			t.Run("primary", func(t *testing.T) { checkPrimary(t, c.Primary(), options) })
			t.Run("standby", func(t *testing.T) { checkStandby(t, c, options) })
			t.Run("new connection", func(t *testing.T) { checkConnect(t, c, options) })
			t.Run("conflicts", func(t *testing.T) { checkConflicts(t, c, options) })
			t.Run("nudge", func(t *testing.T) { checkNudge(t, c, options) })
		})
	}
}

// checkServer compares what is the same on a primary and on a standby with what
// the server says when it is asked for each thing alone.
func checkServer(t *testing.T, s *testenv.Server, conn *sql.Conn, got lsn.Sample) {
	t.Helper()
	assert.Equal(t, uint64(value[int64](t, conn, "SELECT system_identifier FROM pg_control_system()")), got.System)
	assert.Equal(t, value[time.Time](t, conn, "SELECT pg_postmaster_start_time()").UnixMicro(), got.Started)
	assert.Equal(t, "127.0.0.1", got.Addr)
	assert.Equal(t, s.Port(), got.Port)
	assert.Equal(t, value[int](t, conn, "SELECT pg_backend_pid()"), got.BackendPID)
	assert.Equal(t, s.Name(), got.ClusterName)
	version, err := strconv.Atoi(value[string](t, conn, "SHOW server_version_num"))
	require.NoError(t, err)
	assert.Equal(t, version, got.Version)
	assert.Equal(t, uint64(8192), got.BlockSize)
	assert.Equal(t, uint64(16<<20), got.SegmentSize)
	assert.Equal(t, 200*time.Millisecond, got.WalWriterDelay)
	assert.False(t, got.AsyncCommit)
	assert.Equal(t, uint32(1), got.ControlTimeline)
}

func checkPrimary(t *testing.T, s *testenv.Server, options string) {
	conn := connect(t, s, options)
	flush, insert := lsnOf(t, conn, "pg_current_wal_flush_lsn()"), lsnOf(t, conn, "pg_current_wal_insert_lsn()")
	got := sampleOf(t, conn)
	captured := captureOf(t, conn)
	flushAfter, insertAfter := lsnOf(t, conn, "pg_current_wal_flush_lsn()"), lsnOf(t, conn, "pg_current_wal_insert_lsn()")

	checkServer(t, s, conn, got)
	assert.False(t, got.InRecovery)
	assert.False(t, got.Paused)
	assert.Zero(t, got.Replay)
	assert.Zero(t, got.Receive)
	assert.Zero(t, got.ReceivedTimeline)
	assert.Equal(t, uint32(1), got.Timeline)
	ascending(t, flush, got.Flush, captured.Flush, flushAfter)
	ascending(t, insert.RecordEnd(8192, 16<<20), got.Insert, captured.Insert, insertAfter)
	assert.LessOrEqual(t, got.Flush, got.Insert)
	assert.LessOrEqual(t, captured.Flush, captured.Insert)
	assert.False(t, captured.AsyncCommit)

	_, standby := replayOf(t, conn)
	assert.False(t, standby)
	assert.Equal(t, lsn.History{System: got.System, Timeline: 1, Incarnation: got.Started}, got.History())
}

func ascending(t *testing.T, positions ...lsn.LSN) {
	t.Helper()
	for i := 1; i < len(positions); i++ {
		assert.LessOrEqual(t, positions[i-1], positions[i])
	}
}

func checkStandby(t *testing.T, c *testenv.Cluster, options string) {
	s := c.Replica(0)
	conn := connect(t, s, options)
	replay, receive := lsnOf(t, conn, "pg_last_wal_replay_lsn()"), lsnOf(t, conn, "pg_last_wal_receive_lsn()")
	got := sampleOf(t, conn)
	alone, standby := replayOf(t, conn)
	replayAfter, receiveAfter := lsnOf(t, conn, "pg_last_wal_replay_lsn()"), lsnOf(t, conn, "pg_last_wal_receive_lsn()")

	checkServer(t, s, conn, got)
	assert.Equal(t, sampleOf(t, connect(t, c.Primary(), options)).System, got.System)
	assert.True(t, got.InRecovery)
	assert.True(t, standby)
	ascending(t, replay, got.Replay, alone, replayAfter)
	ascending(t, receive, got.Receive, receiveAfter)
	assert.Positive(t, got.Replay)
	assert.Zero(t, got.Flush)
	assert.Zero(t, got.Insert)
	assert.Zero(t, got.Timeline)
	wantTimeline := uint32(0) // hidden, and no error
	if options == "" {
		wantTimeline = 1
	}
	assert.Equal(t, wantTimeline, got.ReceivedTimeline)

	_, err := conn.ExecContext(t.Context(), lsn.CaptureSQL)
	assert.ErrorContains(t, err, "recovery is in progress")

	undo, err := s.PauseReplay(t.Context())
	require.NoError(t, err)
	assert.False(t, got.Paused)
	assert.True(t, sampleOf(t, conn).Paused)
	require.NoError(t, undo())
	assert.False(t, sampleOf(t, conn).Paused)

	// Cut off, it streams nothing, whoever asks.
	undo, err = s.Cut(t.Context())
	require.NoError(t, err)
	assert.Zero(t, sampleOf(t, conn).ReceivedTimeline)
	assert.Equal(t, uint32(1), sampleOf(t, conn).ControlTimeline)
	require.NoError(t, undo())
}

func checkConnect(t *testing.T, c *testenv.Cluster, options string) {
	for _, s := range c.Servers() {
		conn := connect(t, s, options)
		got, err := lsn.ParseConnect(value[string](t, conn, lsn.ConnectSQL))
		require.NoError(t, err)
		full := sampleOf(t, conn)
		assert.Equal(t, full.Server, got.Server)
		assert.Equal(t, full.InRecovery, got.InRecovery)
		assert.Equal(t, s != c.Primary(), got.InRecovery)
		assert.LessOrEqual(t, got.Replay, full.Replay)
		assert.Equal(t, got.InRecovery, got.Replay > 0)

		// The connection refuses writes, on the primary too, and stays so.
		assert.Equal(t, "on", value[string](t, conn, "SHOW default_transaction_read_only"))
		_, err = conn.ExecContext(t.Context(), "CREATE TABLE refused (n int)")
		require.ErrorContains(t, err, "SQLSTATE 25006")
		other := connect(t, s, options)
		assert.Equal(t, "off", value[string](t, other, "SHOW default_transaction_read_only"), "other connections are left alone")
	}
}

func checkNudge(t *testing.T, c *testenv.Cluster, options string) {
	conn := connect(t, c.Primary(), options)
	before := captureOf(t, conn)
	said := lsnOf(t, conn, "SELECT x::pg_lsn FROM ("+lsn.NudgeSQL+") AS n(x)")
	after := captureOf(t, conn)
	assert.GreaterOrEqual(t, said, before.Insert)
	assert.GreaterOrEqual(t, after.Flush, said, "it was flushed")
	assert.Greater(t, after.Flush, before.Flush)
	assert.Less(t, after.Insert-before.Insert, lsn.LSN(2048), "a nudge is small")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	replay, _ := replayOf(t, c.Replica(0).DB())
	assert.GreaterOrEqual(t, replay, said)

	_, err := connect(t, c.Replica(0), options).ExecContext(t.Context(), lsn.NudgeSQL)
	assert.Error(t, err)
}

func TestPromotionShowsAtOnce(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(2))
	addPlainRole(t, c)
	loser, winner, follower := c.Primary(), c.Replica(0), c.Replica(1)
	before := sampleOf(t, connect(t, winner, asPlain))
	open := connect(t, winner, asPlain) // survives the promotion

	_, err := winner.Promote(t.Context())
	require.NoError(t, err)
	for name, conn := range map[string]*sql.Conn{"old connection": open, "new connection": connect(t, winner, asPlain)} {
		got := sampleOf(t, conn)
		assert.False(t, got.InRecovery, name)
		assert.Equal(t, uint32(2), got.Timeline, name)
		assert.Equal(t, before.Server, got.Server, "%s: the same run", name)
		assert.Equal(t, lsn.History{System: before.System, Timeline: 2, Incarnation: before.Started}, got.History(), name)
		assert.Positive(t, got.Flush, name)
		_, standby := replayOf(t, conn)
		assert.False(t, standby, name)
	}
	left := sampleOf(t, connect(t, loser, asPlain))
	assert.Equal(t, uint32(1), left.Timeline, "the loser goes on")
	assert.Equal(t, before.System, left.System)
	assert.Equal(t, uint32(1), sampleOf(t, follower.DB()).ReceivedTimeline, "so does its standby")

	_, err = follower.Follow(t.Context(), winner)
	require.NoError(t, err)
	// Until it has fetched the end of timeline 1 it says 1, which proves nothing for
	// the winner; its control file will say so for minutes.
	took := until(t, "the new timeline", func() bool { return sampleOf(t, follower.DB()).ReceivedTimeline == 2 })
	assert.Less(t, took, 10*time.Second)
	assert.Equal(t, uint32(1), sampleOf(t, follower.DB()).ControlTimeline)
	assert.Zero(t, sampleOf(t, connect(t, follower, asPlain)).ReceivedTimeline)
}
