package lsn_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv"
)

func TestAsyncCommitIsSeen(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(0))
	addPlainRole(t, c)
	admin := c.Primary().DB()
	run := func(query string) {
		t.Helper()
		_, err := admin.ExecContext(t.Context(), query)
		require.NoError(t, err, query)
	}
	watcher := connect(t, c.Primary(), asPlain)
	check := func(want bool, why string) {
		t.Helper()
		assert.Equal(t, want, sampleOf(t, watcher).AsyncCommit, "sample: %s", why)
		assert.Equal(t, want, captureOf(t, watcher).AsyncCommit, "capture: %s", why)
	}
	check(false, "at first")

	// Defaults for other roles and databases count: their sessions share the log.
	run("CREATE ROLE other")
	run("CREATE DATABASE elsewhere")
	for _, owner := range []string{"ROLE other", "ROLE " + plainRole, "DATABASE postgres", "DATABASE elsewhere", "ROLE other IN DATABASE elsewhere", "ROLE ALL"} {
		for _, word := range []string{"off", "OFF", "false", "no", "0"} {
			run("ALTER " + owner + " SET synchronous_commit = '" + word + "'")
			check(true, owner+" "+word)
		}
		for _, word := range []string{"on", "local", "remote_write", "remote_apply"} {
			run("ALTER " + owner + " SET synchronous_commit = '" + word + "'")
			check(false, owner+" "+word)
		}
		run("ALTER " + owner + " SET work_mem = '8MB'")
		run("ALTER " + owner + " SET synchronous_commit = off")
		check(true, owner+" among others")
		run("ALTER " + owner + " RESET synchronous_commit")
		check(false, owner+" reset")
	}
	run("ALTER ROLE other SET SYNCHRONOUS_COMMIT TO Off")
	check(true, "upper case")
	run("ALTER ROLE other RESET ALL")

	// A function that mentions the setting, whatever for, may commit so for whoever
	// calls it. Only the full sample looks for such functions.
	for _, definition := range []string{
		"LANGUAGE sql SET synchronous_commit = 'off' AS 'SELECT 1'",
		"LANGUAGE sql AS $$ SELECT length(set_config('Synchronous_Commit', 'off', true)) $$",
		"LANGUAGE plpgsql AS $$ BEGIN SET LOCAL synchronous_commit TO OFF; RETURN 1; END $$",
	} {
		run("CREATE OR REPLACE FUNCTION quick() RETURNS int " + definition)
		assert.True(t, sampleOf(t, watcher).AsyncCommit, definition)
		run("CREATE OR REPLACE FUNCTION quick() RETURNS int LANGUAGE sql SET work_mem = '8MB' AS 'SELECT 1'")
		check(false, "a function that does not")
	}

	run("ALTER SYSTEM SET synchronous_commit = off")
	run("SELECT pg_reload_conf()")
	until(t, "the reload", func() bool { return captureOf(t, watcher).AsyncCommit })
	check(true, "postgresql.conf")
	run("ALTER SYSTEM RESET synchronous_commit")
	run("SELECT pg_reload_conf()")
	until(t, "the reload", func() bool { return !captureOf(t, watcher).AsyncCommit })

	for _, option := range []string{"options='-c synchronous_commit=off'", "synchronous_commit=off"} {
		conn := connect(t, c.Primary(), asPlain+" "+option)
		assert.True(t, captureOf(t, conn).AsyncCommit, option)
		assert.True(t, sampleOf(t, conn).AsyncCommit, option)
	}
	check(false, "another connection's DSN option")
}

// TestFlushIsNoPositionOfAnAsynchronousCommit shows why a capture has two
// positions: the flushed one does not reach a commit that was acknowledged
// before it was flushed, the inserted one does, and for a synchronous commit
// both do.
func TestFlushIsNoPositionOfAnAsynchronousCommit(t *testing.T) {
	// The WAL writer would flush the commit before the capture could show it.
	c := testenv.Start(t, testenv.Replicas(0), testenv.Setting("wal_writer_delay", "10s"), testenv.Setting("wal_writer_flush_after", "1GB"))
	conn := connect(t, c.Primary(), "")
	exec := func(query string) {
		t.Helper()
		_, err := conn.ExecContext(t.Context(), query)
		require.NoError(t, err, query)
	}
	assert.Equal(t, 10*time.Second, sampleOf(t, conn).WalWriterDelay)
	exec("CREATE TABLE orders (id int)")
	commit := func() (inside lsn.LSN, after lsn.Capture) {
		t.Helper()
		exec("BEGIN")
		exec("INSERT INTO orders VALUES (1)")
		// The commit record will end beyond this.
		inside = lsnOf(t, conn, "pg_current_wal_insert_lsn()")
		exec("COMMIT")
		return inside, captureOf(t, conn)
	}

	const rounds = 50
	missed := 0
	exec("SET synchronous_commit = off")
	for range rounds {
		inside, after := commit()
		require.True(t, after.AsyncCommit)
		require.Greater(t, after.Insert, inside, "the insert position covers the commit")
		if after.Flush <= inside {
			missed++
		}
	}
	// Another process may flush in between, now and then.
	assert.GreaterOrEqual(t, missed, rounds-5, "the flush position must have been short of these commits")

	exec("SET synchronous_commit = on")
	for range rounds {
		inside, after := commit()
		require.False(t, after.AsyncCommit)
		require.Greater(t, after.Flush, inside, "a synchronous commit is covered by the flush position")
		require.Greater(t, after.Insert, inside)
	}
}

