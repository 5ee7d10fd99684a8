package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// late is a server that answers each question of a connection in turn: what was not read
// when a context ended is what the next question would be answered.
type late struct {
	mu        sync.Mutex
	open      int
	asked     int
	unwilling chan struct{} // open: questions are not answered
	err       error         // of the next question
}

type lateConn struct {
	s    *late
	left []string // answers that nobody has read
}

func (l *late) Connect(context.Context) (driver.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return &lateConn{s: l}, nil
}
func (l *late) Driver() driver.Driver                   { return nil }
func (c *lateConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not prepared") }
func (c *lateConn) Begin() (driver.Tx, error)           { return nil, errors.New("not begun") }
func (c *lateConn) Close() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.open--
	return nil
}

func (c *lateConn) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	c.s.mu.Lock()
	c.s.asked++
	c.left = append(c.left, fmt.Sprintf("r1 t 0/%d", c.s.asked))
	wait, err := c.s.unwilling, c.s.err
	c.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if wait != nil {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	text := c.left[0]
	c.left = c.left[1:]
	return &oneText{text: text}, nil
}

// A question that fails costs its connection, whatever it failed for: what the server still
// sends there is no answer of the next one.
func TestNoAnswerIsTakenForThatOfTheNextQuestion(t *testing.T) {
	for name, breaks := range map[string]func(l *late) func(){
		"the context ends": func(l *late) func() { l.unwilling = make(chan struct{}); return func() { l.unwilling = nil } },
		"bad connection":   func(l *late) func() { l.err = driver.ErrBadConn; return func() { l.err = nil } },
		"the server said":  func(l *late) func() { l.err = saidNo{}; return func() { l.err = nil } },
	} {
		t.Run(name, func(t *testing.T) {
			l := &late{}
			db := sql.OpenDB(l)
			defer db.Close()
			s := &source{dialer: &dialer{db: db}}
			ask := func() (lsn.LSN, error) {
				_, err := s.connect(t.Context())
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				defer cancel()
				at, _, connected, err := s.Position(ctx)
				require.True(t, connected)
				return at, err
			}
			at, err := ask()
			require.NoError(t, err)
			assert.Equal(t, lsn.LSN(1), at)
			mend := breaks(l)
			_, err = ask()
			require.Error(t, err)
			assert.Zero(t, l.open, "the connection is gone")
			assert.Nil(t, s.conn)
			mend()
			at, err = ask()
			require.NoError(t, err)
			assert.Equal(t, lsn.LSN(3), at)
			require.NoError(t, s.Close())
			assert.Zero(t, l.open)
		})
	}
}

// skipping is a driver around another one that can only prepare: database/sql would be told
// so by each query.
type skipping struct {
	lateConn
	prepared, closed int
}

func (c *skipping) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c *skipping) Driver() driver.Driver                        { return nil }
func (c *skipping) Close() error                                 { return nil }

func (c *skipping) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return nil, driver.ErrSkip
}

func (c *skipping) PrepareContext(context.Context, string) (driver.Stmt, error) {
	c.prepared++
	return &skippingStmt{c: c}, nil
}

type skippingStmt struct{ c *skipping }

func (s *skippingStmt) Close() error  { s.c.closed++; return nil }
func (s *skippingStmt) NumInput() int { return 0 }
func (s *skippingStmt) Exec([]driver.Value) (driver.Result, error) {
	return nil, errors.New("not executed")
}
func (s *skippingStmt) Query([]driver.Value) (driver.Rows, error) {
	return nil, errors.New("not queried without a context")
}

func (s *skippingStmt) QueryContext(ctx context.Context, _ []driver.NamedValue) (driver.Rows, error) {
	return s.c.lateConn.QueryContext(ctx, "", nil)
}

func TestQuestionToAWrappedDriverThatCannotQuery(t *testing.T) {
	c := &skipping{lateConn: lateConn{s: &late{}}}
	db := sql.OpenDB(c)
	defer db.Close()
	s := &source{dialer: &dialer{db: db}}
	_, err := s.connect(t.Context())
	require.NoError(t, err)
	for i := range 3 {
		at, standby, connected, err := s.Position(t.Context())
		require.NoError(t, err)
		assert.True(t, standby && connected)
		assert.Equal(t, lsn.LSN(i+1), at)
	}
	assert.Equal(t, []int{3, 3}, []int{c.prepared, c.closed}, "no statement is left open")
}
