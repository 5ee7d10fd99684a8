package readsplit_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// What a session did itself is told from what it was told.
func TestMovesOfASession(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	moved := func() [2]uint64 {
		writes, shown := s.Moves()
		return [2]uint64{writes, shown}
	}
	other := readsplit.NewSession()
	require.NoError(t, x.WithContext(readsplit.WithSession(t.Context(), other)).Create(&book{Title: "other"}).Error)
	s.Join(tokenOf(t, readsplit.WithSession(t.Context(), other)))
	s.Join("rubbish")
	s.Doubt()
	require.NoError(t, db.Find(&[]book{}).Error)
	rolledBack := errors.New("rolled back")
	require.ErrorIs(t, db.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Create(&book{Title: "gone"}).Error)
		return rolledBack
	}), rolledBack)
	assert.Equal(t, [2]uint64{}, moved(), "it was told, it has read, it has written nothing")
	assert.True(t, s.Changed(), "rubbish")

	require.NoError(t, db.Create(&book{Title: "two"}).Error)
	assert.Equal(t, [2]uint64{1, 0}, moved())
	require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Create(&book{Title: "three"}).Error)
		assert.Equal(t, [2]uint64{1, 0}, moved(), "not before its commit")
		return tx.Create(&book{Title: "four"}).Error
	}))
	assert.Equal(t, [2]uint64{2, 0}, moved())
	x.WithContext(t.Context()).Create(&book{Title: "nobody's"})
	assert.Equal(t, [2]uint64{2, 0}, moved())
}

func TestMovesOfMonotonicReads(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) { c.MonotonicReads = true }))
	db, ctx := x.session()
	require.NoError(t, db.Find(&[]book{}).Error)
	writes, shown := readsplit.SessionFrom(ctx).Moves()
	assert.Zero(t, writes)
	assert.Equal(t, uint64(1), shown)
}

// A session's first transaction is all that it has, and what it may write is told by
// those who cannot wait for its end.
func TestTokenNowInAFirstTransaction(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	assert.Empty(t, s.TokenNow())
	assert.Equal(t, readsplit.Token{}, s.ExportNow())
	doubtful := func(when string) {
		t.Helper()
		require.NotEmpty(t, s.TokenNow(), when)
		token, err := readsplit.Config{}.ParseToken(s.TokenNow())
		require.NoError(t, err)
		assert.WithinDuration(t, time.Now().Add(5*time.Second), token.Unsure, 2*time.Second, when)
		assert.WithinDuration(t, token.Unsure, s.ExportNow().Unsure, 2*time.Second, when)
	}
	tx := db.Begin()
	doubtful("before its first statement")
	require.NoError(t, tx.Create(&book{Title: "two"}).Error)
	doubtful("after it has written")
	require.NoError(t, tx.Commit().Error)
	token, err := s.Export(ctx)
	require.NoError(t, err)
	require.Len(t, token.Positions, 1)
	assert.Zero(t, token.Unsure)
	now := s.ExportNow()
	assert.Equal(t, token.Positions, now.Positions)
	assert.Zero(t, now.Unsure)
}
