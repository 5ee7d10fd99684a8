package nemesis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the nemesis

	"github.com/readsplit/readsplit/testenv"
)

// name is the nemesis in pg_stat_activity, so that it spares itself.
const name = "nemesis"

func (e *Env) open(on *testenv.Server) (*sql.DB, error) {
	db, err := sql.Open("pgx", on.DSNFor(e.Database)+" application_name="+name)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// checkpoint makes now the state from which a replica recovers.
func (e *Env) checkpoint(ctx context.Context, replicas ...*testenv.Server) error {
	var at string
	if err := e.Cluster.Primary().DB().QueryRowContext(ctx, "SELECT pg_current_wal_insert_lsn()").Scan(&at); err != nil {
		return err
	}
	if _, err := e.Cluster.Primary().DB().ExecContext(ctx, "CHECKPOINT"); err != nil {
		return err
	}
	for _, r := range replicas {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		// The record of the checkpoint itself has to be there, and comes after this.
		err := until(ctx, func(ctx context.Context) (there bool, err error) {
			err = r.DB().QueryRowContext(ctx, "SELECT (SELECT checkpoint_lsn FROM pg_control_checkpoint()) >= $1::pg_lsn", at).Scan(&there)
			if err == nil && !there {
				_, err = r.DB().ExecContext(ctx, "CHECKPOINT")
			}
			return there, err
		})
		if err != nil {
			return fmt.Errorf("verify: checkpoint of %s: %w", r.Name(), err)
		}
	}
	return nil
}

// Settle makes now the state from which every replica recovers.
func (e *Env) Settle(ctx context.Context) error {
	return e.checkpoint(ctx, e.Cluster.Replicas()...)
}

// with opens the step's server for as long as the fault lasts.
func (e *Env) with(s Step, inject func(on *testenv.Server, db *sql.DB) (Undo, error)) (Undo, error) {
	on := e.Cluster.Server(s.On)
	if on == nil {
		on = e.Cluster.Primary()
	}
	db, err := e.open(on)
	if err != nil {
		return nil, err
	}
	undo, err := inject(on, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func() error { return errors.Join(undo(), db.Close()) }, nil
}

const terminateSQL = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid() AND application_name <> '` + name + `'`

// terminateAskersSQL ends the connections over which somebody was last asked what the
// server is, and leaves those of the application's statements.
const terminateAskersSQL = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND datname = current_database() AND pid <> pg_backend_pid() AND application_name <> '` + name + `'
AND query LIKE 'SELECT concat_ws%'`

func terminate(_ context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		return repeated(time.Duration(30+s.Size/4)*time.Millisecond, func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, terminateSQL)
			return err
		}), nil
	})
}

// full takes all connections that there are, and those that clients have.
func full(ctx context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(on *testenv.Server, db *sql.DB) (Undo, error) {
		held, err := env.open(on)
		if err != nil {
			return nil, err
		}
		held.SetMaxOpenConns(0)
		var mu sync.Mutex
		var conns []*sql.Conn
		release := func() error {
			var errs []error
			for _, c := range conns {
				errs = append(errs, c.Close())
			}
			return errors.Join(append(errs, held.Close())...)
		}
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, "SELECT 1"); err != nil { // its own connection first
			return nil, errors.Join(err, release())
		}
		for range 2 {
			var opening sync.WaitGroup
			for range 4 {
				opening.Go(func() {
					for {
						c, err := held.Conn(ctx)
						if err != nil {
							return
						}
						mu.Lock()
						conns = append(conns, c)
						mu.Unlock()
					}
				})
			}
			opening.Wait()
			if _, err := db.ExecContext(ctx, terminateSQL); err != nil {
				return nil, errors.Join(err, release())
			}
		}
		return release, nil
	})
}

// noticedWithin is how long after its promotion a server may be taken for a replica: until
// the next sample of it, with some room for a busy machine. While the primary is down
// nobody asks it anything in between.
const noticedWithin = 500 * time.Millisecond

// promote makes a primary that nobody has asked for, and changes rows on it as its
// own clients would, from when on nobody may read them there.
func promote(ctx context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(on *testenv.Server, db *sql.DB) (Undo, error) {
		back, err := on.Promote(ctx)
		if err != nil {
			return nil, err
		}
		sleep(ctx, noticedWithin)
		n := 0
		stop := repeated(30*time.Millisecond, func(ctx context.Context) error {
			n++
			_, err := db.ExecContext(ctx, fmt.Sprintf("UPDATE registers SET value = 'stray.%s.%d.' || id", on.Name(), n))
			return err
		})
		return func() error { return errors.Join(stop(), back()) }, nil
	})
}

// lock lets a replica replay a LOCK TABLE and pauses it before the commit that
// releases the lock.
func lock(ctx context.Context, env *Env, s Step) (Undo, error) {
	on, err := env.of(s)
	if err != nil {
		return nil, err
	}
	there, err := env.open(on)
	if err != nil {
		return nil, err
	}
	defer func() { _ = there.Close() }()
	return env.with(Step{On: string(Primary)}, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(ctx, "LOCK TABLE registers IN ACCESS EXCLUSIVE MODE"); err != nil {
			return nil, err
		}
		// Something else must be flushed for the lock to reach the replica at once.
		if _, err := db.ExecContext(ctx, "SELECT pg_logical_emit_message(true, '"+name+"', '')"); err != nil {
			return nil, err
		}
		err = until(ctx, func(ctx context.Context) (held bool, err error) {
			err = there.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted
				AND relation = (SELECT oid FROM pg_class WHERE relname = 'registers'))`).Scan(&held)
			return held, err
		})
		if err != nil {
			return nil, err
		}
		resume, err := on.PauseReplay(ctx)
		if err != nil {
			return nil, err
		}
		if err := tx.Commit(); err != nil {
			return nil, errors.Join(err, resume())
		}
		return Undo(resume), nil
	})
}

func bulkDelete(_ context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		return repeated(500*time.Millisecond, func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "INSERT INTO ballast SELECT i, repeat('x', 100) FROM generate_series(1, $1::bigint) i ON CONFLICT DO NOTHING", env.Rows)
			if err == nil {
				_, err = db.ExecContext(ctx, "DELETE FROM ballast")
			}
			return err
		}), nil
	})
}

func longTransaction(ctx context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return nil, err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO ballast VALUES (-$1::bigint - 1, 'open')", s.Size); err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
		return func() error {
			_ = tx.Rollback() // the server may have been killed meanwhile
			return nil
		}, nil
	})
}

func conflict(_ context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		return repeated(40*time.Millisecond, func(ctx context.Context) error {
			_, err := db.ExecContext(ctx, "VACUUM registers")
			return err
		}), nil
	})
}

func overload(_ context.Context, env *Env, s Step) (Undo, error) {
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		ctx, cancel := context.WithCancel(context.Background())
		var busy sync.WaitGroup
		for range 4 {
			busy.Go(func() {
				for ctx.Err() == nil {
					_, _ = db.ExecContext(ctx, "SELECT sum(i) FROM generate_series(1, 2000000) i")
				}
			})
		}
		return func() error {
			cancel()
			busy.Wait()
			return nil
		}, nil
	})
}
