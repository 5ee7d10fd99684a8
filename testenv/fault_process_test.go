package testenv

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFreeze(t *testing.T) {
	c := whole(t)
	for _, s := range []*Server{c.Replica(0), c.Primary()} {
		t.Run(s.Name(), func(t *testing.T) {
			conn, err := pgx.Connect(limit(t), s.DSN())
			require.NoError(t, err)
			defer conn.Close(context.Background())
			undo, err := s.Freeze(limit(t))
			require.NoError(t, err)
			inForce(t, s, frozen)
			require.NoError(t, undo())
			require.NoError(t, undo())
			var answer int
			require.NoError(t, conn.QueryRow(limit(t), "SELECT 1").Scan(&answer), "connections survive")
			require.NoError(t, c.WaitCaughtUp(limit(t)))
		})
	}
}

func TestStopAndKill(t *testing.T) {
	c := whole(t)
	for _, s := range []*Server{c.Replica(0), c.Primary()} {
		for _, fault := range []struct {
			kind faultKind
			do   func(context.Context) (Undo, error)
			log  string // what a server says at its next start of how its last life ended
		}{{stopped, s.Stop, "was shut down"}, {killed, s.Kill, "was interrupted"}} {
			t.Run(s.Name()+" "+string(fault.kind), func(t *testing.T) {
				name := table(t, c)
				port, born := s.Port(), one[time.Time](t, s, "SELECT pg_postmaster_start_time()")
				run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
				require.NoError(t, c.WaitCaughtUp(limit(t)))
				var pids []int
				for _, p := range living(t, s) {
					pids = append(pids, p.pid)
				}
				require.NotEmpty(t, pids)
				undo, err := fault.do(limit(t))
				require.NoError(t, err)
				inForce(t, s, fault.kind)
				require.Empty(t, alive(t, pids))
				logged, err := os.Stat(s.LogFile())
				require.NoError(t, err)

				require.NoError(t, undo())
				require.NoError(t, undo())
				assert.Equal(t, port, s.Port())
				assert.True(t, one[time.Time](t, s, "SELECT pg_postmaster_start_time()").After(born))
				assert.Equal(t, 1, count(t, s, name))
				assert.Equal(t, 2, one[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"))
				log, err := os.ReadFile(s.LogFile())
				require.NoError(t, err)
				assert.Contains(t, string(log[logged.Size():]), fault.log)
			})
		}
	}
}

func TestCrashBackend(t *testing.T) {
	c := whole(t)
	for _, s := range []*Server{c.Replica(0), c.Primary()} {
		t.Run(s.Name(), func(t *testing.T) {
			postmaster, born := s.lockFile()[0], one[time.Time](t, s, "SELECT pg_postmaster_start_time()")
			conn, err := pgx.Connect(limit(t), s.DSN())
			require.NoError(t, err)
			defer conn.Close(context.Background())
			undo, err := s.CrashBackend(limit(t))
			require.NoError(t, err)
			eventually(t, "every connection to be broken, one after the other", func() bool {
				_, err := conn.Exec(limit(t), "SELECT 1")
				return err != nil
			})
			require.NoError(t, undo())
			require.NoError(t, undo())
			assert.Equal(t, born, one[time.Time](t, s, "SELECT pg_postmaster_start_time()"), "the postmaster is the same")
			assert.Equal(t, postmaster, s.lockFile()[0])
			assert.Equal(t, 2, one[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"))
			require.NoError(t, c.WaitCaughtUp(limit(t)))
		})
	}
}

// The recipe of CrashBackend's comment: a delay that begins before the crash holds the replica in
// the older state into which the crash throws it.
func TestCrashedReplicaIsHeldInAnOlderState(t *testing.T) {
	c := whole(t)
	name := table(t, c)
	r := c.Replica(0)
	run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	require.Equal(t, 1, count(t, r, name))

	delay, err := r.Delay(limit(t), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 1, count(t, r, name), "what was applied stays")
	crash, err := r.CrashBackend(limit(t))
	require.NoError(t, err)
	require.NoError(t, crash())
	assert.Equal(t, 0, one[int](t, r, "SELECT count(*) FROM pg_class WHERE relname = '"+name+"'"), "even the table is not there yet")
	require.NoError(t, delay())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	assert.Equal(t, 1, count(t, r, name))
}

// Somebody may listen on the port of a server that is down; it takes its own port all the same,
// as soon as it can.
func TestRestartWaitsForItsPort(t *testing.T) {
	c := whole(t)
	r, port := c.Replica(0), c.Replica(0).Port()
	undo, err := r.Stop(limit(t))
	require.NoError(t, err)
	release := occupy(t, port)
	logged, err := os.Stat(r.LogFile())
	require.NoError(t, err)
	undone := make(chan error, 1)
	go func() { undone <- undo() }()
	eventually(t, "the server finds its port taken", func() bool {
		log, err := os.ReadFile(r.LogFile())
		return err == nil && strings.Contains(string(log[logged.Size():]), "Address already in use")
	})
	release()
	require.NoError(t, <-undone)
	assert.Equal(t, port, r.Port())
	assert.Equal(t, "replica1", one[string](t, r, "SHOW cluster_name"))
}
