package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/testenv"
)

// work is a statement that an application runs all day.
type work struct {
	name, text string
	replica    bool // runs on the first replica
}

const (
	rows   = 100_000
	rounds = 4
)

var works = []work{
	{"a row by its key, on the primary", "SELECT payload FROM items WHERE id = $1", false},
	{"a row by its key, on a replica", "SELECT payload FROM items WHERE id = $1", true},
	{"50 rows by an index, on a replica", "SELECT id, payload FROM items WHERE owner = $1 % 2000 ORDER BY id LIMIT 50", true},
	{"UPDATE of a row", "UPDATE items SET payload = md5($1::text), changed = now() WHERE id = $1", false},
	{"INSERT of a row", "INSERT INTO items (id, owner, payload) VALUES (1000000 + nextval('more'), $1 % 2000, md5($1::text))", false},
}

// cost is what one statement costs each kind of server.
type cost struct {
	work
	primary, replica time.Duration // of a processor; replica: each of them, the one that was asked for a read
}

func run(ctx context.Context, o options) (err error) {
	cluster, err := testenv.New(ctx, testenv.Config{Version: o.version, Settings: map[string]string{"autovacuum": "off"}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(ctx)) }()
	for _, statement := range []string{
		"CREATE TABLE items (id bigint PRIMARY KEY, owner bigint, payload text, changed timestamptz DEFAULT now())",
		"CREATE SEQUENCE more",
		fmt.Sprintf("INSERT INTO items SELECT n, n %% 2000, md5(n::text) FROM generate_series(1, %d) AS n", rows),
		"CREATE INDEX ON items (owner)",
		"VACUUM ANALYZE items",
		"CHECKPOINT",
	} {
		if _, err := cluster.Primary().DB().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	costs := make([]cost, len(works))
	// In rounds, so that what else this machine does meets all of them.
	for range rounds {
		for i, w := range works {
			c, err := measure(ctx, cluster, o, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			costs[i] = cost{w, costs[i].primary + c.primary/rounds, costs[i].replica + c.replica/rounds}
		}
	}
	text := tables(costs)
	fmt.Print(text)
	if o.page == "" {
		return nil
	}
	return chart.Write(o.page, "capacity", text, nil)
}

// measure runs a statement often, and takes the processor time of the servers before and
// after it, when the replicas have all of it.
func measure(ctx context.Context, cluster *testenv.Cluster, o options, w work) (cost, error) {
	server := cluster.Primary()
	if w.replica {
		server = cluster.Replica(0)
	}
	server.DB().SetMaxOpenConns(o.clients)
	server.DB().SetMaxIdleConns(o.clients)
	if err := repeat(ctx, server, w.text, o.clients, o.clients*10); err != nil { // connections, caches, plans
		return cost{}, err
	}
	var pids []int
	for _, s := range cluster.Servers() {
		pid, err := postmaster(ctx, s)
		if err != nil {
			return cost{}, err
		}
		pids = append(pids, pid)
	}
	before, err := all(ctx, cluster, pids)
	if err != nil {
		return cost{}, err
	}
	if err := repeat(ctx, server, w.text, o.clients, o.statements/rounds); err != nil {
		return cost{}, err
	}
	after, err := all(ctx, cluster, pids)
	if err != nil {
		return cost{}, err
	}
	each := func(d time.Duration) time.Duration { return d / time.Duration(o.statements/rounds) }
	c := cost{work: w, primary: each(after[0] - before[0]), replica: each(after[1] - before[1])}
	if !w.replica { // both do the same
		c.replica = each(after[1]-before[1]+after[2]-before[2]) / 2
	}
	return c, nil
}

// all is the processor time of each server, once the replicas have everything.
func all(ctx context.Context, cluster *testenv.Cluster, pids []int) (times []time.Duration, err error) {
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		return nil, err
	}
	for _, pid := range pids {
		d, err := spent(pid)
		if err != nil {
			return nil, err
		}
		times = append(times, d)
	}
	return times, nil
}

// repeat runs a statement n times, by several clients.
func repeat(ctx context.Context, server *testenv.Server, text string, clients, n int) error {
	var running sync.WaitGroup
	errs := make([]error, clients)
	for client := range clients {
		running.Go(func() {
			for i := client; i < n; i += clients {
				key := (i*7919)%rows + 1 // all over the table
				if strings.HasPrefix(text, "SELECT") {
					errs[client] = query(ctx, server, text, key)
				} else {
					_, errs[client] = server.DB().ExecContext(ctx, text, key)
				}
				if errs[client] != nil {
					return
				}
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func query(ctx context.Context, server *testenv.Server, text string, key int) error {
	found, err := server.DB().QueryContext(ctx, text, key)
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
	}
	return found.Err()
}
