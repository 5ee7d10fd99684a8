package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/history"
	"github.com/readsplit/readsplit/verify/nemesis"
	"github.com/readsplit/readsplit/verify/network"
	"github.com/readsplit/readsplit/verify/workload"
)

// episode is one part of a run, on servers of its own: clients that work, faults of
// some lanes, and the end in which everything must be as it was promised.
type episode struct {
	options
	kind   kind
	seed   uint64
	length time.Duration
	faults []string
	log    func(format string, args ...any)
}

const (
	database = "verified"
	tokenKey = "a key for the tokens of a run"
	maxLag   = 800 * time.Millisecond
)

// settings of the servers: conflicts with replay come soon.
var settings = map[string]string{
	"max_standby_streaming_delay": "20ms",
	"max_standby_archive_delay":   "20ms",
	"autovacuum_naptime":          "1s",
}

// recorder collects the events of all processes, and hands on their tokens.
type recorder struct {
	mu       sync.Mutex
	events   []history.Event
	children []*workload.Child
	post     *nemesis.Post
}

func (r *recorder) Record(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) Pass(m workload.Message) {
	m.Text = r.post.Carry(m.Text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.To <= len(r.children) {
		r.children[m.To-1].Deliver(m)
	}
}

// operate does something to one process, from 1 on, or to all (0).
func (r *recorder) operate(ctx context.Context, process int, op workload.Operation) error {
	r.mu.Lock()
	children := slices.Clone(r.children)
	r.mu.Unlock()
	if process > 0 {
		children = children[min(process, len(children))-1:][:1]
	}
	var errs []error
	for _, c := range children {
		errs = append(errs, c.Operate(ctx, op))
	}
	return errors.Join(errs...)
}

// run returns the history of the episode.
func (e *episode) run(ctx context.Context) (h *history.History, err error) {
	cluster, err := testenv.New(ctx, testenv.Config{Version: e.pg, Settings: settings})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	address, err := network.Listen(cluster.Primary().Addr())
	if err != nil {
		return nil, err
	}
	defer address.Close()
	replicas := map[string]*network.Address{}
	for _, s := range cluster.Replicas() {
		a, err := network.Listen(s.Addr())
		if err != nil {
			return nil, err
		}
		defer a.Close()
		replicas[s.Name()] = a
	}
	post, err := nemesis.NewPost(tokenKey)
	if err != nil {
		return nil, err
	}
	env := &nemesis.Env{Cluster: cluster, Database: database, Address: address, Replicas: replicas, Rows: e.rows, Post: post, Followed: e.kind.follow, Log: e.log}
	if e.kind.mass {
		env.Mass = e.mass
	}
	if err := e.prepare(ctx, env); err != nil {
		return nil, err
	}
	r := &recorder{post: post}
	env.Operate = r.operate
	stop, err := e.start(r, env)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	primary, err := e.disturb(ctx, env, r)
	err = errors.Join(err, stop())
	if err != nil {
		return nil, err
	}
	h = &history.History{
		Header: history.Header{
			Seed: e.seed, Episode: e.kind.name, Plugin: e.plugin, Server: cluster.Version(),
			Primary: cluster.Primary().Name(), Command: e.again(), MaxLag: maxLag, Window: workload.Window(maxLag),
			Monotonic: e.monotonic(),
		},
		Events: r.events,
	}
	final, err := e.final(ctx, primary)
	h.Events = append(h.Events, final...)
	return h, err
}

// prepare makes the tables on every server, so that they are there also where a
// crash leads back to an older state.
func (e *episode) prepare(ctx context.Context, env *nemesis.Env) error {
	cluster := env.Cluster
	if err := cluster.CreateDatabase(ctx, database); err != nil {
		return err
	}
	db, err := sql.Open("pgx", cluster.Primary().DSNFor(database))
	if err != nil {
		return err
	}
	if err := errors.Join(workload.Create(ctx, db), db.Close()); err != nil {
		return err
	}
	if env.Mass > 0 {
		if err := env.FillBallast(ctx); err != nil {
			return err
		}
	}
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		return err
	}
	return env.Settle(ctx)
}

// monotonic are the processes that promise monotonic reads.
func (e *episode) monotonic() (processes []int) {
	for i := range e.processes {
		if c := (workload.Config{Process: i + 1}); c.Monotonic() {
			processes = append(processes, i+1)
		}
	}
	return processes
}

