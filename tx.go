package readsplit

import (
	"context"
	"database/sql"
	"reflect"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// trackedTx is a transaction on the primary. GORM has no callback for an
// explicit commit: this Commit is the only place that sees it. It must not have
// a BeginTx: GORM takes that for "not in a transaction yet".
type trackedTx struct {
	p     *Plugin
	inner gorm.Tx

	wrote     atomic.Bool
	insert    atomic.Bool // synchronous_commit was touched
	everybody atomic.Bool // the schema was touched

	// Statements of one transaction may run concurrently, and each may bring a
	// session in its own context.
	mu    sync.Mutex
	marks []*marks
	over  bool
}

// begin opens a transaction: on the primary, unless it is a read-only one that a
// replica may serve.
func (p *Plugin) begin(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if p.closed.Load() {
		return nil, ErrClosed
	}
	if tx, ok := readonlyguard.UnsentTx(ctx); ok {
		return tx, nil
	}
	if readonlyguard.IsReadOnly(ctx) {
		// The server refuses what the guard did not see.
		readOnly := sql.TxOptions{ReadOnly: true}
		if opts != nil {
			readOnly.Isolation = opts.Isolation
		}
		opts = &readOnly
	}
	if opts != nil && opts.ReadOnly && len(p.servers) > 0 && mayRunOnReplica(opts.Isolation) {
		return &readOnlyTx{p: p, ctx: ctx, opts: *opts}, nil
	}
	t, err := p.beginTracked(ctx, opts)
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (p *Plugin) beginTracked(ctx context.Context, opts *sql.TxOptions) (*trackedTx, error) {
	inner, err := p.beginPrimary(ctx, opts)
	if err != nil {
		return nil, err
	}
	t := &trackedTx{p: p, inner: inner}
	t.join(marksOf(ctx))
	return t, nil
}

// beginPrimary opens a transaction on the primary's pool, whichever of GORM's
// two ways it offers.
func (p *Plugin) beginPrimary(ctx context.Context, opts *sql.TxOptions) (gorm.Tx, error) {
	var pool gorm.ConnPool
	var err error
	switch b := p.primary.(type) {
	case gorm.TxBeginner:
		// A nil *sql.Tx inside an interface is not nil.
		tx, err := b.BeginTx(ctx, opts)
		if err != nil {
			return nil, err
		}
		return tx, nil
	case gorm.ConnPoolBeginner:
		pool, err = b.BeginTx(ctx, opts)
	default:
		return nil, gorm.ErrInvalidTransaction
	}
	if err != nil {
		return nil, err
	}
	if tx, ok := pool.(gorm.Tx); ok {
		return tx, nil
	}
	return nil, gorm.ErrInvalidTransaction
}

// join adds the session of a statement to those that the commit concerns.
func (t *trackedTx) join(m *marks) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, have := range t.marks {
		if have == m || have.session == m.session && have.request == m.request {
			return
		}
	}
	t.marks = append(t.marks, m)
	if m.session != nil && !t.over {
		m.session.open.Add(1)
	}
}

// saw takes in a statement of the transaction.
func (t *trackedTx) saw(query string) {
	info := t.p.classify(query)
	if info.Flags.Has(sqlclass.AsyncCommit) {
		t.insert.Store(true)
		if info.Flags.Has(sqlclass.SetsSession) {
			t.p.noticeSettings(info) // it outlives the transaction
		}
	}
	if info.Class == sqlclass.Read || effectOf(info).none {
		return
	}
	if info.Flags.Has(sqlclass.DDL) {
		t.everybody.Store(true)
	}
	t.wrote.Store(true)
}

// PrepareContext implements gorm.ConnPool.
func (t *trackedTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.saw(query)
	return t.inner.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (t *trackedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	t.saw(query)
	return t.inner.ExecContext(ctx, query, args...)
}

// QueryContext implements gorm.ConnPool.
func (t *trackedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	t.saw(query)
	return t.inner.QueryContext(ctx, query, args...)
}

// QueryRowContext implements gorm.ConnPool.
func (t *trackedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	t.saw(query)
	return t.inner.QueryRowContext(ctx, query, args...)
}

// StmtContext implements gorm.Tx. In prepared mode every statement comes this
// way, without its text.
func (t *trackedTx) StmtContext(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	if text, ok := textOf(stmt); ok {
		t.saw(text)
	} else {
		t.wrote.Store(true)
		t.insert.Store(true)
	}
	return t.inner.StmtContext(ctx, stmt)
}

// textOf returns the SQL text of a prepared statement, which database/sql keeps
// in an unexported field.
func textOf(stmt *sql.Stmt) (string, bool) {
	f := reflect.ValueOf(stmt).Elem().FieldByName("query")
	if !f.IsValid() || f.Kind() != reflect.String {
		return "", false
	}
	return f.String(), true
}

// Commit implements gorm.TxCommitter.
func (t *trackedTx) Commit() error {
	err := t.inner.Commit()
	// Recorded before the sessions are let go of, so that nobody can take a
	// token without it.
	defer t.end()
	if !t.wrote.Load() {
		return err
	}
	marks := t.concerned()
	switch retry.OfWrite(err) {
	case retry.Committed:
		for _, m := range marks {
			t.p.wrote(m, t.insert.Load(), t.everybody.Load())
		}
		if t.everybody.Load() {
			t.p.resetPrepared()
		}
	case retry.Unknown:
		for _, m := range marks {
			t.p.unsure(m)
		}
	case retry.RolledBack, retry.NeverSent:
	}
	return err
}

// Rollback implements gorm.TxCommitter.
func (t *trackedTx) Rollback() error {
	err := t.inner.Rollback()
	t.end()
	return err
}

// concerned returns whose writes the transaction holds: of those that have a
// session, or of nobody in particular when none has.
func (t *trackedTx) concerned() []*marks {
	t.mu.Lock()
	defer t.mu.Unlock()
	var named []*marks
	for _, m := range t.marks {
		if m.session != nil {
			named = append(named, m)
		}
	}
	if len(named) == 0 {
		return t.marks
	}
	return named
}

// end lets go of the sessions, once.
func (t *trackedTx) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	for _, m := range t.marks {
		if m.session != nil {
			m.session.open.Add(-1)
		}
	}
}

// GetDBConn implements gorm.GetDBConnector.
func (t *trackedTx) GetDBConn() (*sql.DB, error) { return t.p.primaryDB() }
