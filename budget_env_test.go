package readsplit_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// newOverloaded is a trap whose replicas have all fallen behind, so that every read
// that wants one falls back on the primary.
func newOverloaded(t *testing.T, b overload.Budget, options ...dbOption) *trap {
	t.Helper()
	x := newTrap(t, append([]dbOption{configured(quick), saidToRead("nap"), configured(func(c *readsplit.Config) {
		c.PrimaryBudget = b
		c.MaxSampleAge, c.StickyWindow = longNewsAge, longNewsAge+time.Second // they lag, and are known
	})}, options...)...)
	x.past(t, napSchema)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	x.fallBehind(t)
	return x
}

// eachOverloaded runs a test with and without prepared statements.
func eachOverloaded(t *testing.T, b overload.Budget, test func(t *testing.T, x *trap)) {
	t.Helper()
	for _, prepared := range []bool{false, true} {
		t.Run(map[bool]string{false: "plain", true: "prepared"}[prepared], func(t *testing.T) {
			test(t, newOverloaded(t, b, prepareStmt(prepared)))
		})
	}
}

// napSchema is a function that works for a while.
const napSchema = "CREATE FUNCTION nap(seconds float8) RETURNS text LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(seconds); RETURN ''slept''; END'"

func (x *trap) fallBehind(t *testing.T) {
	t.Helper()
	for _, r := range x.cluster.Replicas() {
		injected(t)(r.PauseReplay(t.Context()))
	}
	execOn(t, x.cluster.Primary(), "SELECT pg_logical_emit_message(true, 'other', '')") // they would lack nothing
	eventually(t, "reads to fall back", func() bool {
		var name string
		tx := x.WithContext(readsplit.UseReplica(nobody())).Raw(whoSQL).Scan(&name)
		return tx.Error == nil && name == "primary" && reason(t, tx) == policy.ReasonLagging
	})
	require.Zero(t, x.budget().InUse)
}

func (x *trap) budget() overload.Status { return x.plugin.Status().Budget }

// occupy takes a place by rows that are left open.
func (x *trap) occupy(t *testing.T) *sql.Rows {
	t.Helper()
	rows, err := x.WithContext(readsplit.UseReplica(nobody())).Raw("SELECT generate_series(1, 3)").Rows()
	require.NoError(t, err)
	require.NoError(t, rows.Err())
	t.Cleanup(func() { _ = rows.Close() })
	return rows
}

// full takes all places.
func (x *trap) full(t *testing.T) []*sql.Rows {
	t.Helper()
	var all []*sql.Rows
	for x.budget().InUse < x.budget().Reads {
		all = append(all, x.occupy(t))
	}
	return all
}

func closed(t testing.TB, rows ...*sql.Rows) {
	t.Helper()
	for _, r := range rows {
		require.NoError(t, r.Close())
	}
}

// waits waits until n reads wait for a place.
func (x *trap) waits(t testing.TB, n int) {
	t.Helper()
	eventually(t, "reads to wait for a place", func() bool { return x.budget().Waiting == n })
}

// span is when a statement ran, by the clock of its server.
type span struct {
	Began, Ended time.Time
	Server       string
}

// spanSQL works for 10 ms and says when.
const spanSQL = "SELECT clock_timestamp() AS began, current_setting('cluster_name') AS server, nap(0.01) AS slept, clock_timestamp() AS ended"

// span runs a read that says when it ran.
func (x *trap) span(ctx context.Context) (span, error) {
	var s span
	err := x.WithContext(ctx).Raw(spanSQL).Scan(&s).Error
	return s, err
}

// most returns how many of the spans were under way at the same time at most.
func most(spans []span) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, s := range spans {
		edges = append(edges, edge{s.Began, 1}, edge{s.Ended, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.step - b.step
	})
	n, most := 0, 0
	for _, e := range edges {
		n += e.step
		most = max(most, n)
	}
	return most
}

// result is how a read ended that runs aside.
type result struct {
	span
	err error
}

// aside runs a read of its own session in a goroutine.
func (x *trap) aside(ctx context.Context) <-chan result {
	done := make(chan result, 1)
	go func() {
		s, err := x.span(ctx)
		done <- result{s, err}
	}()
	return done
}

// busy asserts that a read got the typed error.
func busy(t testing.TB, err error) *overload.BusyError {
	t.Helper()
	require.ErrorIs(t, err, overload.ErrPrimaryBusy)
	var b *overload.BusyError
	require.ErrorAs(t, err, &b)
	return b
}

// servedBy runs a query of books and returns who answered, and the decision.
func servedBy(t testing.TB, db *gorm.DB) (string, readsplit.Decision) {
	t.Helper()
	var b book
	tx := db.Session(&gorm.Session{NewDB: true}).Order("id").Limit(1).Find(&b)
	require.NoError(t, tx.Error)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	require.Equal(t, b.Server, d.Server, "the decision says what happened")
	return b.Server, d
}
