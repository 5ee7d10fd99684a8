package nemesis

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

// everywhere is a fault that testenv knows, on all replicas at once.
func everywhere(inject func(*testenv.Server, context.Context) (testenv.Undo, error)) func(context.Context, *Env, Step) (Undo, error) {
	return func(ctx context.Context, env *Env, _ Step) (Undo, error) {
		var undos []testenv.Undo
		undo := func() error {
			var errs []error
			for _, u := range undos {
				errs = append(errs, u())
			}
			return errors.Join(errs...)
		}
		for _, r := range env.Cluster.Replicas() {
			u, err := inject(r, ctx)
			if err != nil {
				return nil, errors.Join(err, undo())
			}
			undos = append(undos, u)
		}
		return undo, nil
	}
}

// nameMoves leads new connections of the last replica's name to the first one, as a
// change of DNS does. Those that are open stay, on a server that falls behind, but for
// the ones over which it is asked what it is. It is done once: a name that comes back is
// one for several servers.
func nameMoves(ctx context.Context, env *Env, _ Step) (Undo, error) {
	all := env.Cluster.Replicas()
	from, to := all[len(all)-1], all[0]
	if !env.moved.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("verify: the name of %s leads elsewhere already", from.Name())
	}
	undo, err := from.Delay(ctx, 20*time.Second)
	if err != nil {
		return nil, err
	}
	db, err := env.open(from)
	if err != nil {
		return nil, errors.Join(err, undo())
	}
	env.Replicas[from.Name()].PointTo(to.Addr())
	_, err = db.ExecContext(ctx, terminateAskersSQL)
	if e := db.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, errors.Join(err, undo())
	}
	return Undo(undo), nil
}

// FillBallast writes the rows that mass_delete deletes.
func (e *Env) FillBallast(ctx context.Context) error {
	db, err := e.open(e.Cluster.Primary())
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO ballast SELECT i, '' FROM generate_series(1, $1::bigint) i", e.Mass)
	return errors.Join(err, db.Close())
}

// massDelete deletes all that FillBallast wrote in one transaction. It is over when
// that has committed, however long it takes.
func massDelete(_ context.Context, env *Env, s Step) (Undo, error) {
	if !env.emptied.CompareAndSwap(false, true) {
		return nil, errors.New("verify: all rows are gone already")
	}
	return env.with(s, func(_ *testenv.Server, db *sql.DB) (Undo, error) {
		done := make(chan error, 1)
		began := time.Now()
		go func() { // ends with the statement
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			result, err := db.ExecContext(ctx, "DELETE FROM ballast")
			if err == nil && env.Log != nil {
				n, _ := result.RowsAffected()
				env.Log("%d rows were deleted in one transaction in %v", n, time.Since(began).Round(time.Millisecond))
			}
			done <- err
		}()
		return func() error { return <-done }, nil
	})
}
