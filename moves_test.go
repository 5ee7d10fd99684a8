package readsplit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/unmarked"
	"github.com/readsplit/readsplit/session"
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
	x := newTrap(t, configured(func(c *readsplit.Config) { c.Guarantee = session.MonotonicReads }))
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
		const window, rounded = 5 * time.Second, time.Second
		began := time.Now()
		require.NotEmpty(t, s.TokenNow(), when)
		token, err := readsplit.Config{}.ParseToken(s.TokenNow())
		require.NoError(t, err)
		for _, unsure := range []time.Time{token.Unsure, s.ExportNow().Unsure} {
			assert.False(t, unsure.Before(began.Add(window-rounded)), when)
			assert.False(t, unsure.After(time.Now().Add(window+rounded)), when)
		}
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

// A transaction that was begun without a session after CoverUnscoped is waited for by
// carriers, while there are any that watch for such things.
func TestTransactionsOfNobody(t *testing.T) {
	x := newTrap(t)
	s := readsplit.NewSession()
	begin := func(ctx context.Context) *gorm.DB {
		tx := x.WithContext(ctx).Begin()
		require.NoError(t, tx.Error)
		return tx
	}
	s.CoverUnscoped()
	tx := begin(t.Context())
	assert.False(t, s.UnscopedOpen(), "nobody watches")
	require.NoError(t, tx.Rollback().Error)

	unmarked.Watch(func(context.Context) {})
	defer unmarked.Watch(nil)
	assert.False(t, s.UnscopedOpen())
	for end, by := range map[string]func(tx *gorm.DB) *gorm.DB{"commit": (*gorm.DB).Commit, "rollback": (*gorm.DB).Rollback} {
		tx = begin(t.Context())
		assert.True(t, s.UnscopedOpen(), end)
		later := readsplit.NewSession()
		later.CoverUnscoped()
		assert.False(t, later.UnscopedOpen(), "it was open before")
		assert.False(t, readsplit.NewSession().UnscopedOpen(), "it covers nothing")
		assert.False(t, s.InTransaction(), "it is not its own")
		require.NoError(t, by(tx).Error)
		assert.False(t, s.UnscopedOpen(), end)
	}
	require.NoError(t, x.WithContext(t.Context()).Create(&book{Title: "two"}).Error)
	assert.False(t, s.UnscopedOpen(), "the default transaction of a statement has ended with it")

	tx = begin(readsplit.WithSession(t.Context(), readsplit.NewSession()))
	assert.False(t, s.UnscopedOpen(), "it has a session")
	require.NoError(t, tx.Rollback().Error)

	ctx, cancel := context.WithCancel(t.Context())
	begin(ctx)
	assert.True(t, s.UnscopedOpen())
	cancel()
	eventually(t, "a transaction that was left to its context to end", func() bool { return !s.UnscopedOpen() })
}
