package main

import (
	"context"
	"errors"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
)

// result is one form.
type result struct {
	form
	report
	length    time.Duration
	cancelled []cancellation // runs of the report
	lag       time.Duration  // the greatest, where the report began
	lags      []time.Duration
	dead      [2]int // rows that each VACUUM had to leave
	others    tally
}

// report is what its user gets.
type report struct {
	took     time.Duration
	entries  int64
	decision readsplit.Decision
	// held: when it ended, its server had not replayed the first VACUUM.
	held bool
}

// errLate says that the machine was too busy for the report: it ended before what should
// have happened meanwhile.
var errLate = errors.New("the report ended before the primary had vacuumed twice")

// measure measures one form, on a busy machine with a report that takes longer.
func (l *lab) measure(ctx context.Context, f form) (r *result, err error) {
	length := l.o.length
	for range 4 {
		if r, err = l.once(ctx, f, length); !errors.Is(err, errLate) {
			break
		}
		length *= 2
	}
	return r, err
}

func (l *lab) once(ctx context.Context, f form, length time.Duration) (*result, error) {
	if err := l.furnish(ctx, f); err != nil {
		return nil, err
	}
	db, err := gorm.Open(postgres.Open(l.cluster.Primary().DSNFor(l.database)), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(32)
	defer pool.Close()
	cancelled := &cancellations{}
	cfg := f.config(l)
	cfg.Observers = []any{cancelled}
	plugin := readsplit.New(cfg)
	if err := db.Use(plugin); err != nil {
		return nil, err
	}
	r := &result{form: f, length: length}
	err = l.watch(ctx, db, plugin, r, cancelled)
	r.cancelled = cancelled.of()
	return r, errors.Join(err, plugin.Close(context.Background()), l.reset(ctx, f))
}

// watch runs the report, and everybody else beside it.
func (l *lab) watch(ctx context.Context, db *gorm.DB, plugin *readsplit.Plugin, r *result, cancelled *cancellations) error {
	if err := ready(ctx, plugin); err != nil {
		return err
	}
	around, stop := context.WithCancel(ctx)
	defer stop()
	beating := make(chan error, 1)
	go func() { beating <- l.heartbeats(around) }()

	began := time.Now()
	done := make(chan error, 1)
	var position string // what was replayed when the report ended
	go func() { done <- l.runReport(ctx, db, r, began, &position) }()
	// runs says that the report runs on a server, or that it is over.
	runs := func(server string) func(ctx context.Context) (bool, error) {
		asked := l.says(l.server(server), reportRuns)
		return func(ctx context.Context) (bool, error) {
			yes, err := asked(ctx)
			return yes || len(done) > 0, err
		}
	}
	if err := await(ctx, "the report to run", runs(r.place)); err != nil {
		return errors.Join(err, <-done)
	}
	lags := l.watchLag(around, r.place, began)
	others := startReaders(around, db)

	var vacuumed [2]string
	for i, part := range []int{first, second} {
		timer := time.NewTimer(time.Until(began.Add(r.length / whole * time.Duration(part))))
		<-timer.C
		if i == 1 && r.cancels {
			if err := await(ctx, "the report to run again", runs("primary")); err != nil {
				return errors.Join(err, <-done)
			}
		}
		var err error
		if r.dead[i], vacuumed[i], err = l.change(ctx); err != nil {
			return errors.Join(err, <-done)
		}
	}
	late := len(done) > 0
	err := <-done
	stop()
	r.others = others.stop()
	r.lags = <-lags
	for _, lag := range r.lags {
		r.lag = max(r.lag, lag)
	}
	if err == nil && late {
		err = errLate
	}
	if position != "" {
		at, perr := lsn.ParseLSN(position)
		end, verr := lsn.ParseLSN(vacuumed[0])
		err = errors.Join(err, perr, verr)
		r.held = at < end
	}
	return errors.Join(err, <-beating, r.others.err)
}

// ready returns when the plugin knows the functions of the database, and all servers.
func ready(ctx context.Context, plugin *readsplit.Plugin) error {
	return await(ctx, "the servers to be known", func(context.Context) (bool, error) {
		st := plugin.Status()
		all := st.Catalog.Current && st.Primary.Up
		for _, s := range st.Replicas {
			all = all && s.Up && (s.Logical || s.LagKnown)
		}
		return all, nil
	})
}

func (l *lab) runReport(ctx context.Context, db *gorm.DB, r *result, began time.Time, position *string) error {
	ctx = context.WithValue(r.marks(ctx), reportKey{}, began)
	var row struct {
		Entries  int64
		Replayed *string
	}
	pause := r.length.Seconds() / (rows / 50)
	tx := db.WithContext(ctx).Raw("SELECT count(*) AS entries, sum(amount) AS total, replayed() AS replayed FROM entries WHERE counted(id, ?) > 0", pause).Find(&row)
	r.took = time.Since(began)
	r.entries = row.Entries
	r.decision, _ = readsplit.DecisionOf(tx)
	if row.Replayed != nil {
		*position = *row.Replayed
	}
	return tx.Error
}
