package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// keeping is a pool of one connection, which keeps the statements that it prepares on d.
func keeping(t *testing.T, d *preparing, of *preparer) *sql.DB {
	t.Helper()
	if of.plans == nil {
		of.plans = &plans{}
	}
	of.pooled = &atomic.Bool{}
	of.seen.Store(plainStatements)
	db := sql.OpenDB(keepingConnector{d, of})
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

type keepingConnector struct {
	*preparing
	of *preparer
}

func (c keepingConnector) Connect(context.Context) (driver.Conn, error) {
	h := &heldConn{own: &ownStatements{of: c.of, byText: map[string]*ownStatement{}}, lent: true}
	h.hold(queryingConn{preparingConn{c.preparing}})
	return unheld{h}, nil
}

// unheld is a connection that was taken out of no pool.
type unheld struct{ *heldConn }

func (unheld) Close() error { return nil }

// queryingConn can run a text without preparing it.
type queryingConn struct{ preparingConn }

func (c queryingConn) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepared = append(c.prepared, "unprepared "+text)
	return noRows{}, nil
}

func newDriver() *preparing { return &preparing{open: map[string]int{}} }

func runs(t *testing.T, db *sql.DB, text string, args ...any) error {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err == nil {
		require.NoError(t, rows.Close())
	}
	return err
}

func TestConnectionsKeepTheirStatements(t *testing.T) {
	d, of := newDriver(), &preparer{}
	db := keeping(t, d, of)
	for range 3 {
		require.NoError(t, runs(t, db, "q"))
		_, err := db.ExecContext(t.Context(), "e")
		require.NoError(t, err)
	}
	require.EqualError(t, runs(t, db, "bad"), "syntax error")
	require.EqualError(t, runs(t, db, "bad"), "syntax error", "what cannot be prepared is not kept")
	require.Equal(t, []string{"q", "e"}, d.prepared)

	of.pooled.Store(true)
	require.NoError(t, runs(t, db, "q"))
	require.Equal(t, []string{"q", "e", "unprepared q"}, d.prepared, "behind a pooler the next server has not prepared it")
}

// Many readers share a pool, and each connection is one reader's at a time.
func TestConnectionsKeepTheirStatementsConcurrently(t *testing.T) {
	d, of := newDriver(), &preparer{max: 2}
	db := keeping(t, d, of)
	db.SetMaxOpenConns(4)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 50 {
				if err := runs(t, db, string(rune('a'+(i+n)%4))); err != nil {
					t.Error(err)
				}
				if n%10 == 0 {
					of.plans.n.Add(1)
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, db.Close())
}

func TestConnectionsPrepareAnewAfterAChange(t *testing.T) {
	d, of := newDriver(), &preparer{}
	db := keeping(t, d, of)
	for _, text := range []string{"a", "b", "c"} {
		require.NoError(t, runs(t, db, text))
	}
	of.plans.n.Add(1)
	require.NoError(t, runs(t, db, "a"))
	require.Equal(t, []string{"a", "b", "c", "a /* plan 1 */"}, d.prepared, "the driver may know the first by its text")
	require.NoError(t, runs(t, db, "b"))
	require.Zero(t, d.isOpen("a")+d.isOpen("b")+d.isOpen("c"), "those from before are closed, some for each that is prepared")

	d = newDriver()
	of = &preparer{}
	db = keeping(t, d, of)
	require.ErrorIs(t, runs(t, db, "stale"), stalePlan{})
	require.NoError(t, runs(t, db, "stale"), "its text is another one by now")
	require.Equal(t, []string{"stale", "stale /* plan 1 */"}, d.prepared)
}

func TestConnectionsKeepAtMost(t *testing.T) {
	d, of := newDriver(), &preparer{max: 2}
	db := keeping(t, d, of)
	for _, text := range []string{"a", "b", "a", "c", "a", "b"} {
		require.NoError(t, runs(t, db, text))
	}
	require.Equal(t, []string{"a", "b", "c", "b"}, d.prepared, "the least recently used goes")
	require.Equal(t, 2, d.isOpen("a")+d.isOpen("b")+d.isOpen("c"), "and is closed at once")

	d, of = newDriver(), &preparer{ttl: 1}
	db = keeping(t, d, of)
	for range 3 {
		require.NoError(t, runs(t, db, "a"))
		for began := time.Now(); time.Since(began) < 2; { // until it is over
			continue
		}
	}
	require.Equal(t, []string{"a", "a", "a"}, d.prepared)
}

// Statements that say how many arguments they take are asked as database/sql asks them;
// those that say what is to be made of arguments are left to it.
func TestConnectionsAskStatementsForTheirArguments(t *testing.T) {
	d, of := newDriver(), &preparer{}
	d.made = func(s preparedStmt) driver.Stmt { return takesOne{s} }
	db := keeping(t, d, of)
	require.NoError(t, runs(t, db, "q", 1))
	require.EqualError(t, runs(t, db, "q"), "sql: expected 1 arguments, got 0")
	require.Equal(t, []string{"q"}, d.prepared)

	d, of = newDriver(), &preparer{}
	d.made = func(s preparedStmt) driver.Stmt { return checksItself{s} }
	db = keeping(t, d, of)
	of.seen.Store(unseenStatements)
	st, err := db.PrepareContext(t.Context(), "q")
	require.NoError(t, err)
	rows, err := st.QueryContext(t.Context(), checked{})
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	require.NoError(t, st.Close())
	require.False(t, of.inUse())
	require.NoError(t, runs(t, db, "p"))
	require.Equal(t, []string{"q", "unprepared p"}, d.prepared)
}

// Nobody knows what the statements of a driver are like before there was one.
func TestConnectionsPrepareOnceStatementsWereSeen(t *testing.T) {
	d, of := newDriver(), &preparer{}
	db := keeping(t, d, of)
	of.seen.Store(unseenStatements)
	require.False(t, of.inUse())
	first := newStatements(db, &gorm.Config{})
	first.instead = of
	rows, err := first.QueryContext(t.Context(), "q")
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	require.True(t, of.inUse())
	require.Empty(t, first.byText, "nobody asks for it any more")
	require.NoError(t, runs(t, db, "q"))
	require.NoError(t, runs(t, db, "q"))
	require.Equal(t, []string{"q", "q"}, d.prepared)
	first.close()
	require.Equal(t, 1, d.isOpen("q"))
	require.False(t, (*preparer)(nil).inUse())
}

type takesOne struct{ preparedStmt }

func (takesOne) NumInput() int { return 1 }

// checked is what no driver takes.
type checked struct{}

type checksItself struct{ preparedStmt }

func (checksItself) CheckNamedValue(v *driver.NamedValue) error {
	v.Value = int64(1)
	return nil
}
