package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// trackedTx is a transaction on the primary. GORM has no callback for an
// explicit commit: this Commit is the only place that sees it. It must not have
// a BeginTx: GORM takes that for "not in a transaction yet".
type trackedTx struct {
	router *router
	ctx    context.Context // of Begin: when it is done, database/sql rolls back
	inner  gorm.Tx
	began  *lsn.History // of the primary, before it was asked to begin

	wrote     atomic.Bool
	nobodys   atomic.Bool // something was written without any session
	insert    atomic.Bool // synchronous_commit was touched
	everybody atomic.Bool // the schema was touched
	redefines atomic.Bool // and with it perhaps what functions and views do
	byText    atomic.Bool // COMMIT or ROLLBACK came as a text
	out       atomic.Bool // SQLTx has given it to the application

	// Statements of one transaction may run concurrently, and each may bring a
	// session in its own context.
	mu         sync.Mutex
	marks      []*marks
	first      [1]*marks // what marks begins in: few transactions have more sessions than one
	committing bool
	over       bool
	noted      bool        // begunByNobody
	unhook     func() bool // no longer end with ctx
	flushed    func()      // see commitsAsync; nil: the COMMIT is flushed before it is acknowledged
	unknown    error       // how COMMIT ended, where that does not say what became of it
}

// begin opens a transaction: on the primary, unless it is a read-only one that a
// replica may serve.
func (rt *router) begin(ctx context.Context, opts *sql.TxOptions) (gorm.ConnPool, error) {
	if tx, ok := readonlyguard.UnsentTx(ctx); ok {
		return tx, nil
	}
	sessionless(ctx)
	opts, reads := rt.readsOnly(ctx, opts)
	if reads {
		if err := ctx.Err(); err != nil {
			return (*readOnlyTx)(nil), err
		}
		return &readOnlyTx{router: rt, ctx: ctx, opts: *opts}, nil
	}
	rt.tellBegin(ctx, opts != nil && opts.ReadOnly, policy.ReasonInTransaction)
	// A nil of its type: from any other nil GORM makes an error of its own, for the
	// Rollback of a transaction that never began.
	return rt.beginTracked(ctx, opts)
}

// readsOnly returns the options for a transaction, and whether a replica may serve it.
func (rt *router) readsOnly(ctx context.Context, opts *sql.TxOptions) (*sql.TxOptions, bool) {
	if readonlyguard.IsReadOnly(ctx) {
		// The server refuses what the guard did not see.
		opts = readOnly(opts)
	}
	return opts, opts != nil && opts.ReadOnly && rt.splits() && !rt.closed.Load() && mayRunOnReplica(opts.Isolation)
}

// readOnly is opts for a transaction that only reads.
func readOnly(opts *sql.TxOptions) *sql.TxOptions {
	o := sql.TxOptions{ReadOnly: true}
	if opts != nil {
		o.Isolation = opts.Isolation
	}
	return &o
}

func (rt *router) beginTracked(ctx context.Context, opts *sql.TxOptions) (*trackedTx, error) {
	opts = rt.optionsFor(opts)
	began := rt.historyNow()
	inner, err := rt.beginPrimary(ctx, opts)
	if err != nil {
		return nil, rt.noticed(err)
	}
	t := &trackedTx{router: rt, ctx: ctx, inner: inner, began: began}
	t.marks = t.first[:0]
	t.join(ctx)
	t.begunByNobody(ctx)
	return t, nil
}

