package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

const (
	books       = 100
	markerTable = "dbo.readsplit_marker"
)

// group is the servers of a trial.
type group struct {
	*database.Servers
	traced *counter // nil: real servers, which nobody has counting

	primary  *sql.DB
	replicas []*sql.DB
}

// counter has the double count the lists that it runs. Beside it every list carries the
// name of the server that made it: two witnesses, and neither is the router.
type counter struct {
	mu    sync.Mutex
	lists map[string]int
}

func (k *counter) trace(server, statement string) {
	if strings.Contains(statement, "served_by") {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lists[server]++
	}
}

// startGroup returns the servers that were named, or a new double: what a trial leaves
// of one must not be the next one's. The shop is there in any case.
func startGroup(ctx context.Context, named database.Servers, customers int, getenv func(string) string) (*group, error) {
	traced := &counter{lists: map[string]int{}}
	g := &group{Servers: &named}
	if err := named.Fill(ctx, getenv, tdsenv.Config{Trace: traced.trace}); err != nil {
		return nil, err
	}
	if g.Double != nil {
		g.traced = traced
	}
	if err := g.prepare(ctx, customers); err != nil {
		return nil, errors.Join(err, g.close(context.WithoutCancel(ctx)))
	}
	return g, nil
}

// prepare opens the lab's own connections, and the shop.
func (g *group) prepare(ctx context.Context, customers int) (err error) {
	if g.primary, err = pool(g.Primary, ""); err != nil {
		return err
	}
	for _, r := range g.Replicas {
		db, err := pool(r.DSN, "")
		if err != nil {
			return err
		}
		g.replicas = append(g.replicas, db)
	}
	db, err := database.Open(g.Primary, &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	err = shop.Create(ctx, db, shop.Stock{Books: books, Customers: customers})
	if err = errors.Join(err, database.ClosePool(db)); err != nil {
		return err
	}
	var made sql.NullInt64
	if err := g.primary.QueryRowContext(ctx, "SELECT OBJECT_ID('"+markerTable+"')").Scan(&made); err != nil {
		return fmt.Errorf("look for the marker table: %w", err)
	}
	if !made.Valid {
		if _, err := g.primary.ExecContext(ctx, lsn.SQLServerMarkerTable(markerTable)); err != nil {
			return fmt.Errorf("make the marker table: %w", err)
		}
	}
	return g.CaughtUp(ctx)
}

// pool connects to a server, in the database of its DSN or in another one.
func pool(dsn, database string) (*sql.DB, error) {
	cfg, err := msdsn.Parse(dsn)
	if err != nil {
		return nil, err
	}
	if database != "" {
		cfg.Database = database
	}
	return sql.OpenDB(mssql.NewConnectorConfig(cfg)), nil
}

func (g *group) close(ctx context.Context) error {
	var errs []error
	for _, db := range append(g.replicas, g.primary) {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(append(errs, g.Servers.Close(ctx))...)
}

// CaughtUp returns when every replica has as many orders as the primary, and the same
// newest one.
func (g *group) CaughtUp(ctx context.Context) error {
	have := func(db *sql.DB) (found string, err error) {
		err = db.QueryRowContext(ctx, "SELECT CONCAT(COUNT(*), ' to ', MAX(id)) FROM orders").Scan(&found)
		return found, err
	}
	want, err := have(g.primary)
	if err != nil {
		return fmt.Errorf("count the orders on the primary: %w", err)
	}
	for i, db := range g.replicas {
		var found string
		waited := orderlab.Until(ctx, g.Replicas[i].Name+" has caught up", func() bool {
			found, err = have(db)
			return err == nil && found == want
		})
		if waited != nil {
			return errors.Join(waited, err)
		}
	}
	return nil
}

// Reset sets the counters of every server to zero.
func (g *group) Reset(context.Context) error {
	if g.traced != nil {
		g.traced.mu.Lock()
		defer g.traced.mu.Unlock()
		clear(g.traced.lists)
	}
	return nil
}

// Lists returns how often each server has run the list query since Reset.
func (g *group) Lists(context.Context) (map[string]int, error) {
	if g.traced == nil {
		return nil, nil
	}
	g.traced.mu.Lock()
	defer g.traced.mu.Unlock()
	return maps.Clone(g.traced.lists), nil
}
