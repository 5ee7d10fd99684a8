package readsplit

import (
	"context"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/retry"
)

// attempt is the context of one run of a read on a replica. It ends with the
// caller's context and, until the first row is there, at its own deadline
// (Config.AttemptTimeout). From then on it is the caller's context and nothing
// else: a context that was made for the attempt would have to be cancelled while
// the caller reads rows, or never.
//
// The deadline ends the wait for a connection through Done. A statement under way
// is broken off at its connection: the driver is given the caller's own context,
// which it watches as long as there are rows.
type attempt struct {
	context.Context // the caller's
	// ahead is where a small result is read into before the first row is given out;
	// nil: it is not.
	ahead *aheadRows
	// check is what has to be found out on the connection first; nil: nothing.
	check *check
	// limit is the deadline; nil: there is none.
	limit *limit
}

// limit is the deadline of an attempt. It is apart because few have one.
type limit struct {
	timer  *time.Timer
	unhook func() bool // no longer end with the caller's context
	done   chan struct{}
	state  atomic.Uint32 // changed under mu

	mu   sync.Mutex
	conn *heldConn // where a statement is under way
}

// States of an attempt.
const (
	attemptSettled uint32 = iota // it is the caller's context
	attemptRunning               // it has a deadline
	attemptLeft                  // the caller's context has ended meanwhile
	attemptExpired
)

// begin returns the context for a run of r on s, nil for the primary: the caller's
// own where nothing is to be done.
func (r *route) begin(ctx context.Context, s *server) context.Context {
	if r.attempt != nil {
		r.attempt = nil
	}
	if s == nil {
		return ctx
	}
	timeout := r.router.cfg.AttemptTimeout
	check := r.past().check
	checked := check != nil && check.server == s
	if timeout <= 0 && !r.ahead && !checked {
		return ctx
	}
	var a *attempt
	if r.ahead {
		both := &struct {
			attempt
			rows aheadRows
		}{}
		a, both.ahead, both.rows.router = &both.attempt, &both.rows, r.router
	} else {
		a = new(attempt)
	}
	a.Context = ctx
	if checked {
		a.check = check
	}
	if timeout > 0 {
		a.limit = newLimit(ctx, timeout)
	}
	r.attempt = a
	return a
}

func newLimit(ctx context.Context, timeout time.Duration) *limit {
	l := &limit{done: make(chan struct{})}
	l.state.Store(attemptRunning)
	l.timer = time.AfterFunc(timeout, l.expire)
	if ctx.Done() != nil {
		unhook := context.AfterFunc(ctx, l.leave)
		l.mu.Lock()
		l.unhook = unhook
		l.mu.Unlock()
	}
	return l
}

// over ends the run that begin began and reports whether it ended at its deadline.
func (r *route) over() (late bool) {
	a := r.attempt
	if a == nil {
		return false
	}
	r.attempt = nil
	return !a.limit.settle()
}

// Done implements context.Context.
func (a *attempt) Done() <-chan struct{} {
	if l := a.limit; l != nil && l.state.Load() != attemptSettled {
		return l.done
	}
	return a.Context.Done()
}

// Err implements context.Context.
func (a *attempt) Err() error {
	if l := a.limit; l != nil && l.state.Load() == attemptExpired {
		return context.DeadlineExceeded
	}
	return a.Context.Err()
}

func (l *limit) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.CompareAndSwap(attemptRunning, attemptExpired) {
		close(l.done)
		if l.conn != nil {
			l.conn.breakOff()
		}
	}
}

// leave is called when the caller's context ends.
func (l *limit) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.CompareAndSwap(attemptRunning, attemptLeft) {
		close(l.done)
	}
}

// settle makes the attempt the caller's context, unless its deadline has come.
func (l *limit) settle() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
	l.timer.Stop()
	if l.unhook != nil {
		l.unhook()
		l.unhook = nil
	}
	l.state.CompareAndSwap(attemptRunning, attemptSettled)
	return l.state.Load() != attemptExpired
}

// enter says that a statement of the attempt begins on h; leaves, that it failed
// there: h is somebody else's from then on.
func (l *limit) enter(h *heldConn) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state.Load() == attemptExpired {
		return retry.ErrAttemptTimeout
	}
	l.conn = h
	return nil
}

func (l *limit) leaves() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = nil
}

// checked finds out on h what has to be found out before the statement runs. begun
// says that it runs in a transaction since.
func (a *attempt) checked(h *heldConn) (begun bool, err error) {
	if a.check == nil {
		return false, nil
	}
	return a.check.pass(a.Context, h)
}

// query runs a query of an attempt on h, by run, which is given the context for
// the driver.
func (a *attempt) query(h *heldConn, run func(ctx context.Context) (driver.Rows, error)) (driver.Rows, error) {
	if err := a.limit.enter(h); err != nil {
		return nil, err
	}
	begun, err := a.checked(h)
	if err != nil {
		a.limit.leaves()
		return nil, err
	}
	rows, err := run(a.Context)
	if err != nil {
		if begun {
			h.end(a.Context)
		}
		a.limit.leaves()
		return nil, err
	}
	if begun {
		rows = newCheckedRows(rows, h, a.check.server.router())
	}
	if !a.limit.settle() {
		_ = rows.Close()
		return nil, retry.ErrAttemptTimeout
	}
	if a.ahead != nil {
		return a.ahead.read(rows)
	}
	return rows, nil
}

// exec is query for what returns no rows.
func (a *attempt) exec(h *heldConn, run func(ctx context.Context) (driver.Result, error)) (driver.Result, error) {
	if err := a.limit.enter(h); err != nil {
		return nil, err
	}
	begun, err := a.checked(h)
	if err != nil {
		a.limit.leaves()
		return nil, err
	}
	result, err := run(a.Context)
	if begun {
		h.end(a.Context)
	}
	if err != nil {
		a.limit.leaves()
		return nil, err
	}
	a.limit.settle()
	return result, nil
}
