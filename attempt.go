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
	// ahead asks for a small result to be read before the first row is given out.
	ahead *route
	// check is what has to be found out on the connection first; nil: nothing.
	check *check

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
	r.attempt = nil
	limit := r.router.cfg.AttemptTimeout
	checked := s != nil && r.check != nil && r.check.server == s
	if s == nil || limit <= 0 && !r.ahead && !checked {
		return ctx
	}
	a := &attempt{Context: ctx}
	if checked {
		a.check = r.check
	}
	if r.ahead {
		a.ahead = r
	}
	if limit > 0 {
		a.done = make(chan struct{})
		a.state.Store(attemptRunning)
		a.timer = time.AfterFunc(limit, a.expire)
		if ctx.Done() != nil {
			unhook := context.AfterFunc(ctx, a.leave)
			a.mu.Lock()
			a.unhook = unhook
			a.mu.Unlock()
		}
	}
	r.attempt = a
	return a
}

// over ends the run that begin began and reports whether it ended at its deadline.
func (r *route) over() (late bool) {
	a := r.attempt
	r.attempt = nil
	return a != nil && !a.settle()
}

// Done implements context.Context.
func (a *attempt) Done() <-chan struct{} {
	if a.state.Load() == attemptSettled {
		return a.Context.Done()
	}
	return a.done
}

// Err implements context.Context.
func (a *attempt) Err() error {
	if a.state.Load() == attemptExpired {
		return context.DeadlineExceeded
	}
	return a.Context.Err()
}

func (a *attempt) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.CompareAndSwap(attemptRunning, attemptExpired) {
		close(a.done)
		if a.conn != nil {
			a.conn.breakOff()
		}
	}
}

// leave is called when the caller's context ends.
func (a *attempt) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.CompareAndSwap(attemptRunning, attemptLeft) {
		close(a.done)
	}
}

// settle makes the attempt the caller's context, unless its deadline has come.
func (a *attempt) settle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = nil
	if a.timer != nil {
		a.timer.Stop()
	}
	if a.unhook != nil {
		a.unhook()
		a.unhook = nil
	}
	a.state.CompareAndSwap(attemptRunning, attemptSettled)
	return a.state.Load() != attemptExpired
}

// enter says that a statement of the attempt begins on h; leaves, that it failed
// there: h is somebody else's from then on.
func (a *attempt) enter(h *heldConn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Load() == attemptExpired {
		return retry.ErrAttemptTimeout
	}
	a.conn = h
	return nil
}

func (a *attempt) leaves() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.conn = nil
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
	if err := a.enter(h); err != nil {
		return nil, err
	}
	begun, err := a.checked(h)
	if err != nil {
		a.leaves()
		return nil, err
	}
	rows, err := run(a.Context)
	if err != nil {
		if begun {
			h.end(a.Context)
		}
		a.leaves()
		return nil, err
	}
	if begun {
		rows = newCheckedRows(rows, h, a.check.server.router())
	}
	if !a.settle() {
		_ = rows.Close()
		return nil, retry.ErrAttemptTimeout
	}
	if a.ahead != nil {
		return readAhead(rows, a.ahead.router)
	}
	return rows, nil
}

// exec is query for what returns no rows.
func (a *attempt) exec(h *heldConn, run func(ctx context.Context) (driver.Result, error)) (driver.Result, error) {
	if err := a.enter(h); err != nil {
		return nil, err
	}
	begun, err := a.checked(h)
	if err != nil {
		a.leaves()
		return nil, err
	}
	result, err := run(a.Context)
	if begun {
		h.end(a.Context)
	}
	if err != nil {
		a.leaves()
		return nil, err
	}
	a.settle()
	return result, nil
}
