package testenv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inForce asserts from the server that a fault of this kind is in force.
func inForce(t *testing.T, s *Server, kind faultKind) {
	t.Helper()
	switch kind {
	case paused:
		state := one[string](t, s, "SELECT pg_get_wal_replay_pause_state()")
		if state == "pause requested" && s.under(delayed) {
			state = "paused" // it waits for the delay of a commit to pass, and says so only then
		}
		require.Equal(t, "paused", state)
	case delayed:
		require.NotEqual(t, "0", one[string](t, s, "SHOW recovery_min_apply_delay"))
	case cut:
		require.Equal(t, 0, one[int](t, s, "SELECT count(*) FROM pg_stat_wal_receiver"))
	case promoted:
		require.False(t, one[bool](t, s, "SELECT pg_is_in_recovery()"))
	case frozen:
		silent(t, s)
		members := living(t, s)
		require.NotEmpty(t, members)
		for _, p := range members {
			require.True(t, p.stopped(), "process %d is in state %c", p.pid, p.state)
		}
	case stopped, killed:
		refused(t, s)
		require.Empty(t, living(t, s))
	default:
		t.Fatalf("no server shows that %s is in force", kind)
	}
}

func inject(s *Server, kind faultKind) func(context.Context) (Undo, error) {
	switch kind {
	case paused:
		return s.PauseReplay
	case delayed:
		return func(ctx context.Context) (Undo, error) { return s.Delay(ctx, time.Hour) }
	case cut:
		return s.Cut
	case promoted:
		return s.Promote
	case frozen:
		return s.Freeze
	case stopped:
		return s.Stop
	case killed:
		return s.Kill
	case crashed:
		return s.CrashBackend
	}
	panic("unknown fault " + string(kind))
}

// Two faults on one server, undone in both orders: while the second is in force alone the server
// shows exactly that, and at the end it is whole.
func TestTwoFaultsUndoneInAnyOrder(t *testing.T) {
	c := whole(t)
	r := c.Replica(0)
	// A server that is down or frozen shows nothing else.
	dark := map[faultKind]bool{stopped: true, killed: true, frozen: true}
	for n, pair := range [][2]faultKind{
		{paused, paused}, {paused, cut}, {paused, delayed}, {paused, frozen}, {paused, killed}, {paused, promoted},
		{cut, frozen}, {cut, killed}, {delayed, stopped}, {frozen, stopped}, {frozen, killed}, {stopped, cut},
		{stopped, killed}, {promoted, cut}, {promoted, frozen}, {promoted, killed}, {crashed, paused}, {paused, crashed},
	} {
		for order := range 2 {
			if testing.Short() && n%2 != order {
				continue // each pair in one order
			}
			t.Run(fmt.Sprintf("%s and %s order %d", pair[0], pair[1], order), func(t *testing.T) {
				t.Cleanup(func() { require.NoError(t, c.UndoAll()) }) // of a run that failed halfway
				name := table(t, c)
				var undos [2]Undo
				var err error
				for i, kind := range pair {
					undos[i], err = inject(r, kind)(limit(t))
					require.NoError(t, err)
				}
				require.Len(t, r.Faults(), 2)
				require.NoError(t, undos[order]())
				require.NoError(t, undos[order]())
				left := pair[1-order]
				if left == crashed {
					require.NoError(t, r.awaitAnswer(limit(t)))
				} else {
					inForce(t, r, left)
				}
				if !dark[left] && left != promoted {
					assert.True(t, one[bool](t, r, "SELECT pg_is_in_recovery()"))
				}
				require.NoError(t, undos[1-order]())
				require.NoError(t, undos[1-order]())
				require.Empty(t, r.Faults())
				run(t, c.Primary(), "INSERT INTO "+name+" VALUES (1)")
				require.NoError(t, c.WaitCaughtUp(limit(t)))
				assert.Equal(t, 1, count(t, r, name))
				assert.Equal(t, "not paused", one[string](t, r, "SELECT pg_get_wal_replay_pause_state()"))
				assert.Equal(t, "0", one[string](t, r, "SHOW recovery_min_apply_delay"))
			})
		}
	}
}

