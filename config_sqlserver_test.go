package readsplit_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/lsn"
)

// opensTransact installs a plugin on a gorm.DB of SQL Server's dialect.
func opensTransact(t *testing.T, cfg readsplit.Config) error {
	t.Helper()
	pool := sql.OpenDB(&transactDriver{})
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	db, err := gorm.Open(transactDialector{pool: pool}, &gorm.Config{DisableAutomaticPing: true})
	require.NoError(t, err)
	return db.Use(readsplit.New(cfg))
}

func testSQLServerField(t *testing.T) {
	for _, marker := range []string{"dbo.marker; DROP TABLE books", "a.b.c.d", "dbo.", "[a]]b]", " "} {
		err := opensTransact(t, readsplit.Config{SQLServer: lsn.SQLServer{Marker: marker}})
		require.ErrorContains(t, err, "Config.SQLServer.Marker", marker)
	}
	for _, marker := range []string{"dbo.marker", "marker", "[my schema].[my marker]"} {
		require.NoError(t, lsn.SQLServer{Marker: marker}.Validate(), marker)
	}
}

func TestSQLServerConfig(t *testing.T) {
	err := opensTransact(t, readsplit.Config{FollowPrimary: true, Replicas: []readsplit.Replica{{Name: "pg2", Dialector: postgres.Open("host=nowhere")}}})
	require.ErrorContains(t, err, "the listener of the availability group follows the primary")
	require.ErrorContains(t, err, `is of dialect "postgres", and its primary is not`)

	// A resolver's primary is a primary.
	err = opensTransact(t, readsplit.Config{Resolvers: []readsplit.Resolver{{
		Name: "archive", Tables: []any{"orders"}, Primary: namedDSN{DSN: "sqlserver://u:secret@ag1?database=shop&ApplicationIntent=ReadOnly"},
	}}})
	require.ErrorContains(t, err, "it is the primary, and its DSN asks for a replica")
	require.NotContains(t, err.Error(), "secret")
}

// namedDSN is a dialector that shows its DSN.
type namedDSN struct {
	transactDialector
	DSN string
}

// What works with SQL Server alone is not taken elsewhere without a word.
func TestSQLServerMarkerElsewhere(t *testing.T) {
	db, err := gorm.Open(postgres.New(postgres.Config{Conn: sql.OpenDB(&transactDriver{})}), &gorm.Config{DisableAutomaticPing: true})
	require.NoError(t, err)
	require.ErrorContains(t, db.Use(readsplit.New(readsplit.Config{SQLServer: lsn.SQLServer{Marker: "dbo.marker"}})), "Config.SQLServer.Marker is set for a database of dialect \"postgres\"")
}
