package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/testenv"
)

// Servers measures what real servers are needed for.
func Servers(ctx context.Context, c *testenv.Cluster, o Options) ([]Line, error) {
	writes, err := writeThroughput(ctx, c, o)
	if err != nil {
		return nil, err
	}
	queries, err := primaryQueries(ctx, c, o)
	if err != nil {
		return nil, err
	}
	all := []Line{writes, queries}
	for _, x := range []struct {
		clients int
		pause   time.Duration
		limit   float64
	}{{1, 0, 0.5}, {o.Clients, pause, 2}} {
		l, err := ownRead(ctx, c, o, x.clients, x.pause, x.limit)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// pause is what many clients who read what they wrote do between two writes, on average.
// 64 of them are then half of what primary, replicas and clients can do together on two
// processors. Without it all processors are busy all the time, and what is measured is how
// long a process waits for one: the replay of a replica as the reader. What that is stands
// among the mixes on real servers.
const pause = 20 * time.Millisecond

// race runs forms against each other until a spread is decided.
func race(ctx context.Context, c *testenv.Cluster, forms []string, m load.Mix, clients int, o Options, limit float64, spread func([]load.Row) side.Spread) (rows []load.Row, s side.Spread, err error) {
	b, err := load.Open(c, forms)
	if err != nil {
		return nil, s, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	r, err := b.Race(ctx, m, clients)
	if err != nil {
		return nil, s, err
	}
	if err := r.Warm(o.Slice); err != nil {
		return nil, s, err
	}
	s, err = until(o.Servers, limit, func() error { return r.Round(o.Slice) }, func() side.Spread { return spread(r.Rows) })
	return r.Rows, s, err
}

// writeThroughput has many writers, who look at every 64th of their writes: somebody has to
// read, or the primary is never asked for its position.
func writeThroughput(ctx context.Context, c *testenv.Cluster, o Options) (Line, error) {
	perSecond := func(s load.Slice) float64 { return s.WritesPerSecond }
	ratio := func(rows []load.Row, i int) side.Spread {
		return side.Ratios(rows[i].Values(perSecond), rows[0].Values(perSecond))
	}
	const limit = 0.97
	forms := []string{load.Plain, load.Session, load.ReadSplit}
	rows, _, err := race(ctx, c, forms, load.Mix{Name: "writers", Writes: 1, Own: 1. / 64}, o.Clients, o, limit, func(rows []load.Row) side.Spread {
		// Both have to be decided.
		a, b := ratio(rows, 1), ratio(rows, 2)
		if a.Decided(limit) {
			return b
		}
		return a
	})
	if err != nil {
		return Line{}, err
	}
	a, b := ratio(rows, 1), ratio(rows, 2)
	cpu := func(i int) float64 {
		cost := func(s load.Slice) float64 { return s.CPU }
		return side.Ratios(rows[i].Values(cost), rows[0].Values(cost)).Median
	}
	captures := func(i int) float64 { return rows[i].Of(func(s load.Slice) float64 { return s.Captures }) }
	return Line{
		Name: fmt.Sprintf("write_throughput_%d_vs_plain", o.Clients), Measured: min(a.Median, b.Median), Limit: limit, Bound: AtLeast,
		Note: fmt.Sprintf("sessions: %s, %.0f captures/s, %.3g x plain's processor time; process-wide: %s, %.0f captures/s, %.3g x; plain %.0f writes/s", a, captures(1), cpu(1), b, captures(2), cpu(2), rows[0].Of(perSecond)),
	}, nil
}

// primaryQueries counts at the primary what it has done for reads right after a write of many
// clients: statements and transactions that are no write, whoever sent them (reads that
// fell back, captures, samples, connections, the server's own).
func primaryQueries(ctx context.Context, c *testenv.Cluster, o Options) (line Line, err error) {
	db, err := sql.Open("pgx", c.Primary().DSN())
	if err != nil {
		return Line{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	before, err := transactions(ctx, db)
	if err != nil {
		return Line{}, err
	}
	b, err := load.Open(c, []string{load.Session})
	if err != nil {
		return Line{}, err
	}
	writes, reads := o.Clients, 0 // each client's row was written
	var onReplicas float64
	var reasons string
	r, err := b.Race(ctx, load.Mix{Name: "read own write", Writes: 1, Own: 1}, o.Clients)
	if err == nil {
		// Connections are opened once, and the more it reads the less they count.
		for range 4 {
			if err = r.Round(o.Servers / 8); err != nil {
				break
			}
		}
		for _, s := range r.Rows[0].Slices {
			writes, reads = writes+s.WritesDone, reads+s.OwnReads
		}
		onReplicas, reasons = r.Rows[0].Of(func(s load.Slice) float64 { return s.OnReplicas }), b.Reasons(load.Session)
	}
	if err := errors.Join(err, b.Close()); err != nil {
		return Line{}, err
	}
	after, err := transactions(ctx, db)
	if err != nil {
		return Line{}, err
	}
	return Line{
		Name: fmt.Sprintf("primary_queries_per_own_read_%d", o.Clients), Measured: float64(after-before-int64(writes)) / float64(max(reads, 1)), Limit: 1, Bound: Below,
		Note: fmt.Sprintf("the primary counted %d transactions (a statement alone is one) for %d writes and %d own reads, %.1f %% of which ran on replicas; reasons: %s", after-before, writes, reads, 100*onReplicas, reasons),
	}, nil
}

// transactions are how many the server has ended. A connection tells what it did when it
// ends at the latest, and so nobody else may have one.
func transactions(ctx context.Context, db *sql.DB) (n int64, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		var others int
		const ask = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid()"
		if err := db.QueryRowContext(ctx, ask).Scan(&others); err != nil {
			return 0, err
		}
		if others == 0 {
			break
		}
		if time.Now().After(end) {
			return 0, fmt.Errorf("budget: %d connections are still there", others)
		}
	}
	err = db.QueryRowContext(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()").Scan(&n)
	return n, err
}

// ownRead is how much longer a read after a write takes than one that does not care, on
// a replica by plain GORM.
func ownRead(ctx context.Context, c *testenv.Cluster, o Options, clients int, pause time.Duration, limit float64) (Line, error) {
	p50 := func(s load.Slice) float64 { return s.Own.P50 }
	added := func(rows []load.Row) side.Spread {
		return side.Differences(rows[1].Values(p50), rows[0].Values(p50))
	}
	rows, s, err := race(ctx, c, []string{load.ByHand, load.Session}, load.Mix{Name: "read own write", Writes: 1, Own: 1, Pause: pause}, clients, o, limit, added)
	if err != nil {
		return Line{}, err
	}
	return Line{
		Name: fmt.Sprintf("own_read_added_ms_%d", clients), Measured: s.Median, Limit: limit,
		Note: fmt.Sprintf("clients pause for %s; p50 of a slice: %s; %.3g ms, by hand %.3g ms, which missed %d writes (readsplit %d); %.1f %% on replicas", pause, s,
			rows[1].Of(p50), rows[0].Of(p50), rows[0].Missed(), rows[1].Missed(), 100*rows[1].Of(func(s load.Slice) float64 { return s.OnReplicas })),
	}, nil
}
