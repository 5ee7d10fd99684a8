package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// suspend has real secondaries suspend data movement. It is asked for in master: the
// database itself is read-only there. The login needs ALTER on the database.
func (g *group) suspend() *orderlab.Fault {
	move := func(ctx context.Context, verb string) error {
		var errs []error
		for _, r := range g.Replicas {
			errs = append(errs, g.hadr(ctx, r.DSN, verb))
		}
		return errors.Join(errs...)
	}
	return &orderlab.Fault{
		Begin: func(ctx context.Context) error { return move(ctx, "SUSPEND") },
		InForce: func(ctx context.Context) bool {
			for _, db := range g.replicas {
				var suspended bool
				err := db.QueryRowContext(ctx, "SELECT is_suspended"+ownRow).Scan(&suspended)
				if err != nil || !suspended {
					return false
				}
			}
			return true
		},
		End: func() error { return move(context.Background(), "RESUME") },
	}
}

// hadr is ALTER DATABASE .. SET HADR for the shop's database on one server.
func (g *group) hadr(ctx context.Context, dsn, verb string) (err error) {
	var name string
	if err := g.primary.QueryRowContext(ctx, "SELECT QUOTENAME(DB_NAME())").Scan(&name); err != nil {
		return err
	}
	db, err := pool(dsn, "master")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "ALTER DATABASE "+name+" SET HADR "+verb); err != nil {
		return fmt.Errorf("%s data movement of %s: %w", verb, name, err)
	}
	return nil
}
