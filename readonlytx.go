package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// readOnlyTx is a transaction that was begun with ReadOnly and may run on a
// replica. It begins with its first statement: that says whether it is a read,
// and a check of the session's position before the first statement holds for the
// snapshot that a REPEATABLE READ transaction takes then.
type readOnlyTx struct {
	router *router
	ctx    context.Context
	opts   sql.TxOptions
	wish   *wish // of the handle that began it

	mu         sync.Mutex
	replica    *sql.Tx
	server     *server
	generation uint64 // of the replica, see route
	class      *class // these three as of route
	aside      *class
	lifted     bool
	reason     policy.Reason
	primary    *trackedTx
	over       bool
	taken      time.Time // before the replica's transaction began
	read       bool      // a read has run on the replica, and with it the snapshot was taken
	// state are the statements that made the transaction what it is (SET LOCAL,
	// savepoints), which a move to the primary must not lose.
	state []stateStatement
	// shows is what the replica has shown inside the transaction, where it is one of
	// several behind a name.
	shows policy.Replica
}

type stateStatement struct {
	query string
	args  []any
}

// mayRunOnReplica reports whether a standby can run a transaction of this
// isolation level: it refuses SERIALIZABLE (SQLSTATE 0A000).
func mayRunOnReplica(level sql.IsolationLevel) bool {
	switch level {
	case sql.LevelDefault, sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSnapshot:
		return true
	}
	return false
}

// pick returns the transaction that a statement runs in. stateful says that the
// statement makes the transaction what it is, for keep.
func (t *readOnlyTx) pick(ctx context.Context, query string) (tx gorm.Tx, stateful bool, err error) {
	info := t.router.classify(query)
	t.mu.Lock()
	defer t.mu.Unlock()
	defer func() {
		if err == nil && tx == gorm.Tx(t.replica) {
			t.router.tellInside(ctx, t.server, t.reason)
		}
	}()
	read := info.Class == sqlclass.Read
	stateful = !read && statesOf(info, query)
	switch t.step(read, stateful) {
	case txOver:
		return nil, false, sql.ErrTxDone
	case txOnPrimary:
		return t.primary, false, nil
	case txBegins:
		t.read = read
		tx, err = t.begin(t.asker(ctx))
		return tx, stateful, err
	case txReads:
		r, reason, ok, err := t.stillRight(t.asker(ctx))
		if err != nil {
			return nil, false, err
		}
		if !ok {
			err = r.placed(func(*server) error {
				tx, err = t.moveToPrimary(reason)
				return err
			})
			r.keepTx(t.primary)
			return tx, false, err
		}
		t.read = true
		return t.replica, false, nil
	case txStays:
		return t.replica, true, nil
	case txMoves:
		tx, err = t.moveToPrimary(policy.ReasonUnknownStatement)
		return tx, false, err
	default:
		return nil, false, ErrWriteInReadOnlyTransaction
	}
}

// txStep is what a statement means for a read-only transaction.
type txStep uint8

const (
	txRefused   txStep = iota // not a read, after one that has run on the replica
	txOver                    // the transaction has ended
	txOnPrimary               // it is there, with whatever comes
	txBegins                  // it begins where the statement may run
	txReads                   // on the replica, if that is still right
	txStays                   // on the replica
	txMoves                   // nothing has been read yet: to the primary
)

// step says what comes of a statement. The caller holds mu.
func (t *readOnlyTx) step(read, stateful bool) txStep {
	switch {
	case t.over:
		return txOver
	case t.primary != nil:
		return txOnPrimary
	case t.replica == nil && (read || stateful):
		return txBegins
	case read:
		return txReads
	case stateful:
		return txStays
	case !t.read:
		return txMoves
	}
	return txRefused
}

// statesOf reports whether a statement does nothing but make its transaction what
// it is: SET LOCAL, set_config(.., true), savepoints. What it says of the
// transaction's own kind is for the primary, which can be of any kind.
func statesOf(info sqlclass.Info, query string) bool {
	return effectOf(info).none && info.Class == sqlclass.Unknown && !info.Flags.Has(sqlclass.SetsSession) &&
		info.Verb != sqlclass.SetTransaction && !strings.Contains(strings.ToLower(query), "transaction")
}

// keep remembers a statement that made the transaction what it is, once it has
// succeeded: one that failed must not run again on the primary.
func (t *readOnlyTx) keep(query string, args []any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.primary == nil {
		t.state = append(t.state, stateStatement{query, args})
	}
}

