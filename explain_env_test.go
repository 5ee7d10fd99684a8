package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
)

// explained explains what run does and returns its statements.
func explained(t testing.TB, ctx context.Context, db *gorm.DB, run func(tx *gorm.DB) *gorm.DB) []explain.Statement {
	t.Helper()
	report, err := readsplit.Explain(ctx, db, run)
	require.NoError(t, err)
	return report.Statements
}

// foretold explains a statement that asks its server for its name, runs it, and
// asserts that what was said is what happened.
func foretold(t testing.TB, ctx context.Context, db *gorm.DB, servers []string, why policy.Reason) explain.Statement {
	t.Helper()
	var name string
	who := func(tx *gorm.DB) *gorm.DB { return tx.Raw(whoSQL).Scan(&name) }
	all := explained(t, ctx, db, who)
	require.Len(t, all, 1)
	s := all[0]
	require.Empty(t, name, "it was not run")
	require.NoError(t, s.Err)
	require.Equal(t, whoSQL, s.SQL)
	require.Equal(t, servers, s.Servers, "%v", s)
	require.Equal(t, why, s.Reason, "%v", s)
	tx := who(db.WithContext(ctx))
	require.NoError(t, tx.Error)
	require.Contains(t, s.Servers, name, "the server's own answer\n%v", s)
	if len(s.Before) == 0 {
		require.Equal(t, s.Reason, reason(t, tx), "%v", s)
	}
	return s
}

// longNews keeps what is known of servers valid for longer than a machine can be slow:
// what is explained and what is run next is decided by the same news.
func longNews(c *readsplit.Config) {
	c.MaxSampleAge, c.StickyWindow, c.SampleTimeout = 30*time.Second, time.Minute, 20*time.Second
}

var (
	onPrimary   = []string{"primary"}
	onReplicas  = []string{"replica1", "replica2"}
	onWhichever = []string{"replica1", "replica2", "primary"}
)

// usable waits until both replicas are known to have what was written while the test
// was set up, which binds all reads.
func (x *trap) usable(t testing.TB) {
	t.Helper()
	eventually(t, "both replicas to be usable", func() bool {
		s := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })
		return len(s) == 1 && len(s[0].Servers) == 2 && s[0].Replica() && len(s[0].Before) == 0
	})
}
