package readsplit

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// checkedRows are the rows of a read that runs in a transaction with its check. The
// transaction ends with them: neither database/sql nor the application knows of it.
type checkedRows struct {
	aheadRows // for what else the driver's rows can do
	h         *heldConn
	closed    bool
}

func newCheckedRows(rows driver.Rows, h *heldConn, rt *router) driver.Rows {
	return &checkedRows{aheadRows: aheadRows{Rows: rows, router: rt}, h: h}
}

// Next implements driver.Rows.
func (c *checkedRows) Next(dest []driver.Value) error { return c.Rows.Next(dest) }

// Close implements driver.Rows.
func (c *checkedRows) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	err := c.Rows.Close()
	c.h.end(context.Background())
	return err
}

// end ends the transaction of a check. A COMMIT where a statement has failed is a
// rollback. Whoever has the rows has them: that it could not be ended is no error of
// theirs, and the connection is closed.
func (h *heldConn) end(ctx context.Context) {
	if h.dead.Load() {
		return
	}
	// Not the caller's end: a connection in the middle of a transaction is of no use.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	defer cancel()
	if _, err := h.ask(ctx, "COMMIT"); err != nil {
		h.dead.Store(true)
	}
}

// checking is a context that has a transaction checked which begins with it.
type checking struct {
	context.Context
	*check
}

// checking is the context for a transaction that begins on s.
func (r *route) checking(ctx context.Context, s *server) context.Context {
	c := r.past().check
	if c == nil || c.server != s {
		return ctx
	}
	return &checking{ctx, c}
}

// stillShows asks the server that the transaction runs on, inside of it, whether it
// shows what the next statement asks for. A transaction stays on one server, so that
// what was shown in it once stays shown; the answer is why it does not.
func (t *readOnlyTx) stillShows(ctx context.Context, c *check) policy.Reason {
	if c.free() || c.judge(&t.shows, time.Now()).Target == policy.ToReplica {
		return policy.ReasonNone
	}
	rt := t.router
	pause := firstPause
	for {
		began := time.Now()
		var text string
		limited, cancel := context.WithTimeout(ctx, rt.cfg.SampleTimeout)
		err := t.replica.QueryRowContext(limited, c.server.full()).Scan(&text)
		cancel()
		if err != nil {
			return policy.ReasonReplicaFailed
		}
		answer, err := lsn.ParseCheck(text)
		if err != nil {
			return policy.ReasonReplicaFailed
		}
		t.shows = rt.monitor.Checked(c.server.index, began, answer.Sample, true)
		now := time.Now()
		d := c.judge(&t.shows, now)
		left := c.until.Sub(now)
		switch {
		case d.Target == policy.ToReplica:
			return policy.ReasonNone
		case d.Target == policy.Wait && left > 0 && rest(ctx, min(pause, left)):
			c.query.Waited += pause
			pause += pause / 2
		default:
			return d.Reason
		}
	}
}

// beginChecked begins a transaction on a connection to a balanced name. Where the
// server stays the same, what it has shown before the transaction holds for every
// snapshot in it. Elsewhere the question has to be asked inside, and proves something
// in READ COMMITTED alone.
func (h *heldConn) beginChecked(c *checking, opts driver.TxOptions) (driver.Tx, error) {
	l := h.link
	if l == nil {
		h.dead.Store(true)
		return nil, driver.ErrBadConn
	}
	if l.direct {
		if err := c.known(c.Context, h); err != nil {
			return nil, err
		}
		if err := h.apply(c.Context); err != nil {
			return nil, err
		}
		return h.begun(c.Context, opts)
	}
	tx, err := h.begun(c.Context, opts)
	if err != nil {
		return nil, err
	}
	if err = c.ask(c.Context, h, c.server.brief()); err == nil {
		err = h.applyLocal(c.Context)
	}
	if err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// errPooled refuses a statement whose settings would stay with a connection of a
// pooler's, for whoever gets that next.
var errPooled = errors.New("readsplit: this connection to a replica is behind a pooler, where a setting outlives its statement: only statements that the plugin runs can use it")