// asker returns the context whose marks count for a statement: its own, or the
// transaction's where it has none.
func (t *readOnlyTx) asker(ctx context.Context) context.Context {
	if marksOf(ctx) == noMarks {
		return t.ctx
	}
	return ctx
}

// begin opens the transaction on the replica that is right for its first read,
// or on the primary.
func (t *readOnlyTx) begin(ctx context.Context) (gorm.Tx, error) {
	var tx *sql.Tx
	r := &route{router: t.router, wish: t.wish, begins: true}
	err := r.read(ctx, "", func(s *server) error {
		if s == nil {
			_, err := t.moveToPrimary(0)
			return err
		}
		var err error
		t.taken = time.Now()
		// On the context of Begin, as database/sql promises: when that ends, the
		// transaction is rolled back.
		tx, err = s.poolFor(r.pooled()).BeginTx(r.checking(t.ctx, s), t.router.optionsFor(&t.opts))
		if err == nil {
			err = t.router.learnIsolation(ctx, s, tx)
		}
		if err != nil && tx != nil {
			_ = tx.Rollback()
		}
		return err
	}, func() { _ = tx.Rollback() })
	t.server, t.generation, t.reason = r.at, r.generation, r.reason
	t.class, t.aside, t.lifted = r.class, r.past().aside, r.past().lifted
	if c := r.past().check; c != nil && c.server == r.at {
		t.shows = c.facts
	}
	r.keepTx(t.primary)
	switch {
	case err != nil:
		return nil, err
	case t.primary != nil:
		return t.primary, nil
	case t.isolation() == "serializable":
		_ = tx.Rollback()
		return t.moveToPrimary(policy.ReasonReadOnlyTransaction)
	}
	t.replica = tx
	return tx, nil
}

// learnIsolation asks once what a transaction without an isolation level gets
// from this server. SHOW takes no snapshot, which a transaction that is
// REPEATABLE READ by default would keep.
func (rt *router) learnIsolation(ctx context.Context, s *server, tx *sql.Tx) error {
	if s.isolation.Load() != nil || rt.dialect == sqlclass.SQLServer {
		return nil
	}
	var level string
	err := tx.QueryRowContext(ctx, "SHOW default_transaction_isolation").Scan(&level)
	if err == nil {
		s.isolation.Store(&level)
	}
	return err
}

// isolation returns the level that the transaction runs at, in PostgreSQL's
// words.
func (t *readOnlyTx) isolation() string {
	switch t.opts.Isolation {
	case sql.LevelDefault:
		if t.server != nil {
			if level := t.server.isolation.Load(); level != nil {
				return *level
			}
		}
		return "read committed"
	case sql.LevelRepeatableRead, sql.LevelSnapshot:
		return "repeatable read"
	default:
		return "read committed"
	}
}

// stillRight checks the session's position again. A READ COMMITTED statement
// sees what was committed before it, so it must see what the session wrote since
// the transaction began; the snapshot of a REPEATABLE READ transaction is fixed.
//
// Where the answer is no, r has the place that the transaction needs on the primary;
// the error says that there is none.
func (t *readOnlyTx) stillRight(ctx context.Context) (r *route, reason policy.Reason, ok bool, err error) {
	if r = t.again(); r == nil {
		return nil, 0, true, nil
	}
	s, _, reason, err := r.choose(ctx, marksOf(ctx), "", 0)
	// Asked after the decision, which finds out about writes whose end nobody has seen.
	if err == nil && s != nil && t.read && t.router.keepsSnapshot() && t.router.owesSince(ctx, t.taken) {
		return r, policy.ReasonBehindSession, false, nil
	}
	if refusedByGroup(err) {
		r.unserved(ctx, reason, err)
		return r, reason, false, err
	}
	if err != nil {
		return r, reason, false, nil //nolint:nilerr // the primary may have it, or its own error
	}
	if c := r.past().check; s == t.server && c != nil && c.server == s {
		if why := t.stillShows(ctx, c); why != policy.ReasonNone {
			s, reason = nil, why
			if err := r.refusal(why); err != nil {
				r.unserved(ctx, policy.ReasonGroupRefused, err)
				return r, reason, false, err
			}
		}
	}
	if s == nil {
		if s, _, reason, err = r.admit(ctx, "", reason); err == nil && s == t.server {
			t.reason = reason
		}
	}
	return r, reason, err == nil && s == t.server, err
}

// again returns the route of the question whether the replica is still right for a
// read; nil: its snapshot is fixed.
func (t *readOnlyTx) again() *route {
	if t.read && t.isolation() != "read committed" && t.isolation() != "read uncommitted" {
		return nil
	}
	parent := &route{router: t.router, at: t.server, generation: t.generation, ran: true}
	parent.goesAs(t.class, t.aside, t.lifted)
	return &route{router: t.router, wish: t.wish, parent: parent}
}

