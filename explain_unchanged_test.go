package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// Explain sends nothing and changes nothing: with the only connection to each server
// taken it goes on, the monitor has asked nobody, and every counter and session is
// what it was.
func TestExplainChangesNothing(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow = time.Hour, time.Hour, 2*time.Hour
		c.MaxWait = time.Minute // whoever waits is noticed
	}))
	x.plugin.Pools(func(_, _ string, pool *sql.DB) { pool.SetMaxOpenConns(1) })
	ctx := nobody()
	s := readsplit.SessionFrom(ctx)
	require.NoError(t, x.WithContext(ctx).Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	x.plugin.Pools(func(_, _ string, pool *sql.DB) {
		conn, err := pool.Conn(limit(t))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
	})
	before := x.plugin.Status()
	writes, shown := s.Moves()
	changed := s.Changed()
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for range 20 {
		for _, mark := range []func(context.Context) context.Context{
			func(ctx context.Context) context.Context { return ctx }, readsplit.Fresh, readsplit.Stale, readsplit.AnyReplica,
			func(ctx context.Context) context.Context { return readsplit.AtMost(ctx, time.Millisecond) },
		} {
			report, err := readsplit.Explain(mark(within), x.DB, func(tx *gorm.DB) *gorm.DB {
				tx.Preload("Books").Find(&[]author{})
				tx.Create(&book{Title: "new"})
				tx.Begin().Find(&[]book{}).Commit()
				tx.Begin(&sql.TxOptions{ReadOnly: true}).Find(&[]book{}).Commit()
				tx.Migrator().HasTable("books_t")
				return tx.Raw("SELECT 1").Scan(new(int))
			})
			require.NoError(t, err)
			require.Len(t, report.Statements, 7, "%v", report)
		}
	}
	require.NoError(t, within.Err())
	after := x.plugin.Status()
	require.Equal(t, before.Reasons, after.Reasons)
	require.Equal(t, before.Captures, after.Captures)
	require.Equal(t, []uint64{before.ReplicaReads, before.PrimaryReads, before.Unsure, before.OtherHistory},
		[]uint64{after.ReplicaReads, after.PrimaryReads, after.Unsure, after.OtherHistory})
	for i := range before.Replicas {
		require.Equal(t, before.Replicas[i].Sampled, after.Replicas[i].Sampled)
		require.Equal(t, before.Replicas[i].Reads, after.Replicas[i].Reads)
	}
	writesAfter, shownAfter := s.Moves()
	require.Equal(t, []uint64{writes, shown}, []uint64{writesAfter, shownAfter})
	require.Equal(t, changed, s.Changed())
	require.Equal(t, []string{"one", "mine"}, x.titles(t))
}
