package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// preparing is a driver whose statements tell who prepared and closed them.
type preparing struct {
	entered chan struct{} // a statement is being prepared
	block   chan struct{} // nil: at once; else preparing waits for it, or for the context

	made func(preparedStmt) driver.Stmt // nil: they are as they are

	mu       sync.Mutex
	prepared []string
	open     map[string]int
}

func (d *preparing) Connect(context.Context) (driver.Conn, error) { return preparingConn{d}, nil }
func (d *preparing) Driver() driver.Driver                        { return nil }

func (d *preparing) isOpen(text string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[text]
}

type preparingConn struct{ *preparing }

func (preparingConn) Close() error                        { return nil }
func (preparingConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (preparingConn) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c preparingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	if c.block != nil {
		c.entered <- struct{}{}
		select {
		case <-c.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if text == "bad" {
		return nil, errors.New("syntax error")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prepared = append(c.prepared, text)
	c.open[text]++
	st := preparedStmt{c.preparing, text}
	if c.made != nil {
		return c.made(st), nil
	}
	return st, nil
}

type preparedStmt struct {
	d    *preparing
	text string
}

func (s preparedStmt) Close() error {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	s.d.open[s.text]--
	return nil
}
func (preparedStmt) NumInput() int                              { return -1 }
func (preparedStmt) Exec([]driver.Value) (driver.Result, error) { return driver.RowsAffected(1), nil }
func (s preparedStmt) Query([]driver.Value) (driver.Rows, error) {
	if s.text == "stale" {
		return nil, stalePlan{}
	}
	return noRows{}, nil
}

type noRows struct{}

func (noRows) Columns() []string         { return []string{"c"} }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }

// stalePlan is PostgreSQL's refusal of a plan from before a change of the schema.
type stalePlan struct{}

func (stalePlan) Error() string    { return "cached plan must not change result type" }
func (stalePlan) SQLState() string { return "0A000" }

func newPreparing(t *testing.T, c *gorm.Config) (*preparing, *statements) {
	d := &preparing{entered: make(chan struct{}, 8), open: map[string]int{}}
	db := sql.OpenDB(d)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return d, newStatements(db, c)
}

// Whoever waits for a statement that somebody else prepares does not fail with
// that one's context.
func TestPreparerGivesUp(t *testing.T) {
	d, s := newPreparing(t, &gorm.Config{})
	d.block = make(chan struct{})
	gone, leave := context.WithCancel(context.Background())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := s.ExecContext(gone, "q"); first <- err }()
	<-d.entered
	go func() { _, err := s.ExecContext(context.Background(), "q"); second <- err }()
	leave()
	require.ErrorIs(t, <-first, context.Canceled)
	<-d.entered // the second prepares it itself
	close(d.block)
	require.NoError(t, <-second)

	// Whose own context ends fails, and leaves the statement to the others.
	_, err := s.ExecContext(gone, "q")
	require.ErrorIs(t, err, context.Canceled)
	_, err = s.ExecContext(context.Background(), "q")
	require.NoError(t, err)
	require.Equal(t, []string{"q"}, d.prepared)
}

func TestPreparedOnce(t *testing.T) {
	d, s := newPreparing(t, &gorm.Config{})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				if _, err := s.ExecContext(context.Background(), "q"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, []string{"q"}, d.prepared)

	_, err := s.ExecContext(context.Background(), "bad")
	require.EqualError(t, err, "syntax error")
	require.Len(t, s.byText, 1, "what cannot be prepared is not kept")

	s.close()
	require.Zero(t, d.isOpen("q"), "close joins what closes the statements")
}

func TestPreparedAfterAChange(t *testing.T) {
	d, s := newPreparing(t, &gorm.Config{})
	ctx := context.Background()
	rows, err := s.QueryContext(ctx, "q")
	require.NoError(t, err)
	s.reset()
	require.NoError(t, rows.Close(), "what is in use is closed later")
	_, err = s.ExecContext(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, []string{"q", "q /* plan 1 */"}, d.prepared, "the driver may know the first by its text")

	rows, err = s.QueryContext(ctx, "stale")
	require.NoError(t, err, "its text is another one by now")
	require.NoError(t, rows.Close())
	d, s = newPreparing(t, &gorm.Config{})
	_, err = s.QueryContext(ctx, "stale")
	require.ErrorIs(t, err, stalePlan{})
	rows, err = s.QueryContext(ctx, "stale")
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	require.Equal(t, []string{"stale", "stale /* plan 1 */"}, d.prepared)
	s.close()
	require.Zero(t, d.isOpen("stale"))
}

func TestPreparedAtMost(t *testing.T) {
	d, s := newPreparing(t, &gorm.Config{PrepareStmtMaxSize: 2})
	ctx := context.Background()
	for _, text := range []string{"a", "b", "a", "c", "a", "b"} {
		_, err := s.ExecContext(ctx, text)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"a", "b", "c", "b"}, d.prepared, "the least recently used goes")
	s.close()
	for text, n := range d.open {
		require.Zero(t, n, text)
	}
	_, err := s.ExecContext(ctx, "late")
	require.NoError(t, err)

	d, s = newPreparing(t, &gorm.Config{PrepareStmtTTL: 1})
	for range 3 {
		_, err := s.ExecContext(ctx, "a")
		require.NoError(t, err)
	}
	require.Equal(t, []string{"a", "a", "a"}, d.prepared)
	s.close()
	require.Zero(t, d.isOpen("a"))
}
