package testenv

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReplicasFollowThePrimary(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Len(t, c.Replicas(), 2)
	if want := os.Getenv("READSPLIT_PG"); want != "" {
		assert.Equal(t, want, strconv.Itoa(c.Major()))
	}
	for i, s := range c.Servers() {
		assert.Equal(t, c.Major(), one[int](t, s, "SELECT current_setting('server_version_num')::int / 10000"))
		assert.True(t, strings.HasPrefix(one[string](t, s, "SHOW server_version"), c.Version()))
		assert.Equal(t, []string{"primary", "replica1", "replica2"}[i], s.Name())
		assert.Equal(t, s.Name(), one[string](t, s, "SHOW cluster_name"))
		assert.Equal(t, i > 0, one[bool](t, s, "SELECT pg_is_in_recovery()"))
		assert.Equal(t, 1, count(t, s, name))
		assert.Same(t, s, c.Server(s.Name()))
	}
	assert.Same(t, c.Servers()[2], c.Replica(1))
	assert.Nil(t, c.Server("replica3"))
}

func TestPauseReplay(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	undo, err := r.PauseReplay(limit(t))
	require.NoError(t, err)
	inForce(t, r, paused)

	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	flushed := one[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	eventually(t, "the replica receives", func() bool {
		return one[bool](t, r, "SELECT pg_last_wal_receive_lsn() >= '"+flushed+"'")
	})
	assert.Equal(t, 0, count(t, r, name), "it has received the row and must not show it")
	assert.True(t, one[bool](t, r, "SELECT pg_last_wal_replay_lsn() < '"+flushed+"'"))
	require.NoError(t, c.Replica(1).waitReplayed(limit(t), flushed), "the other replica goes on")
	assert.Equal(t, 1, count(t, c.Replica(1), name))

	require.NoError(t, undo())
	require.NoError(t, undo())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 1, count(t, r, name))
	assert.Equal(t, "not paused", one[string](t, r, "SELECT pg_get_wal_replay_pause_state()"))
}

func TestCut(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	undo, err := r.Cut(limit(t))
	require.NoError(t, err)
	inForce(t, r, cut)

	before := one[string](t, r, "SELECT pg_last_wal_receive_lsn()::text")
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	flushed := one[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	require.NoError(t, c.Replica(1).waitReplayed(limit(t), flushed))
	assert.Equal(t, before, one[string](t, r, "SELECT pg_last_wal_receive_lsn()::text"))
	assert.Equal(t, 0, count(t, r, name), "clients still reach it, in the past")
	assert.Equal(t, 0, one[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'replica1'"))

	require.NoError(t, undo())
	require.NoError(t, undo())
	assert.Equal(t, "streaming", one[string](t, r, "SELECT status FROM pg_stat_wal_receiver"))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 1, count(t, r, name))
}

func TestDelay(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	const d = 400 * time.Millisecond
	undo, err := r.Delay(limit(t), d)
	require.NoError(t, err)
	inForce(t, r, delayed)
	committing := time.Now()
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	eventually(t, "the row", func() bool { return count(t, r, name) == 1 })
	assert.GreaterOrEqual(t, time.Since(committing), d)

	longer, err := r.Delay(limit(t), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, "1h", one[string](t, r, "SHOW recovery_min_apply_delay"))
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (2)")
	require.NoError(t, undo())
	assert.Equal(t, "1h", one[string](t, r, "SHOW recovery_min_apply_delay"), "the other delay still holds")
	assert.Equal(t, 1, count(t, r, name))
	require.NoError(t, longer())
	require.NoError(t, longer())
	assert.Equal(t, "0", one[string](t, r, "SHOW recovery_min_apply_delay"))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 2, count(t, r, name))
}

// A replica that waits for the delay of a commit to pass confirms a pause only afterwards; the
// pause is in force all the same, and outlasts the delay.
func TestPauseWhileADelayHoldsACommit(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	delay, err := r.Delay(limit(t), time.Hour)
	require.NoError(t, err)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	flushed := one[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	eventually(t, "the replica receives", func() bool {
		return one[bool](t, r, "SELECT pg_last_wal_receive_lsn() >= '"+flushed+"'")
	})
	pause, err := r.PauseReplay(limit(t))
	require.NoError(t, err)
	require.NoError(t, delay())
	inForce(t, r, paused)
	assert.Equal(t, 0, count(t, r, name))
	require.NoError(t, pause())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 1, count(t, r, name))
}

func TestLagNetwork(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	receiver := one[int](t, r, "SELECT pid FROM pg_stat_wal_receiver")
	const d = 300 * time.Millisecond
	undo, err := r.LagNetwork(limit(t), d)
	require.NoError(t, err)
	committing := time.Now()
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	eventually(t, "the row", func() bool { return count(t, r, name) == 1 })
	assert.GreaterOrEqual(t, time.Since(committing), d)
	assert.Equal(t, receiver, one[int](t, r, "SELECT pid FROM pg_stat_wal_receiver"), "the connection stays")

	slower, err := r.LagNetwork(limit(t), time.Hour)
	require.NoError(t, err)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (2)")
	require.NoError(t, slower(), "what is on its way is not held back any longer than the lag that is left")
	require.NoError(t, undo())
	require.NoError(t, undo())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 2, count(t, r, name))
}

