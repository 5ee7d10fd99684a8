package main

import (
	"context"
	"database/sql"
	"errors"

	mssql "github.com/microsoft/go-mssqldb"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

var intent = pitfall{
	name:  "intent",
	title: "Trusting ApplicationIntent",
	done: "On the TDS double, with the real driver. First: the pool for reads is opened through the listener with `ApplicationIntent=readonly`, a spelling that the driver takes for no intent without a word; 20 reads. " +
		"Second: the intent is spelt right, and the address leads to a server that is not a secondary; 20 rows are written through the pool for reads.",
	instead: "An intent is a request. Any spelling but `ReadOnly`, a missing intent and a missing database are errors of `db.Use`, and each server is asked what it is: one that takes writes is warned about and not read from.",
	show:    showIntent,
}

// visit is what is written where nothing should be.
type visit struct {
	ID   uint
	Page string `gorm:"size:50"`
}

// misspelt is an intent to everybody but the driver, which compares the value letter by
// letter and says nothing.
const misspelt = "&ApplicationIntent=readonly"

func showIntent(ctx context.Context, s *stage.Stage) ([]finding, error) {
	const tries = 20
	group, err := tdsenv.New(ctx, tdsenv.Config{RoutingList: "(('SQL2','SQL3'),'SQL1')"})
	if err != nil {
		return nil, err
	}
	s.OnEnd(group.Close)
	primary, err := openSQLServer(s, group.Listener().DSN())
	if err != nil {
		return nil, err
	}
	if err := primary.AutoMigrate(&visit{}); err != nil {
		return nil, err
	}
	if err := group.WaitCaughtUp(ctx); err != nil {
		return nil, err
	}
	name := group.Primary().Name()

	// dbresolver, with a misspelt intent.
	naive, err := openSQLServer(s, group.Listener().DSN())
	if err != nil {
		return nil, err
	}
	resolver := dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{sqlserver.Open(group.Listener().DSN() + misspelt)}})
	if err := naive.Use(resolver); err != nil {
		return nil, err
	}
	s.OnEnd(func(context.Context) error { return orderlab.CloseResolver(resolver) })
	onPrimary := 0
	for range tries {
		var server string
		if err := naive.WithContext(ctx).Raw("SELECT @@SERVERNAME").Scan(&server).Error; err != nil {
			return nil, err
		}
		if server == name {
			onPrimary++
		}
	}

	// By hand, with an address that leads to a primary.
	reading, err := openSQLServer(s, group.Primary().ReadOnlyDSN())
	if err != nil {
		return nil, err
	}
	written := 0
	for range tries {
		if reading.WithContext(ctx).Create(&visit{Page: "written through the pool for reads"}).Error == nil {
			written++
		}
	}

	// readsplit, with the one and the other.
	refused := 0
	err = primary.Use(readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "SQL2", Dialector: sqlserver.Open(group.Listener().DSN() + misspelt)},
	}}))
	if err != nil {
		refused++
	}
	routed, err := openSQLServer(s, group.Listener().DSN())
	if err != nil {
		return nil, err
	}
	plugin := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "SQL1 again", Dialector: sqlserver.Open(group.Primary().ReadOnlyDSN())},
	}})
	if err := routed.Use(plugin); err != nil {
		return nil, err
	}
	s.OnEnd(plugin.Close)
	asReplica := 0
	for range tries {
		tx := routed.WithContext(stage.Customer(ctx)).Find(&[]visit{})
		if tx.Error != nil {
			return nil, tx.Error
		}
		if d, ok := readsplit.DecisionOf(tx); !ok || d.Replica {
			asReplica++
		}
	}
	return []finding{
		{"dbresolver", "reads that were sent to a secondary and ran on the primary (`readonly`)", onPrimary, tries},
		{"by hand", "writes that the pool for reads took (`ReadOnly`)", written, tries},
		{"readsplit", "configurations with `readonly` that db.Use refuses", refused, 1},
		{"readsplit", "reads that took the writable server for a replica", asReplica, tries},
	}, nil
}

// openSQLServer opens a pool whose connections obey contexts, which sql.Open's do not.
func openSQLServer(s *stage.Stage, dsn string) (*gorm.DB, error) {
	connector, err := mssql.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	s.OnEnd(func(context.Context) error { return pool.Close() })
	db, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: pool}), &gorm.Config{Logger: logger.Discard})
	return db, errors.Join(err)
}
