package main

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/testenv"
)

var lagSeconds = pitfall{
	name:  "lag_seconds",
	title: "Lag in seconds only",
	done: "Reads go to a replica while it is less than a bound behind, by the usual formula: 0 where received and replayed positions are equal, else the time since the last replayed commit. " +
		"Bound and formula are tried three times: on replicas that are cut off from their primary, which then gets 500 rows (bound 1 s); for users who look for their own order, with replay a minute late (bound 2 min); " +
		"and, with the short form (the time since the last replayed commit), on a primary to which nobody has written for a second (bound 1 s).",
	instead: "Staleness is measured against the primary: samples of its position over time, and which of them the replica is proven to have replayed. It grows while a replica is cut off, and does not on a quiet primary. " +
		"Own writes are positions, and have nothing to do with seconds. `MaxLag` is for what others wrote.",
	show: showLagSeconds,
}

const (
	// usualLag is what most monitoring asks a replica.
	usualLag = `SELECT CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
		ELSE coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0) END`
	// shortLag is its short form.
	shortLag = `SELECT coalesce(extract(epoch FROM now() - pg_last_xact_replay_timestamp()), 0)`
	// reads is how often each is tried.
	reads = 20
)

// byFormula is a router as many applications have one.
type byFormula struct {
	primary, replica *gorm.DB
	formula          string
	bound            time.Duration
}

func (r byFormula) read(ctx context.Context) (db *gorm.DB, replica bool, err error) {
	var seconds float64
	err = r.replica.WithContext(ctx).Raw(r.formula).Scan(&seconds).Error
	if seconds < r.bound.Seconds() {
		return r.replica.WithContext(ctx), true, err
	}
	return r.primary.WithContext(ctx), false, err
}

func showLagSeconds(ctx context.Context, s *stage.Stage) ([]finding, error) {
	if err := s.Prepare(ctx, orders); err != nil {
		return nil, err
	}
	primary, err := s.Open(s.Cluster.Primary())
	if err != nil {
		return nil, err
	}
	replica, err := s.Open(s.Cluster.Replica(0))
	if err != nil {
		return nil, err
	}
	router := byFormula{primary: primary, replica: replica, formula: usualLag, bound: time.Second}
	var seen []finding
	for _, show := range []func(context.Context, *stage.Stage, byFormula) ([]finding, error){showQuiet, showCutOff, showOwn} {
		f, err := show(ctx, s, router)
		if err != nil {
			return nil, err
		}
		seen = append(seen, f...)
		if err := s.Resume(ctx); err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// showCutOff reads the newest of what was written since the replicas were cut off.
func showCutOff(ctx context.Context, s *stage.Stage, byHand byFormula) ([]finding, error) {
	const bound = 500 * time.Millisecond
	routed, plugin, err := s.Split(ctx, func(cfg *readsplit.Config) { cfg.MaxLag = bound }, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	for _, r := range s.Cluster.Replicas() {
		if _, err := r.Cut(ctx); err != nil {
			return nil, err
		}
	}
	// Somebody else writes, so that no session is in play.
	if err := byHand.primary.Exec("INSERT INTO orders (customer) SELECT 500 FROM generate_series(1, 500)").Error; err != nil {
		return nil, err
	}
	err = stage.Eventually(ctx, "the rows are older than the bound", func() bool {
		for _, r := range plugin.Status().Replicas {
			if !r.LagKnown || r.Lag <= bound {
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	// What had come before the cut is replayed by now, or is in a moment.
	err = stage.Eventually(ctx, "the formula says 0 s", func() bool {
		var seconds float64
		return byHand.replica.Raw(byHand.formula).Scan(&seconds).Error == nil && seconds == 0
	})
	if err != nil {
		return nil, err
	}
	without, withoutToo := 0, 0
	for range reads {
		db, _, err := byHand.read(ctx)
		if err != nil {
			return nil, err
		}
		var n int64
		if err := db.Table("orders").Where("customer = 500").Count(&n).Error; err != nil {
			return nil, err
		}
		if n == 0 {
			without++
		}
		if err := routed.WithContext(stage.Customer(ctx)).Table("orders").Where("customer = 500").Count(&n).Error; err != nil {
			return nil, err
		}
		if n == 0 {
			withoutToo++
		}
	}
	const what = "reads that lack 500 rows, at a lag of \"0 s\""
	return []finding{{"by hand", what, without, reads}, {"readsplit", "reads that lack 500 rows", withoutToo, reads}}, nil
}

// showOwn reads what the reader has just written, within a generous bound.
func showOwn(ctx context.Context, s *stage.Stage, byHand byFormula) ([]finding, error) {
	byHand.bound = 2 * time.Minute
	routed, _, err := s.Split(ctx, func(cfg *readsplit.Config) { cfg.MaxLag = byHand.bound }, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	if err := late(ctx, s.Cluster.Replicas()); err != nil {
		return nil, err
	}
	missing, missingToo := 0, 0
	look := func(db *gorm.DB, c int, missing *int) error {
		var n int64
		if err := db.Table("orders").Where("customer = ?", c).Count(&n).Error; err != nil {
			return err
		}
		if n == 0 {
			*missing++
		}
		return nil
	}
	for c := 1000; c < 1000+reads; c++ {
		if err := byHand.primary.WithContext(ctx).Create(&order{Customer: c}).Error; err != nil {
			return nil, err
		}
		db, _, err := byHand.read(ctx)
		if err != nil {
			return nil, err
		}
		if err := look(db, c, &missing); err != nil {
			return nil, err
		}
		mine := routed.WithContext(stage.Customer(ctx))
		if err := mine.Create(&order{Customer: c + reads}).Error; err != nil {
			return nil, err
		}
		if err := look(mine, c+reads, &missingToo); err != nil {
			return nil, err
		}
	}
	const what = "users who miss their own order, well within the bound"
	return []finding{{"by hand", what, missing, reads}, {"readsplit", what, missingToo, reads}}, nil
}

// late makes every commit arrive a minute late.
func late(ctx context.Context, replicas []*testenv.Server) error {
	for _, r := range replicas {
		if _, err := r.Delay(ctx, time.Minute); err != nil {
			return err
		}
	}
	return nil
}

// showQuiet reads while nobody writes: the replicas have everything.
func showQuiet(ctx context.Context, s *stage.Stage, byHand byFormula) ([]finding, error) {
	byHand.formula = shortLag
	err := stage.Eventually(ctx, "a second without a commit", func() bool {
		_, replica, err := byHand.read(ctx)
		return err == nil && !replica
	})
	if err != nil {
		return nil, err
	}
	away := 0
	for range reads {
		_, replica, err := byHand.read(ctx)
		if err != nil {
			return nil, err
		}
		if !replica {
			away++
		}
	}
	routed, _, err := s.Split(ctx, func(cfg *readsplit.Config) { cfg.MaxLag = 30 * time.Second }, s.Cluster.Replicas()...)
	if err != nil {
		return nil, err
	}
	awayToo := 0
	for range reads {
		tx := routed.WithContext(stage.Customer(ctx)).Find(&[]order{})
		if tx.Error != nil {
			return nil, tx.Error
		}
		if d, ok := readsplit.DecisionOf(tx); !ok || !d.Replica {
			awayToo++
		}
	}
	const what = "reads sent to the primary, although the replicas have everything"
	return []finding{{"by hand", what, away, reads}, {"readsplit", what, awayToo, reads}}, nil
}