// start starts the processes. stop lets them finish and joins them.
func (e *episode) start(r *recorder, env *nemesis.Env) (stop func() error, err error) {
	stop = func() error {
		var errs []error
		for _, c := range r.children {
			errs = append(errs, c.Stop())
		}
		return errors.Join(errs...)
	}
	cfg := workload.Config{
		Processes: e.processes, Seed: e.seed, Plugin: e.plugin, Clients: e.clients, Pause: e.pause,
		MaxLag: maxLag, TokenKey: tokenKey, Ways: e.ways,
		Primary: through(env.Cluster.Primary(), env.Address),
	}
	for _, s := range env.Cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, workload.Server{Name: s.Name(), DSN: through(s, env.Replicas[s.Name()])})
	}
	rng := rand.New(rand.NewPCG(e.seed, 0))
	cfg.FollowReplicas = e.kind.follow && rng.IntN(2) == 0
	budget := 0
	if e.kind.budget || rng.IntN(3) == 0 {
		budget = 2 + rng.IntN(3)
	}
	if e.kind.follow {
		cfg.Replicas = append(cfg.Replicas, workload.Server{Name: "first", DSN: cfg.Primary})
		if !cfg.FollowReplicas {
			cfg.Primary = everyHost(env)
		}
	}
	for i := range e.processes {
		cfg.Process = i + 1
		if cfg.Budget = budget; !e.kind.budget && i%2 == 0 {
			cfg.Budget = 0
		}
		c, err := workload.Start(cfg, r)
		if err != nil {
			return stop, err
		}
		r.mu.Lock()
		r.children = append(r.children, c)
		r.mu.Unlock()
	}
	return stop, nil
}

// through is a server's DSN by way of an address; of two ports the last counts.
func through(s *testenv.Server, a *network.Address) string {
	return fmt.Sprintf("%s port=%d", s.DSNFor(database), a.Port())
}

// everyHost is a DSN of all servers, each by way of its address.
func everyHost(env *nemesis.Env) string {
	hosts, ports := "127.0.0.1", fmt.Sprint(env.Address.Port())
	for _, s := range env.Cluster.Replicas() {
		hosts += ",127.0.0.1"
		ports += fmt.Sprintf(",%d", env.Replicas[s.Name()].Port())
	}
	return fmt.Sprintf("%s host=%s port=%s", env.Cluster.Primary().DSNFor(database), hosts, ports)
}

// disturb injects the faults and returns the primary of the end.
func (e *episode) disturb(ctx context.Context, env *nemesis.Env, r *recorder) (*testenv.Server, error) {
	var names []string
	for _, s := range env.Cluster.Replicas() {
		names = append(names, s.Name())
	}
	primary := env.Cluster.Primary()
	ctx, cancel := context.WithTimeout(ctx, e.length)
	defer cancel()
	if how := e.kind.takeover; how != nil {
		wait(ctx, e.length/4)
		primary, thaw, err := nemesis.Failover(context.WithoutCancel(ctx), env, *how, func(ctx context.Context) { wait(ctx, e.length/8) }, r.Record)
		if err != nil {
			return nil, err
		}
		e.log("failover to %s (old one %s, loses=%v)", primary.Name(), how.Old, how.Loses)
		wait(ctx, e.length/10)
		err = thaw()
		<-ctx.Done()
		return primary, err
	}
	steps := nemesis.Plan(e.seed, e.length, e.faults, names)
	if e.verbose {
		for _, s := range steps {
			e.log("%v", s)
		}
	}
	err := nemesis.Run(ctx, env, steps, r.Record, func(s nemesis.Step, err error) {
		if e.verbose {
			e.log("skipped %s on %s: %v", s.Fault, s.On, err)
		}
	})
	<-ctx.Done()
	return primary, errors.Join(err, env.Cluster.UndoAll())
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// final reads what is there when nobody writes any more: what a client has given up
// may still be on its way.
func (e *episode) final(ctx context.Context, primary *testenv.Server) ([]history.Event, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", primary.DSNFor(database))
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	const others = `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()`
	for {
		var n int
		if err := db.QueryRowContext(ctx, others).Scan(&n); err != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("verify: the primary does not come to rest: %w", err)
		} else if err == nil && n == 0 {
			return workload.Final(ctx, db)
		}
		wait(ctx, 20*time.Millisecond)
	}
}