// TestCaptureAfterCommitCoversIt is rule R1 on a real standby: whoever has
// replayed a position that was captured after the acknowledgement shows the row.
func TestCaptureAfterCommitCoversIt(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(1))
	_, err := c.Primary().DB().ExecContext(t.Context(), "CREATE TABLE orders (id int PRIMARY KEY, note text)")
	require.NoError(t, err)
	require.NoError(t, c.WaitCaughtUp(t.Context()))

	const writers = 4
	each := 100
	if testing.Short() {
		each = 25
	}
	results := make(chan error, writers)
	for w := range writers {
		writer, capturer, replica := connect(t, c.Primary(), ""), connect(t, c.Primary(), ""), connect(t, c.Replica(0), "")
		go func() {
			for i := range each {
				if err := writeAndRead(t.Context(), writer, capturer, replica, w*each+i, i%2 == 0); err != nil {
					results <- fmt.Errorf("writer %d, row %d: %w", w, i, err)
					return
				}
			}
			results <- nil
		}()
	}
	for range writers {
		assert.NoError(t, <-results)
	}
	assert.Equal(t, writers*each, value[int](t, c.Primary().DB(), "SELECT count(*) FROM orders"))
}

func writeAndRead(ctx context.Context, writer, capturer, replica *sql.Conn, id int, async bool) error {
	setting := "on"
	if async {
		setting = "off"
	}
	if _, err := writer.ExecContext(ctx, "SET synchronous_commit = "+setting); err != nil {
		return err
	}
	if _, err := writer.ExecContext(ctx, "INSERT INTO orders VALUES ($1, repeat('x', $1 % 500))", id); err != nil {
		return err
	}
	// On another connection, and only after the acknowledgement.
	var text string
	if err := capturer.QueryRowContext(ctx, lsn.CaptureSQL).Scan(&text); err != nil {
		return err
	}
	captured, err := lsn.ParseCapture(text, 8192, 16<<20)
	if err != nil {
		return err
	}
	need := captured.Flush
	if async {
		need = captured.Insert
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if err := replica.QueryRowContext(ctx, lsn.ReplaySQL).Scan(&text); err != nil {
			return err
		}
		replay, _, err := lsn.ParseReplay(text)
		if err != nil {
			return err
		}
		if replay >= need {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("replay is at %v, and %v was not reached in a minute", replay, need)
		}
	}
	var n int
	if err := replica.QueryRowContext(ctx, "SELECT count(*) FROM orders WHERE id = $1", id).Scan(&n); err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("the replica has replayed %v and lacks the row (async %v)", need, async)
	}
	return nil
}

// TestPageEdge is rule R2's correction: a commit record that ends on a page end
// leaves an insert position that no standby reaches before somebody writes again.
func TestPageEdge(t *testing.T) {
	c := testenv.Start(t, testenv.Replicas(1), testenv.Setting("autovacuum", "off"))
	primary, standby := connect(t, c.Primary(), ""), connect(t, c.Replica(0), "")
	insert := func() lsn.LSN { return lsnOf(t, primary, "pg_current_wal_insert_lsn()") }
	_, err := primary.ExecContext(t.Context(), "CREATE TABLE orders (id int, note text)")
	require.NoError(t, err)

	id := 0
	write := func(padding int) {
		id++
		_, err := primary.ExecContext(t.Context(), "INSERT INTO orders VALUES ($1, $2)", id, strings.Repeat("x", padding))
		require.NoError(t, err)
	}
	rests := func(raw, corrected lsn.LSN) bool {
		until(t, fmt.Sprintf("replay of %v", corrected), func() bool {
			replay, _ := replayOf(t, standby)
			return replay >= corrected
		})
		for range 200 {
			replay, _ := replayOf(t, standby)
			if replay != corrected {
				require.NotEqual(t, raw, insert(), "the standby moved on its own to %v", replay)
				return false // something else wrote: try again
			}
		}
		return insert() == raw
	}

	t.Run("page", func(t *testing.T) {
		const block = 8192
		fixed := 200 // bytes of a row's and its commit's records besides the padding
		for range 5000 {
			left := block - int(insert()%block)
			padding := left - fixed
			if padding < 0 || padding > 1500 {
				write(1000) // towards the next page's end
				continue
			}
			write(padding)
			raw := insert()
			if raw%block != 24 || raw%(16<<20) == 24 {
				// Learn from where it ended: the records' size depends on the page.
				if end := int(raw % block); end > block/2 {
					fixed -= block - end
				} else {
					fixed += end - 24
				}
				fixed = max(fixed, 0)
				continue
			}
			captured := captureOf(t, primary)
			require.Equal(t, raw-24, captured.Insert)
			require.Equal(t, raw-24, captured.Flush, "the commit was flushed up to its end")
			if !rests(raw, raw-24) {
				continue
			}
			assert.Equal(t, 1, value[int](t, standby, "SELECT count(*) FROM orders WHERE id = $1", id), "the row is there")
			assert.Equal(t, raw-24, sampleOf(t, primary).Insert)
			return
		}
		t.Fatal("no record ended on a page end")
	})

	t.Run("segment", func(t *testing.T) {
		const segment = 16 << 20
		for range 20 {
			write(10)
			_, err := primary.ExecContext(t.Context(), "SELECT pg_switch_wal()")
			require.NoError(t, err)
			raw := insert()
			if raw%segment != 40 {
				continue
			}
			captured := captureOf(t, primary)
			require.Equal(t, raw-40, captured.Insert)
			if !rests(raw, raw-40) {
				continue
			}
			assert.Equal(t, 1, value[int](t, standby, "SELECT count(*) FROM orders WHERE id = $1", id))
			assert.Equal(t, raw-40, sampleOf(t, primary).Insert)
			assert.Equal(t, uint32(1), sampleOf(t, primary).Timeline)
			return
		}
		t.Fatal("no insert position rested at a segment's start")
	})
}
