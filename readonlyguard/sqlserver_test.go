package readonlyguard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/readonlyguard"
)

// With the dialect of SQL Server texts are read as Transact-SQL, and no transaction is begun READ ONLY: the driver has
// no such option. The server below is PostgreSQL; nothing that only SQL Server understands gets to it.
func TestSQLServerDialect(t *testing.T) {
	s := openUnguarded(t, mode{})
	pool, err := s.db.DB()
	require.NoError(t, err)
	db, err := gorm.Open(named{postgres.New(postgres.Config{Conn: pool}), "sqlserver"}, &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	require.NoError(t, db.Use(readonlyguard.New()))
	s.db = db
	s.derive(t)

	for text, reason := range map[string]readonlyguard.Reason{
		"SELECT id FROM authors WITH (UPDLOCK)":                 readonlyguard.Locks,
		"INSERT INTO tags OUTPUT inserted.id VALUES ('x')":      readonlyguard.Writes,
		"SELECT NEXT VALUE FOR s":                               readonlyguard.Writes,
		"SET NOCOUNT ON EXEC tidy":                              readonlyguard.NotProven,
		"SELECT dbo.tidy(1)":                                    readonlyguard.CallsFunctions,
		"IF EXISTS (SELECT 1 FROM authors) DELETE FROM authors": readonlyguard.Writes,
	} {
		err, panicked := attempt(func() error { return s.reads.Raw(text).Scan(&[]int64{}).Error })
		require.True(t, panicked, text)
		var refusal *readonlyguard.Error
		require.ErrorAs(t, err, &refusal)
		assert.Equal(t, reason, refusal.Reason, text)
	}
	err, panicked := attempt(func() error {
		return s.reads.Clauses(clause.Locking{Strength: "UPDATE"}).First(&Author{}).Error
	})
	require.True(t, panicked)
	var refusal *readonlyguard.Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, readonlyguard.Locks, refusal.Reason, "SQL Server knows no FOR UPDATE, and the text would say nothing")

	err, panicked = attempt(func() error { return s.reads.CreateInBatches([]Tag{{}, {}, {}}, 2).Error })
	require.True(t, panicked)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	assert.Empty(t, s.log())

	require.NoError(t, s.reads.Transaction(func(tx *gorm.DB) error { return tx.Take(&Author{}).Error }))
	assert.Equal(t, "BEGIN", s.log()[0])
	s.usable(t)
}
