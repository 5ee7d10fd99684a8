package readonlyguard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/readonlyguard"
)

// What the package comment admits: in these cases something is sent before the refusal, and never the write.
func TestWhatIsSentAllTheSame(t *testing.T) {
	s := open(t, mode{})

	err, panicked := attempt(func() error {
		return s.reads.Connection(func(tx *gorm.DB) error { return tx.CreateInBatches([]Author{{}, {}, {}}, 2).Error })
	})
	assert.True(t, panicked)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	assert.Equal(t, []string{"BEGIN", "ROLLBACK"}, s.log(), "on a *sql.Conn gorm begins without asking anybody")
	s.usable(t)

	s.reset()
	err, panicked = attempt(func() error {
		locked := func(tx *gorm.DB) *gorm.DB { return tx.Clauses(clause.Locking{Strength: "UPDATE"}) }
		return s.reads.Preload("Books", locked).Find(&[]Author{}).Error
	})
	assert.True(t, panicked)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	assert.Equal(t, []string{`SELECT * FROM "authors"`}, s.log(), "the parent of a Preload is read first")
	s.usable(t)
}
