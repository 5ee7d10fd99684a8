package database

import (
	"database/sql"
	"errors"
	"fmt"

	mssql "github.com/microsoft/go-mssqldb"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// poolSize is how many connections a pool may open, and keeps: database/sql's own two
// idle ones would have most requests log in first.
const poolSize = 32

// Open opens the server that writes go to. A pool that is made of a connector obeys the
// context also while it connects; what gorm.Open makes of a DSN by itself does not, with
// the version of the driver that GORM's module asks for.
func Open(dsn string, cfg *gorm.Config) (*gorm.DB, error) {
	pool, err := openPool(dsn)
	if err != nil {
		return nil, err
	}
	db, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: pool}), cfg)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

func openPool(dsn string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN of the primary: %w", err)
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(poolSize)
	pool.SetMaxIdleConns(poolSize)
	return pool, nil
}

// Config is what the plugin is told: the secondaries, each by an address of its own, so
// that each has a state of its own. The plugin makes their pools itself, and finds what
// is wrong with a DSN when it is used first: a missing ApplicationIntent=ReadOnly, or one
// in a spelling that the driver takes for none.
func (s *Servers) Config() (cfg readsplit.Config) {
	for _, r := range s.Replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name, Dialector: sqlserver.Open(r.DSN)})
	}
	return cfg
}

// ClosePool closes the pool of a gorm.DB, which is the application's own.
func ClosePool(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
