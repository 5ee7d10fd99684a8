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
}
