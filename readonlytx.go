package readsplit

import (
	"context"
	"database/sql"
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