// beginPrimary opens a transaction on the primary's pool, whichever of GORM's
// two ways it offers.
func (rt *router) beginPrimary(ctx context.Context, opts *sql.TxOptions) (gorm.Tx, error) {
	var pool gorm.ConnPool
	var err error
	switch b := rt.target().(type) {
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
func (t *trackedTx) join(ctx context.Context) {
	if t == nil {
		return // Begin has failed
	}
	m := marksOf(ctx)
	if m.session == nil && m.request == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, have := range t.marks {
		if have == m || have.session == m.session && have.request == m.request {
			return
		}
	}
	t.marks = append(t.marks, m)
	if m.session == nil || t.over {
		return
	}
	m.session.ledgerOf(t.router) // a token that is asked for while t is open must know of it
	m.session.open.Add(1)
	m.session.ledgerOf(t.router) // TokenNow asks whom it has a ledger of
	if t.unhook == nil && t.ctx.Done() != nil {
		// Code that ends a transaction by cancelling its context need not call
		// Rollback, and its sessions would never get a token again.
		t.unhook = context.AfterFunc(t.ctx, t.abandoned)
	}
}

// saw takes in a statement of the transaction, and tells whether it may commit by
// itself.
func (t *trackedTx) saw(ctx context.Context, query string) (commits bool) {
	t.join(ctx)
	t.router.tellInside(ctx, nil, policy.ReasonInTransaction)
	info := t.router.classify(query)
	if info.Flags.Has(sqlclass.AsyncCommit) {
		t.commitsAsync()
		if info.Flags.Has(sqlclass.SetsSession) {
			t.router.noticeSettings(info) // it outlives the transaction
		}
	}
	over := t.byText.Load() // what comes now commits by itself
	switch info.Verb {
	case sqlclass.Commit, sqlclass.Rollback, sqlclass.PrepareTransaction:
		t.byText.Store(true)
	}
	if info.Class == sqlclass.Read || effectOf(info).none {
		return false
	}
	if info.Flags.Has(sqlclass.DDL) {
		t.everybody.Store(true)
		if info.Flags.Has(sqlclass.Redefines) {
			t.redefines.Store(true)
		}
	}
	if marksOf(ctx).session == nil && marksOf(t.ctx).session == nil {
		t.nobodys.Store(true)
	}
	t.wrote.Store(true)
	return over || info.Verb == sqlclass.Commit || info.Flags.Has(sqlclass.Multi|sqlclass.TxControl)
}

// commitsAsync notes that the COMMIT may be acknowledged before it is flushed. What is
// written must be seen within MaxLag from then on, also by those who did not write it.
func (t *trackedTx) commitsAsync() {
	t.insert.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flushed == nil && !t.over {
		t.flushed = plugins.asyncBegins(t.router)
	}
}

// endedByText records what a text has committed. Whatever comes after it is no
// longer in the transaction, which the driver does not know.
func (t *trackedTx) endedByText(committed bool) {
	if committed {
		t.byText.Store(true)
		t.record()
	}
}

// PrepareContext implements gorm.ConnPool.
func (t *trackedTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.saw(ctx, query)
	return t.inner.PrepareContext(ctx, query)
}

// ExecContext implements gorm.ConnPool.
func (t *trackedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	commits := t.saw(ctx, query)
	result, err := t.inner.ExecContext(ctx, query, args...)
	t.endedByText(commits)
	err = t.router.noticed(err)
	if commits {
		err = retry.WithOutcome(err)
	}
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (t *trackedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	commits := t.saw(ctx, query)
	rows, err := t.inner.QueryContext(ctx, query, args...)
	t.endedByText(commits)
	return rows, t.router.noticed(err)
}

// QueryRowContext implements gorm.ConnPool.
func (t *trackedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	commits := t.saw(ctx, query)
	row := t.inner.QueryRowContext(ctx, query, args...)
	t.endedByText(commits)
	return row
}

// StmtContext implements gorm.Tx. In prepared mode every statement comes this
// way, without its text.
func (t *trackedTx) StmtContext(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	if text, ok := textOf(stmt); !ok {
		t.join(ctx)
		t.wrote.Store(true)
		t.nobodys.Store(true)
		t.commitsAsync()
		t.byText.Store(true)
	} else if t.saw(ctx, text) {
		// It is run by others, and when it is over is not seen.
		t.byText.Store(true)
		for _, m := range t.concerned() {
			t.router.unsureOf(m, t.everybody.Load())
		}
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
	t.mu.Lock()
	t.committing = true
	t.mu.Unlock()
	gone := endedBefore(t.ctx)
	err := t.router.noticed(t.inner.Commit())
	// Recorded before the sessions are let go of, so that nobody can take a
	// token without it.
	defer t.end()
	t.shownByTx()
	outcome := retry.OfWrite(err)
	if gone && err == t.ctx.Err() { //nolint:errorlint // the very error: database/sql has sent nothing
		outcome = retry.NeverSent
	}
	switch {
	case t.out.Load() && errors.Is(err, sql.ErrTxDone):
		// Whoever got it from SQLTx has ended it; how is found out by the watch.
		return err
	case !t.wrote.Load():
	case outcome == retry.Committed || outcome != retry.Unknown && t.byText.Load():
		t.record()
	case outcome == retry.Unknown:
		for _, m := range t.concerned() {
			t.router.unsureOf(m, t.everybody.Load())
		}
		err = retry.WithOutcome(err)
		t.mu.Lock()
		t.unknown = err
		t.mu.Unlock()
	}
	t.router.handedBack(t)
	return err
}

// Rollback implements gorm.TxCommitter.
func (t *trackedTx) Rollback() error {
	err := t.inner.Rollback()
	if t.out.Load() && errors.Is(err, sql.ErrTxDone) {
		return err // as in Commit
	}
	t.router.handedBack(t)
	if t.byText.Load() && t.wrote.Load() {
		t.record()
	}
	t.shownByTx()
	t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	return retry.AfterUnknown(t.unknown, err)
}

// record records that what was written has been committed.
func (t *trackedTx) record() {
	everybody := t.everybody.Load()
	for _, m := range t.concerned() {
		t.router.wrote(m, t.insert.Load(), everybody, *t.began)
	}
	if everybody {
		t.router.schemaChanged(t.redefines.Load())
	}
}

// concerned returns whose writes the transaction holds: of the sessions of its
// statements, and of nobody in particular where something was written without
// any.
func (t *trackedTx) concerned() []*marks {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.marks[:len(t.marks):len(t.marks)]
	switch {
	case len(all) == 0:
		return nobodysMarks
	case t.nobodys.Load():
		all = append(all, noMarks)
	}
	return all
}

// nobodysMarks are those of a transaction without any. They are never changed.
var nobodysMarks = []*marks{noMarks}

// end lets go of the sessions, once.
func (t *trackedTx) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.letGo()
}

// abandoned is end when the context of Begin is done: database/sql rolls back by
// itself, unless a COMMIT is under way, which ends by itself too.
func (t *trackedTx) abandoned() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.committing {
		t.letGo()
	}
}

// letGo is end for a caller who holds mu.
func (t *trackedTx) letGo() {
	if t.over {
		return
	}
	t.over = true
	if t.noted {
		t.endedByNobody()
	}
	if t.unhook != nil {
		t.unhook()
	}
	if t.flushed != nil {
		t.flushed()
	}
	for _, m := range t.marks {
		if m.session != nil {
			m.session.open.Add(-1)
		}
	}
}

// GetDBConn implements gorm.GetDBConnector.
func (t *trackedTx) GetDBConn() (*sql.DB, error) {
	if t == nil {
		return nil, gorm.ErrInvalidDB
	}
	return t.router.primaryDB()
}
