package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

// statements are one replica's prepared statements, by their text, where its connections do
// not keep their own (see preparer). GORM's own
// store is not used for replicas: it fails every reader that waits for the one
// whose context ended while it prepared, it closes statements that are in use
// when the schema changes, and its goroutine never ends.
type statements struct {
	db  *sql.DB
	max int           // how many are kept; 0: any number
	ttl time.Duration // how long one is kept; 0: for ever

	// instead is who prepares from the first statement on that was seen; nil: nobody.
	instead *preparer

	plans  plans
	mu     sync.Mutex
	byText map[string]*statement
	turn   uint64
	closed bool
	closes sync.WaitGroup // joined by close
}

// plans counts the changes of the schema that have made prepared statements of a
// server stale. A driver may know a statement by its text, and give the stale one
// again as long as anybody holds it: pgx does. So what is prepared after a change
// has another text.
type plans struct{ n atomic.Uint64 }

// text returns the text under which to prepare a query, and the count that it
// belongs to.
func (p *plans) text(query string) (text string, n uint64) {
	if n = p.n.Load(); n > 0 {
		query = planned(query, n)
	}
	return query, n
}

// planned is the text of a query for the plans that were made after n changes.
func planned(query string, n uint64) string {
	return query + " /* plan " + strconv.FormatUint(n, 10) + " */"
}

// stale takes in that a text that belonged to n is stale.
func (p *plans) stale(n uint64) { p.n.CompareAndSwap(n, n+1) }

// statement is one prepared statement. It is closed when it was dropped and
// nobody uses it any more.
type statement struct {
	ready chan struct{} // closed once stmt or err is set
	stmt  *sql.Stmt
	err   error
	plan  uint64
	made  time.Time

	// Guarded by statements.mu.
	users   int
	used    uint64 // turn of the last use
	dropped bool
}

func newStatements(db *sql.DB, c *gorm.Config) *statements {
	return &statements{
		db: db, max: max(c.PrepareStmtMaxSize, 0), ttl: max(c.PrepareStmtTTL, 0),
		byText: make(map[string]*statement),
	}
}

// QueryContext runs a query by its prepared statement.
func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := s.take(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := st.stmt.QueryContext(ctx, args...)
	s.put(query, st, err)
	return rows, err
}

// ExecContext runs a statement by its prepared statement.
func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	st, err := s.take(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := st.stmt.ExecContext(ctx, args...)
	s.put(query, st, err)
	return result, err
}

// take returns the prepared statement of a text; put gives it back.
func (s *statements) take(ctx context.Context, query string) (*statement, error) {
	for {
		st, mine := s.find(query)
		if mine {
			var text string
			text, st.plan = s.plans.text(query)
			st.stmt, st.err = s.db.PrepareContext(ctx, text)
			close(st.ready)
		} else {
			select {
			case <-st.ready:
			case <-ctx.Done():
				s.put(query, st, nil)
				return nil, ctx.Err()
			}
		}
		if st.err == nil {
			return st, nil
		}
		s.put(query, st, st.err)
		if mine || ctx.Err() != nil || !errors.Is(st.err, context.Canceled) && !errors.Is(st.err, context.DeadlineExceeded) {
			return nil, st.err
		}
		// Whoever prepared it gave up; that is no reason to fail here.
	}
}

// find returns the statement of a text for one more user; mine says that the
// caller has to prepare it.
func (s *statements) find(query string) (st *statement, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	st = s.byText[query]
	if st != nil && s.ttl > 0 && time.Since(st.made) > s.ttl {
		s.drop(query, st)
		st = nil
	}
	if st == nil {
		if s.max > 0 && len(s.byText) >= s.max {
			s.evict()
		}
		st, mine = &statement{ready: make(chan struct{}), made: time.Now()}, true
		s.byText[query] = st
	}
	st.users++
	st.used = s.turn
	return st, mine
}

// put ends one use. A statement that failed because of what it is, not of what
// it was given, is prepared anew the next time.
func (s *statements) put(query string, st *statement, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.users--
	stale := err != nil && retry.OfRead(err).Cause == retry.CauseStalePlan
	if stale {
		s.plans.stale(st.plan)
	}
	switch {
	case st.dropped:
		s.closeUnused(st)
	case s.instead.inUse():
		s.drop(query, st) // it will not be asked for any more
	case stale || err != nil && err == st.err: //nolint:errorlint // the very error of preparing
		s.drop(query, st)
	}
}

// evict drops the statement that was used least recently. The caller holds mu.
func (s *statements) evict() {
	var oldest string
	var st *statement
	for text, have := range s.byText {
		if st == nil || have.used < st.used {
			oldest, st = text, have
		}
	}
	if st != nil {
		s.drop(oldest, st)
	}
}

// drop forgets a statement. The caller holds mu.
func (s *statements) drop(query string, st *statement) {
	if st.dropped {
		return
	}
	st.dropped = true
	if s.byText[query] == st {
		delete(s.byText, query)
	}
	s.closeUnused(st)
}

// closeUnused closes a dropped statement, once nobody uses it. Closing talks to
// the server on every connection that the statement was used on, so it is done
// aside. The caller holds mu.
func (s *statements) closeUnused(st *statement) {
	switch {
	case st.users > 0 || st.stmt == nil:
	case s.closed:
		_ = st.stmt.Close() // with the pool, whose connections are broken off
	default:
		s.closes.Go(func() { _ = st.stmt.Close() })
	}
}

// reset drops every statement: the schema has changed, and with it what they
// return.
func (s *statements) reset() {
	s.plans.n.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, st := range s.byText {
		s.drop(text, st)
	}
}

// close drops every statement and joins what closes them.
func (s *statements) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.reset()
	s.closes.Wait()
}
