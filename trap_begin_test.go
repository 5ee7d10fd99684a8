package readsplit_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// A transaction that could not begin is over: its Rollback, which many defer, adds
// no error of its own, and looking at it does no harm.
func TestBeginThatFails(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		for name, options := range map[string][]*sql.TxOptions{"read-write": nil, "read-only": {{ReadOnly: true}}} {
			tx := x.WithContext(ended).Begin(options...)
			require.ErrorIs(t, tx.Error, context.Canceled, name)
			require.ErrorIs(t, x.WithContext(ended).Begin(options...).Commit().Error, gorm.ErrInvalidTransaction, "as without the plugin")
			require.ErrorIs(t, tx.Find(&[]book{}).Error, context.Canceled, name)
			require.ErrorIs(t, tx.Create(&book{Title: "lost"}).Error, context.Canceled, name)
			require.Error(t, tx.Transaction(func(*gorm.DB) error { return nil }), name)
			_, ok := readsplit.DecisionOf(tx)
			require.False(t, ok, name)
			_, ok = readsplit.SQLTx(tx)
			require.False(t, ok, name)
			_, dbErr := tx.DB()
			err := tx.Rollback().Error
			if !x.PrepareStmt { // GORM's store is another matter, with the plugin or without
				require.Error(t, dbErr, name)
				require.Equal(t, context.Canceled.Error(), err.Error(), name)
			}
			err = x.WithContext(ended).Transaction(func(*gorm.DB) error { return nil }, options...)
			require.ErrorIs(t, err, context.Canceled, name)
		}
		require.Equal(t, []string{"one"}, x.titles(t))
	})
}
