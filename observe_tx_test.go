package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// decisions keeps every decision.
type decisions struct {
	mu  sync.Mutex
	all []observe.Decision
}

func (l *decisions) ObserveDecision(_ context.Context, d observe.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, d)
}

// take returns what was told since the last call, without what differs each time.
func (l *decisions) take() (all []observe.Decision) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.all {
		all = append(all, observe.Decision{Server: d.Server, Replica: d.Replica, Reason: d.Reason, Read: d.Read, Begins: d.Begins, Attempts: d.Attempts})
	}
	l.all = nil
	return all
}

// Where a transaction begins is told once, and not for each of its statements: most
// writes of an application that uses GORM as it comes are in one.
func TestObserversAreToldOfTransactions(t *testing.T) {
	told := &decisions{}
	d := newDB(t, cluster(t), configured(boundless), configured(func(c *readsplit.Config) {
		c.Observers, c.MaxWait = []any{told}, 30*time.Second // a replica is always worth waiting for
	}))
	counters(t, d, 4)
	d.eligible(t, "replica1", "replica2")
	onPrimary := func(read bool, why policy.Reason) []observe.Decision {
		return []observe.Decision{{Server: "primary", Reason: why, Read: read, Begins: true, Attempts: 1}}
	}
	look := func(tx *gorm.DB) error { return tx.Raw("SELECT sum(n) FROM counters").Scan(new(int)).Error }
	change := func(tx *gorm.DB) error { return tx.Exec("UPDATE counters SET n = n").Error }
	readOnly := &sql.TxOptions{ReadOnly: true}

	told.take()
	require.NoError(t, d.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, look(tx))
		return tx.Transaction(change) // a savepoint begins nothing
	}))
	assert.Equal(t, onPrimary(false, policy.ReasonInTransaction), told.take(), "explicit")

	require.NoError(t, d.Table("counters").Where("id = 1").Update("n", 5).Error)
	assert.Equal(t, onPrimary(false, policy.ReasonInTransaction), told.take(), "GORM's own")

	user := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(user).Transaction(func(tx *gorm.DB) error {
		require.Empty(t, told.take(), "it begins with its first statement")
		require.NoError(t, look(tx))
		return look(tx)
	}, readOnly))
	got := told.take()
	require.Len(t, got, 1)
	assert.Contains(t, []string{"replica1", "replica2"}, got[0].Server)
	assert.Contains(t, []policy.Reason{policy.ReasonCaughtUp, policy.ReasonWithinLag, policy.ReasonWaited}, got[0].Reason)
	assert.Equal(t, observe.Decision{Server: got[0].Server, Replica: true, Reason: got[0].Reason, Read: true, Begins: true, Attempts: 1}, got[0])

	require.NoError(t, d.WithContext(readsplit.Fresh(user)).Transaction(look, readOnly))
	assert.Equal(t, onPrimary(true, policy.ReasonFresh), told.take(), "its mark asks for the primary")

	require.ErrorContains(t, d.WithContext(user).Transaction(change, readOnly), "25006")
	assert.Equal(t, onPrimary(true, policy.ReasonUnknownStatement), told.take(), "its first statement is no read")

	require.NoError(t, d.WithContext(user).Transaction(look, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable}))
	assert.Equal(t, onPrimary(true, policy.ReasonInTransaction), told.take(), "a standby cannot run it")

	require.NoError(t, d.WithContext(user).Transaction(func(tx *gorm.DB) error {
		require.NoError(t, look(tx))
		got := told.take()
		require.Len(t, got, 1)
		require.True(t, got[0].Replica)
		return tx.WithContext(readsplit.Fresh(user)).Raw("SELECT 1").Scan(new(int)).Error
	}, readOnly))
	assert.Equal(t, onPrimary(true, policy.ReasonFresh), told.take(), "it had to move")
}
