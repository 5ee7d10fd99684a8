package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

type insideKey struct{}

// insideRecorder keeps what it is told of statements in transactions, and what their
// contexts say.
type insideRecorder struct {
	mu   sync.Mutex
	told []observe.Statement
	ctx  []any
}

func (r *insideRecorder) ObserveStatement(ctx context.Context, s observe.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told, r.ctx = append(r.told, s), append(r.ctx, ctx.Value(insideKey{}))
}

// newest returns what was told since the last call, without repetitions: a statement
// that is prepared first is told of twice.
func (r *insideRecorder) newest() (told []observe.Statement, ctx any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, s := range r.told {
		if i == 0 || s != r.told[i-1] {
			told = append(told, s)
		}
		ctx = r.ctx[i]
	}
	r.told, r.ctx = nil, nil
	return told, ctx
}

// TestStatementsInsideAreTold: where each statement of a transaction runs, with the
// statement's own context, in which a tracing plugin has its span.
func TestStatementsInsideAreTold(t *testing.T) {
	for _, prepared := range []bool{false, true} {
		inside := &insideRecorder{}
		d := newDB(t, cluster(t), configured(boundless), configured(func(c *readsplit.Config) { c.Observers = []any{inside} }),
			gormConfigured(func(c *gorm.Config) { c.PrepareStmt = prepared }))
		counters(t, d, 4)
		d.eligible(t, "replica1", "replica2")
		primary := []observe.Statement{{Server: "primary", Reason: policy.ReasonInTransaction}}
		said := func(want []observe.Statement) {
			t.Helper()
			got, ctx := inside.newest()
			assert.Equal(t, want, got)
			assert.Equal(t, "mine", ctx)
		}
		mine := context.WithValue(t.Context(), insideKey{}, "mine")
		inside.newest()

		served(t, d.WithContext(mine))
		require.NoError(t, d.WithContext(mine).Exec("UPDATE counters SET n = n + 1").Error)
		got, _ := inside.newest()
		assert.Empty(t, got, "a decision tells of these")

		require.NoError(t, d.WithContext(mine).Table("counters").Where("id = 1").Update("n", 7).Error)
		said(primary)
		require.NoError(t, d.Transaction(func(tx *gorm.DB) error {
			require.Equal(t, "primary", served(t, tx.WithContext(mine)))
			said(primary)
			require.NoError(t, tx.WithContext(mine).Exec("UPDATE counters SET n = n + 1").Error)
			said(primary)
			return nil
		}))
		require.NoError(t, d.WithContext(readsplit.AnyReplica(t.Context())).Transaction(func(tx *gorm.DB) error {
			server := served(t, tx.WithContext(readsplit.AnyReplica(mine)))
			require.NotEqual(t, "primary", server)
			said([]observe.Statement{{Server: server, Replica: true, Reason: policy.ReasonAnyReplica}})
			return nil
		}, &sql.TxOptions{ReadOnly: true}))
	}
}
