package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"reflect"
	"sync/atomic"
	"time"
)

// heldConn is a driver connection that was taken out of another pool. It passes
// everything on to the driver, whatever optional interfaces that has, and closes
// the connection for good when it is closed itself.
type heldConn struct {
	holder *sql.Conn
	conn   driver.Conn

	exec     driver.ExecerContext
	query    driver.QueryerContext
	prepare  driver.ConnPrepareContext
	begin    driver.ConnBeginTx
	ping     driver.Pinger
	reset    driver.SessionResetter
	valid    driver.Validator
	checker  driver.NamedValueChecker
	netConn  net.Conn // nil when the driver does not tell
	released func()   // told when the connection is closed
	// dead: it was open when its server was declared down. It is of no use any
	// more, and would cost a read an attempt.
	dead atomic.Bool
	// generation of the replica when the connection was asked what it reached.
	generation uint64
	// follows: it is to a primary that another one may take the place of. What it
	// acknowledges once it is dead counts for nothing.
	follows bool
	// lent: the connection goes back where it came from, instead of being closed.
	lent     bool
	settings applied
	link     *link          // nil: the name is that of one server
	own      *ownStatements // nil: statements run as they come
}

func (h *heldConn) hold(c driver.Conn) {
	h.conn = c
	h.exec, _ = c.(driver.ExecerContext)
	h.query, _ = c.(driver.QueryerContext)
	h.prepare, _ = c.(driver.ConnPrepareContext)
	h.begin, _ = c.(driver.ConnBeginTx)
	h.ping, _ = c.(driver.Pinger)
	h.reset, _ = c.(driver.SessionResetter)
	h.valid, _ = c.(driver.Validator)
	h.checker, _ = c.(driver.NamedValueChecker)
	h.netConn = socketOf(c)
}

// socketOf finds the network connection under pgx's driver connection, without
// compiling pgx into applications that do not use it:
// (*stdlib.Conn).Conn().PgConn().Conn().
func socketOf(c driver.Conn) net.Conn {
	v := reflect.ValueOf(c)
	for _, name := range [...]string{"Conn", "PgConn", "Conn"} {
		m := v.MethodByName(name)
		if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
			return socketOfTDS(c)
		}
		v = m.Call(nil)[0]
	}
	n, _ := v.Interface().(net.Conn)
	return n
}

// Prepare implements driver.Conn.
func (h *heldConn) Prepare(query string) (driver.Stmt, error) { return h.conn.Prepare(query) }

// Begin implements driver.Conn.
func (h *heldConn) Begin() (driver.Tx, error) {
	return h.conn.Begin() //nolint:staticcheck // driver.Conn demands the method
}

// Close implements driver.Conn.
func (h *heldConn) Close() error {
	if h.released != nil {
		h.released()
	}
	if h.lent {
		h.giveBack()
		return nil
	}
	// An error from Raw tells the other pool to close the connection instead of
	// keeping it idle.
	_ = h.holder.Raw(func(any) error { return driver.ErrBadConn })
	_ = h.holder.Close()
	return nil
}

// PrepareContext implements driver.ConnPrepareContext.
func (h *heldConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := h.usable(); err != nil {
		return nil, err
	}
	if err := h.apply(ctx); err != nil {
		return nil, err // the search path says what the names mean
	}
	stmt, err := h.prepared(ctx, query)
	if err == nil && h.own != nil {
		h.own.of.saw(stmt)
	}
	if err == nil && (h.settings.wanted != nil || !h.lent) {
		stmt = heldStmt{stmt, h} // what database/sql runs by it shall come by here
	}
	return stmt, err
}

func (h *heldConn) prepared(ctx context.Context, query string) (driver.Stmt, error) {
	if h.prepare == nil {
		return h.conn.Prepare(query)
	}
	return h.prepare.PrepareContext(ctx, query)
}

// ExecContext implements driver.ExecerContext.
func (h *heldConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if h.exec == nil && !h.prepares() {
		return nil, driver.ErrSkip
	}
	if err := h.usable(); err != nil {
		return nil, err
	}
	if err := h.apply(ctx); err != nil {
		return nil, err
	}
	if a, ok := ctx.(*attempt); ok {
		return a.exec(h, func(ctx context.Context) (driver.Result, error) { return h.sendExec(ctx, query, args) })
	}
	return h.sendExec(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (h *heldConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if h.query == nil && !h.prepares() {
		return nil, driver.ErrSkip
	}
	if h.follows || h.settings.wanted != nil {
		if err := h.ready(ctx); err != nil {
			return nil, err
		}
	}
	if a, ok := ctx.(*attempt); ok {
		return a.query(h, func(ctx context.Context) (driver.Rows, error) { return h.send(ctx, query, args) })
	}
	return h.send(ctx, query, args)
}

// ready makes h what a statement of ctx needs, where it can be.
func (h *heldConn) ready(ctx context.Context) error {
	if err := h.usable(); err != nil {
		return err
	}
	return h.apply(ctx)
}

// BeginTx implements driver.ConnBeginTx.
func (h *heldConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if err := h.usable(); err != nil {
		return nil, err
	}
	tx, err := h.beginsWith(ctx, opts)
	if err == nil && h.settings.wanted != nil {
		h.settings.inTx = true
		tx = heldTx{tx, h}
	}
	if err == nil && h.follows {
		tx = followTx{tx, h}
	}
	return tx, err
}

func (h *heldConn) beginsWith(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c, ok := ctx.(*checking); ok {
		return h.beginChecked(c, opts)
	}
	if err := h.apply(ctx); err != nil {
		return nil, err
	}
	return h.begun(ctx, opts)
}

func (h *heldConn) begun(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if h.begin == nil {
		return h.Begin()
	}
	return h.begin.BeginTx(ctx, opts)
}

// Ping implements driver.Pinger.
func (h *heldConn) Ping(ctx context.Context) error {
	if h.ping == nil {
		return nil
	}
	return h.ping.Ping(ctx)
}

// ResetSession implements driver.SessionResetter.
func (h *heldConn) ResetSession(ctx context.Context) error {
	if h.dead.Load() {
		return driver.ErrBadConn
	}
	if h.reset == nil {
		return nil
	}
	return h.reset.ResetSession(ctx)
}

// IsValid implements driver.Validator.
func (h *heldConn) IsValid() bool {
	return !h.dead.Load() && (h.valid == nil || h.valid.IsValid())
}

// CheckNamedValue implements driver.NamedValueChecker.
func (h *heldConn) CheckNamedValue(v *driver.NamedValue) error {
	if h.checker != nil {
		return h.checker.CheckNamedValue(v)
	}
	switch x := v.Value.(type) {
	case nil, int64, string, bool, float64, []byte, time.Time:
		return nil // as database/sql would find out on a longer way
	case int:
		v.Value = int64(x)
		return nil
	}
	return driver.ErrSkip
}