// A fault that makes no sense is an error that says why, and nothing has changed.
func TestFaultsThatCannotBe(t *testing.T) {
	c := whole(t)
	r := c.Replica(0)
	unfit := func(do func(context.Context) (Undo, error), why string) {
		t.Helper()
		undo, err := do(limit(t))
		require.ErrorIs(t, err, errUnfit)
		require.ErrorContains(t, err, why)
		require.Nil(t, undo)
	}
	for _, kind := range []faultKind{paused, delayed, cut, promoted} {
		unfit(inject(c.Primary(), kind), "it is the primary")
	}
	unfit(func(ctx context.Context) (Undo, error) { return c.Primary().LagNetwork(ctx, time.Second) }, "it is the primary")
	unfit(func(ctx context.Context) (Undo, error) { return r.LagNetwork(ctx, 0) }, "must be positive")
	unfit(func(ctx context.Context) (Undo, error) { return r.Delay(ctx, time.Microsecond) }, "at least 1ms")
	unfit(func(ctx context.Context) (Undo, error) { return r.Follow(ctx, r) }, "would follow itself")
	unfit(func(ctx context.Context) (Undo, error) { return r.Follow(ctx, nil) }, "same cluster")
	assert.Empty(t, c.Primary().Faults())
	assert.Empty(t, r.Faults())

	undo, err := r.Freeze(limit(t))
	require.NoError(t, err)
	for _, kind := range []faultKind{paused, delayed, promoted, crashed} {
		unfit(inject(r, kind), "it is frozen; undo that first")
	}
	inForce(t, r, frozen)
	require.NoError(t, undo())

	undo, err = r.Stop(limit(t))
	require.NoError(t, err)
	for _, kind := range []faultKind{paused, delayed, promoted, crashed, frozen} {
		unfit(inject(r, kind), "it is down; undo that first")
	}
	require.NoError(t, undo())

	undo, err = r.Promote(limit(t))
	require.NoError(t, err)
	for _, kind := range []faultKind{paused, delayed} {
		unfit(inject(r, kind), "it was promoted; undo that first")
	}
	require.NoError(t, undo())
}

func TestUndoAllEndsEverything(t *testing.T) {
	c := whole(t)
	for _, do := range []func(context.Context) (Undo, error){
		c.Primary().Stop, c.Replica(0).PauseReplay, c.Replica(0).Freeze, c.Replica(1).Promote, c.Replica(1).Kill,
	} {
		_, err := do(limit(t))
		require.NoError(t, err)
	}
	assert.Equal(t, "replica1 (replay paused, frozen)", c.Replica(0).String())
	assert.Equal(t, []string{"promoted", "killed"}, c.Replica(1).Faults())
	require.NoError(t, c.UndoAll())
	require.NoError(t, c.UndoAll())
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	for _, s := range c.Servers() {
		assert.Equal(t, s.Name(), s.String())
		assert.Equal(t, s != c.Primary(), one[bool](t, s, "SELECT pg_is_in_recovery()"))
	}
}

// Faults from several goroutines, on the same servers: each lasts until its own undo.
func TestFaultsAtTheSameTime(t *testing.T) {
	c := whole(t)
	var all sync.WaitGroup
	for _, kind := range []faultKind{paused, cut, killed, stopped, frozen, crashed, delayed} {
		for _, s := range c.Replicas() {
			all.Go(func() {
				undo, err := inject(s, kind)(limit(t))
				if errors.Is(err, errUnfit) {
					return // another one was there first
				}
				assert.NoError(t, err)
				assert.NoError(t, undo())
			})
		}
	}
	all.Wait()
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	for _, s := range c.Replicas() {
		assert.Empty(t, s.Faults())
	}
}

func TestUndoTriesAgainWhatFailed(t *testing.T) {
	c := whole(t)
	r := c.Replica(0)
	undo, err := r.Stop(limit(t))
	require.NoError(t, err)
	program := c.install.dir
	c.install.dir = "/nowhere"
	require.ErrorContains(t, undo(), "no such file")
	c.install.dir = program
	refused(t, r)
	require.NoError(t, undo())
	assert.Equal(t, "replica1", one[string](t, r, "SHOW cluster_name"))
}
