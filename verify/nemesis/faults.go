package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/network"
	"github.com/readsplit/readsplit/verify/workload"
)

// Undo ends a fault.
type Undo func() error

// Env is what there is to be broken.
type Env struct {
	Cluster  *testenv.Cluster
	Database string
	// Address is how clients reach the primary, Replicas how they reach the replicas,
	// by name.
	Address  *network.Address
	Replicas map[string]*network.Address
	// Followed: the clients know every server and find the primary by themselves. In
	// a failover their address is left where it leads.
	Followed bool
	// Rows is how many rows a bulk delete deletes.
	Rows int64
	// Mass is how many rows FillBallast writes.
	Mass int64
	// Operate has operators do something: to the plugin of one process, from 1 on, or
	// of all (0). It returns when that is done.
	Operate func(ctx context.Context, process int, op workload.Operation) error
	// Log tells a person what happened. It may be nil.
	Log func(format string, args ...any)

	moved   atomic.Bool // a name leads elsewhere
	emptied atomic.Bool // mass_delete was done

	// Post is the way that tokens take from one process to another.
	Post *Post
}

// Fault is one way of breaking something.
type Fault struct {
	Name string
	Lane Lane
	// What it is, for a person.
	What string
	// Least and Most bound how long it lasts.
	Least, Most time.Duration
	// Breaks: whoever needs the primary may get an error. Loses: a commit that was
	// not waited for may be gone.
	Breaks, Loses bool

	inject func(ctx context.Context, env *Env, s Step) (Undo, error)
}

const (
	millisecond = time.Millisecond
	second      = time.Second
)

// faults are all there are. What they do is in the files beside this one.
var faults = []Fault{
	{Name: "pause", Lane: Replica, What: "replay is paused", Least: 300 * millisecond, Most: 4 * second, inject: server((*testenv.Server).PauseReplay)},
	{Name: "delay", Lane: Replica, What: "every commit arrives later", Least: second, Most: 4 * second, inject: delay},
	{Name: "cut", Lane: Replica, What: "cut off from the primary", Least: 300 * millisecond, Most: 5 * second, inject: server((*testenv.Server).Cut)},
	{Name: "slow_upstream", Lane: Replica, What: "a slow network to the primary", Least: second, Most: 4 * second, inject: slowUpstream},
	{Name: "freeze", Lane: Replica, What: "all processes stand still", Least: 300 * millisecond, Most: 3 * second, inject: server((*testenv.Server).Freeze)},
	{Name: "kill", Lane: Replica, What: "kill -9 of all processes, and a restart", Least: 300 * millisecond, Most: 2 * second, inject: server((*testenv.Server).Kill)},
	{Name: "stop", Lane: Replica, What: "a clean shutdown, and a restart", Least: 300 * millisecond, Most: 2 * second, inject: server((*testenv.Server).Stop)},
	{Name: "crash_backend", Lane: Replica, What: "kill -9 of one backend", Least: 100 * millisecond, Most: second, inject: server((*testenv.Server).CrashBackend)},
	{Name: "old_state", Lane: Replica, What: "kill -9 of one backend, and the older state stays", Least: second, Most: 3 * second, inject: oldState},
	{Name: "held_crash", Lane: Replica, What: "kill -9 of one backend while new connections wait, which then reach the older state", Least: second, Most: 2 * second, inject: heldCrash},
	{Name: "slow_clients", Lane: Replica, What: "a slow network between the clients and the replica", Least: second, Most: 3 * second, inject: slowClients},
	{Name: "lose_reads", Lane: Replica, What: "answers of the replica are lost on their way", Least: 500 * millisecond, Most: 3 * second, inject: loseReads},
	{Name: "promote", Lane: Replica, What: "promoted behind everybody's back, and written to", Least: second, Most: 3 * second, inject: promote},
	{Name: "lock", Lane: Replica, What: "replay stops while it holds ACCESS EXCLUSIVE on a table", Least: second, Most: 4 * second, inject: lock},
	{Name: "terminate", Lane: Replica, What: "all connections are terminated, again and again", Least: 300 * millisecond, Most: 2 * second, inject: terminate},
	{Name: "full", Lane: Replica, What: "no connection is left", Least: 500 * millisecond, Most: 2 * second, inject: full},

	{Name: "bulk_delete", Lane: Data, What: "many rows are written and deleted", Least: second, Most: 3 * second, inject: bulkDelete},
	{Name: "mass_delete", Lane: Mass, What: "all rows of a large table are deleted in one transaction", Least: second, Most: second, inject: massDelete},
	{Name: "long_transaction", Lane: Data, What: "a transaction is left open", Least: second, Most: 6 * second, inject: longTransaction},
	{Name: "conflict", Lane: Data, What: "VACUUM takes away what readers on replicas look at", Least: second, Most: 4 * second, inject: conflict},

	{Name: "overload", Lane: Primary, What: "the primary is busy with other work", Least: second, Most: 3 * second, inject: overload},
	{Name: "slow_network", Lane: Primary, What: "a slow network between the clients and the primary", Least: second, Most: 4 * second, inject: slowNetwork},
	{Name: "lose_answers", Lane: Primary, What: "answers of the primary are lost on their way", Least: 500 * millisecond, Most: 3 * second, Breaks: true, inject: loseAnswers},
	{Name: "primary_terminate", Lane: Primary, What: "all connections are terminated, again and again", Least: 300 * millisecond, Most: 2 * second, Breaks: true, inject: terminate},
	{Name: "primary_full", Lane: Primary, What: "no connection is left", Least: 500 * millisecond, Most: 2 * second, Breaks: true, inject: full},
	{Name: "primary_freeze", Lane: Primary, What: "all processes stand still", Least: 300 * millisecond, Most: 3 * second, Breaks: true, inject: server((*testenv.Server).Freeze)},
	{Name: "primary_kill", Lane: Primary, What: "kill -9 of all processes, and a restart", Least: 300 * millisecond, Most: 2 * second, Breaks: true, Loses: true, inject: server((*testenv.Server).Kill)},
	{Name: "primary_stop", Lane: Primary, What: "a clean shutdown, and a restart", Least: 300 * millisecond, Most: 2 * second, Breaks: true, inject: server((*testenv.Server).Stop)},
	{Name: "primary_crash", Lane: Primary, What: "kill -9 of one backend", Least: 100 * millisecond, Most: second, Breaks: true, Loses: true, inject: server((*testenv.Server).CrashBackend)},

	{Name: "wrong_clock", Lane: Tokens, What: "tokens come from a process whose clock is wrong", Least: second, Most: 5 * second, inject: wrongClock},
	{Name: "tamper", Lane: Tokens, What: "tokens are damaged on their way", Least: second, Most: 3 * second, inject: tamper},

	{Name: "drain", Lane: Operators, What: "a replica is drained, and resumed", Least: 200 * millisecond, Most: 2 * second, inject: drain},
	{Name: "remove", Lane: Operators, What: "a replica is removed, and added again", Least: 100 * millisecond, Most: 2 * second, inject: remove},
	{Name: "swap", Lane: Operators, What: "replicas take each other's places, again and again", Least: second, Most: 3 * second, inject: swap},
	{Name: "kill_switch", Lane: Operators, What: "the kill switch is on", Least: 200 * millisecond, Most: second, inject: killSwitch},
	{Name: "percent", Lane: Operators, What: "a part of the reads may use replicas", Least: 500 * millisecond, Most: 3 * second, inject: percent},
	{Name: "shadow", Lane: Operators, What: "decisions are not followed", Least: 200 * millisecond, Most: second, inject: shadow},

	{Name: "all_pause", Lane: All, What: "replay is paused on all replicas", Least: 500 * millisecond, Most: 3 * second, inject: everywhere((*testenv.Server).PauseReplay)},
	{Name: "all_cut", Lane: All, What: "all replicas are cut off from the primary", Least: 500 * millisecond, Most: 3 * second, inject: everywhere((*testenv.Server).Cut)},
	{Name: "name_moves", Lane: Moving, What: "the name of a replica leads to another one from now on, and the one that it left falls behind", Least: 3 * second, Most: 5 * second, inject: nameMoves},
}