func TestPromote(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r, port := c.Replica(0), c.Replica(0).Port()
	timeline := one[string](t, c.Primary(), "SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)")
	undo, err := r.Promote(limit(t))
	require.NoError(t, err)
	inForce(t, r, promoted)
	assert.Greater(t, one[string](t, r, "SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)"), timeline)
	run(t, r, "INSERT INTO "+name+" VALUES (1), (2)")
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (3)")
	assert.Equal(t, 2, count(t, r, name))
	assert.Equal(t, 1, count(t, c.Primary(), name))

	again, err := r.Promote(limit(t))
	require.NoError(t, err)
	require.NoError(t, again())
	inForce(t, r, promoted)

	require.NoError(t, undo())
	require.NoError(t, undo())
	assert.Equal(t, port, r.Port())
	assert.True(t, one[bool](t, r, "SELECT pg_is_in_recovery()"))
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 1, count(t, r, name), "what the promoted server wrote is gone")
	assert.Equal(t, timeline, one[string](t, r, "SELECT lpad(to_hex(received_tli), 8, '0') FROM pg_stat_wal_receiver"))
}

// A promotion can be undone whatever has become of the primary meanwhile.
func TestPromoteUndoneWithoutPrimary(t *testing.T) {
	c := whole(t)
	for _, down := range []struct {
		name string
		do   func(context.Context) (Undo, error)
	}{{"stopped", c.Primary().Stop}, {"killed", c.Primary().Kill}, {"frozen", c.Primary().Freeze}} {
		t.Run(down.name, func(t *testing.T) {
			name := table(t, c)
			run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
			promotion, err := c.Replica(0).Promote(limit(t))
			require.NoError(t, err)
			run(t, c.Replica(0), "INSERT INTO "+name+" VALUES (2)")
			up, err := down.do(limit(t))
			require.NoError(t, err)
			require.NoError(t, promotion())
			assert.True(t, one[bool](t, c.Replica(0), "SELECT pg_is_in_recovery()"))
			assert.Equal(t, 1, count(t, c.Replica(0), name), "it reads what the primary had")
			require.NoError(t, up())
			run(t, c.Primary(), "INSERT INTO "+name+" VALUES (3)")
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			assert.Equal(t, 2, count(t, c.Replica(0), name))
		})
	}
}

func TestFollow(t *testing.T) {
	c := whole(t)
	for _, first := range []string{"promotion undone first", "following undone first"} {
		t.Run(first, func(t *testing.T) {
			t.Cleanup(func() { require.NoError(t, c.UndoAll()) }) // of a run that failed halfway
			name := table(t, c)
			leader, follower := c.Replica(0), c.Replica(1)
			promotion, err := leader.Promote(limit(t))
			require.NoError(t, err)
			following, err := follower.Follow(limit(t), leader)
			require.NoError(t, err)
			assert.Equal(t, 1, one[int](t, leader, "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'replica2'"))
			run(t, leader, "INSERT INTO "+name+" VALUES (1)")
			run(t, c.Primary(), "INSERT INTO "+name+" VALUES (2), (3)")
			eventually(t, "the promoted server's row", func() bool { return count(t, follower, name) == 1 })

			restart, err := follower.Kill(limit(t))
			require.NoError(t, err)
			run(t, leader, "INSERT INTO "+name+" VALUES (4), (5)")
			require.NoError(t, restart())
			eventually(t, "it still follows after a restart", func() bool { return count(t, follower, name) == 3 })

			undos := []Undo{promotion, following}
			if first == "following undone first" {
				undos = []Undo{following, promotion}
			}
			require.NoError(t, undos[0]())
			require.NoError(t, undos[1]())
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			for _, s := range c.Servers() {
				assert.Equal(t, 2, count(t, s, name), s.Name())
			}
			assert.Equal(t, 2, one[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"))
		})
	}
}

// A replica that has more of the primary's history than the promoted server has kept would wait
// for ever; it is built anew, and forgets.
func TestFollowOfAReplicaThatIsPastTheFork(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	leader, follower := c.Replica(0), c.Replica(1)
	_, err := leader.Cut(limit(t))
	require.NoError(t, err)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	eventually(t, "the follower has what the leader has not", func() bool { return count(t, follower, name) == 1 })
	_, err = leader.Promote(limit(t))
	require.NoError(t, err)
	undo, err := follower.Follow(limit(t), leader)
	require.NoError(t, err)
	assert.Equal(t, 0, count(t, follower, name))
	run(t, leader, "INSERT INTO "+name+" VALUES (2), (3)")
	eventually(t, "the promoted server's rows", func() bool { return count(t, follower, name) == 2 })
	require.NoError(t, undo())
	eventually(t, "the primary's row", func() bool { return count(t, follower, name) == 1 })
}

func TestCascade(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	middle, end := c.Replica(0), c.Replica(1)
	undo, err := end.Follow(limit(t), middle)
	require.NoError(t, err)
	assert.Equal(t, []string{"follows replica1"}, end.Faults())
	assert.Equal(t, 1, one[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication"))
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	eventually(t, "the row over two steps", func() bool { return count(t, end, name) == 1 })
	_, err = middle.Follow(limit(t), end)
	require.ErrorContains(t, err, "would follow itself")

	heal, err := middle.Cut(limit(t))
	require.NoError(t, err)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (2)")
	flushed := one[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	require.NoError(t, undo())
	require.NoError(t, end.waitReplayed(limit(t), flushed))
	assert.Equal(t, 2, count(t, end, name))
	assert.Equal(t, 1, count(t, middle, name))
	require.NoError(t, heal())
}
