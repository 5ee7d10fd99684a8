package drivertest

import (
	"context"
	"database/sql"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/sqlserver"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// pool opens a pool as readsplit does: the connector obeys contexts where sql.Open does not.
func pool(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector(dsn)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// open gives GORM a pool for a DSN.
func open(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(sqlserver.New(sqlserver.Config{Conn: pool(t, dsn)}), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	return db
}

const (
	limitFor = 30 * time.Second
	tick     = 5 * time.Millisecond
)

// limit is a context that no step of a test should outlast.
func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// alone starts one server for a test that needs no group.
func alone(t *testing.T) *tdsenv.Server {
	t.Helper()
	return tdsenv.Start(t, tdsenv.Config{Nodes: 1}).Primary()
}