var errNoServer = errors.New("verify: there is no such server")

// of returns the server that a step is about.
func (e *Env) of(s Step) (*testenv.Server, error) {
	if on := e.Cluster.Server(s.On); on != nil {
		return on, nil
	}
	return nil, errNoServer
}

// server is a fault that testenv knows.
func server(inject func(*testenv.Server, context.Context) (testenv.Undo, error)) func(context.Context, *Env, Step) (Undo, error) {
	return func(ctx context.Context, env *Env, s Step) (Undo, error) {
		on, err := env.of(s)
		if err != nil {
			return nil, err
		}
		undo, err := inject(on, ctx)
		return Undo(undo), err
	}
}

func delay(ctx context.Context, env *Env, s Step) (Undo, error) {
	return server(func(on *testenv.Server, ctx context.Context) (testenv.Undo, error) {
		return on.Delay(ctx, time.Duration(2+s.mostlySmall())*time.Millisecond)
	})(ctx, env, s)
}

func slowUpstream(ctx context.Context, env *Env, s Step) (Undo, error) {
	return server(func(on *testenv.Server, ctx context.Context) (testenv.Undo, error) {
		return on.LagNetwork(ctx, time.Duration(1+s.mostlySmall()/5)*time.Millisecond)
	})(ctx, env, s)
}

// oldState delays what is yet to come, so that the state from which the replica
// recovers stays for a while.
func oldState(ctx context.Context, env *Env, s Step) (Undo, error) {
	on, err := env.of(s)
	if err != nil {
		return nil, err
	}
	back, err := on.Delay(ctx, 20*time.Second)
	if err != nil {
		return nil, err
	}
	up, err := on.CrashBackend(ctx)
	if err != nil {
		return nil, errors.Join(err, back())
	}
	return func() error { return errors.Join(up(), back()) }, nil
}

// heldCrash lets connections through again when the replica has come back in an
// older state. Reads that were sent there before the crash, and that had to connect
// first, reach that state.
func heldCrash(ctx context.Context, env *Env, s Step) (Undo, error) {
	on, err := env.of(s)
	if err != nil {
		return nil, err
	}
	if err := env.checkpoint(ctx, on); err != nil {
		return nil, err
	}
	sleep(ctx, time.Duration(200+s.Size)*time.Millisecond) // what is written now is not in that state
	back, err := on.Delay(ctx, 20*time.Second)
	if err != nil {
		return nil, err
	}
	release := env.Replicas[s.On].Hold()
	defer release()
	sleep(ctx, time.Duration(50+s.Size/10)*time.Millisecond)
	up, err := on.CrashBackend(ctx)
	if err == nil {
		err = up()
	}
	if err != nil {
		return nil, errors.Join(err, back())
	}
	return Undo(back), nil
}

// mostlySmall is from 0 to 999, a quarter of the time under 16: what is wrong by a
// few milliseconds only shows where a replica is late by about as much.
func (s Step) mostlySmall() int64 { return s.Size * s.Size * s.Size / 1_000_000 }

// seeded is the source of chance of one step.
func (s Step) seeded() *rand.Rand { return rand.New(rand.NewPCG(uint64(s.Size), uint64(s.At))) }