// moveToPrimary begins on the primary. What ran on the replica so far were
// statements of their own that each saw a state of their own, so nothing is lost;
// the replica's transaction stays open until the end for rows that are still
// being read.
func (t *readOnlyTx) moveToPrimary(reason policy.Reason) (gorm.Tx, error) {
	if reason != 0 { // else the route has told
		t.router.tellBegin(t.ctx, true, reason)
	}
	tx, err := t.router.beginTracked(t.ctx, &t.opts)
	if err != nil {
		return nil, err
	}
	for _, s := range t.state {
		if _, err := tx.ExecContext(t.ctx, s.query, s.args...); err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
	}
	t.primary, t.server, t.reason = tx, nil, reason
	return tx, nil
}

// PrepareContext implements gorm.ConnPool. GORM's store of prepared statements
// belongs to the primary and keeps the statement, so it is prepared there;
// StmtContext prepares it again where the transaction runs. Once that is the
// primary its own connection is used: waiting for a second one would never end
// in a pool of one.
func (t *readOnlyTx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	t.mu.Lock()
	primary := t.primary
	t.mu.Unlock()
	if primary != nil {
		return primary.PrepareContext(ctx, query)
	}
	return t.router.target().PrepareContext(ctx, query)
}

// StmtContext implements gorm.Tx.
func (t *readOnlyTx) StmtContext(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	text, ok := textOf(stmt)
	if !ok {
		text = "" // not a read
	}
	tx, stateful, err := t.pick(ctx, text)
	if err != nil {
		return failing{err}.stmt()
	}
	if tx != gorm.Tx(t.replica) {
		return tx.StmtContext(ctx, stmt)
	}
	if stateful {
		if strings.Contains(text, "$") {
			// With which arguments it will run is not seen, so that it could not be run
			// again on the primary: it is better there from now on.
			return t.preparedOnPrimary(ctx, stmt)
		}
		t.keep(text, nil)
	}
	prepared, err := tx.PrepareContext(ctx, text)
	if err != nil {
		return failing{err}.stmt()
	}
	return prepared
}

func (t *readOnlyTx) preparedOnPrimary(ctx context.Context, stmt *sql.Stmt) *sql.Stmt {
	t.mu.Lock()
	tx, err := t.moveToPrimary(policy.ReasonUnknownStatement)
	t.mu.Unlock()
	if err != nil {
		return failing{err}.stmt()
	}
	return tx.StmtContext(ctx, stmt)
}

// ExecContext implements gorm.ConnPool.
func (t *readOnlyTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	result, err := tx.ExecContext(ctx, query, args...)
	t.shownByStatement(ctx)
	t.router.conflicted(err)
	if stateful && err == nil {
		t.keep(query, args)
	}
	return result, err
}

// QueryContext implements gorm.ConnPool.
func (t *readOnlyTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	t.shownByStatement(ctx)
	t.router.conflicted(err)
	if stateful && err == nil {
		t.keep(query, args)
	}
	return rows, err
}

// QueryRowContext implements gorm.ConnPool.
func (t *readOnlyTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	tx, stateful, err := t.pick(ctx, query)
	if err != nil {
		return failing{err}.row()
	}
	row := tx.QueryRowContext(ctx, query, args...)
	t.shownByStatement(ctx)
	if stateful && row.Err() == nil {
		t.keep(query, args)
	}
	return row
}

// Commit implements gorm.TxCommitter.
func (t *readOnlyTx) Commit() error {
	return t.end(func(tx gorm.TxCommitter) error { return tx.Commit() })
}

// Rollback implements gorm.TxCommitter.
func (t *readOnlyTx) Rollback() error {
	return t.end(func(tx gorm.TxCommitter) error { return tx.Rollback() })
}

func (t *readOnlyTx) end(how func(gorm.TxCommitter) error) error {
	t.shownByStatement(t.ctx) // prepared statements run past this
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return sql.ErrTxDone
	}
	t.over = true
	var errs []error
	if t.replica != nil {
		errs = append(errs, how(t.replica))
	}
	if t.primary != nil {
		errs = append(errs, how(t.primary))
		t.router.budget.release(holding{tx: t.primary})
	}
	return errors.Join(errs...)
}

// GetDBConn implements gorm.GetDBConnector.
func (t *readOnlyTx) GetDBConn() (*sql.DB, error) {
	if t == nil {
		return nil, gorm.ErrInvalidDB
	}
	return t.router.primaryDB()
}
