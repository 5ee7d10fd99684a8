package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what the application wants set on a connection while its
// statements run there, by name (see Config.Settings).
type settings map[string]string

// wanted asks the application for the settings of a context.
func (p *Plugin) wanted(ctx context.Context) (s settings, err error) {
	// It is asked from inside of database/sql, which after a panic would never get
	// its connection back.
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("readsplit: Config.Settings panicked: %v", r)
		}
	}()
	given, err := p.cfg.Settings(ctx)
	if err != nil {
		return nil, fmt.Errorf("readsplit: Config.Settings: %w", err)
	}
	s = make(settings, len(given))
	for name, value := range given {
		name = strings.ToLower(name) // to the server their case makes no difference
		if _, twice := s[name]; twice {
			return nil, fmt.Errorf("readsplit: Config.Settings returned %q twice, in different case: name it once", name)
		}
		s[name] = value
		switch name {
		case "session_authorization":
			// The server forgets the role with it, and the next context would run
			// without the one that it wants.
			return nil, fmt.Errorf("readsplit: Config.Settings returned %q, which changes the role as well: return role instead", name)
		case "default_transaction_read_only", "transaction_read_only", "default_transaction_isolation":
			// A promoted replica refuses what was taken for a read by the first, and
			// the level is known per server.
			return nil, fmt.Errorf("readsplit: Config.Settings returned %q, by which the plugin keeps writes away from replicas: leave it out; ask for it with the options of a transaction", name)
		}
	}
	return s, nil
}

// applied is the state of one connection's settings.
type applied struct {
	wanted func(context.Context) (settings, error) // nil: Config.Settings is not in use
	now    settings
	// inTx: a transaction keeps what it began with. What is set inside it is undone
	// by a rollback, after which nobody would know what is set.
	inTx bool
	// changed is told what was set.
	changed func(settings)
}

// apply sets what ctx wants, before a statement runs.
func (h *heldConn) apply(ctx context.Context) error {
	a := &h.settings
	if a.wanted == nil || a.inTx {
		return nil
	}
	if h.link != nil && !h.link.direct {
		if c, ok := ctx.(*attempt); ok && c.check != nil {
			return nil // it is set in the transaction of the check
		}
		return errPooled
	}
	want, err := a.wanted(ctx)
	if err != nil {
		return err
	}
	return h.set(ctx, want)
}

// applyLocal sets what ctx wants until the end of the transaction that is open.
func (h *heldConn) applyLocal(ctx context.Context) error {
	a := &h.settings
	if a.wanted == nil {
		return nil
	}
	want, err := a.wanted(ctx)
	if err != nil || len(want) == 0 {
		return err
	}
	c := configCalls{local: true}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		c.add(name, want[name])
	}
	if err := h.run(ctx, "SELECT "+c.text.String(), c.args); err != nil {
		return fmt.Errorf("readsplit: the settings that Config.Settings returned cannot be set: %w", err)
	}
	return nil
}

// configCalls are calls of set_config.
type configCalls struct {
	text  strings.Builder
	args  []driver.NamedValue
	local bool
}

func (c *configCalls) add(name string, value driver.Value) {
	for _, v := range []driver.Value{name, value} {
		c.args = append(c.args, driver.NamedValue{Ordinal: len(c.args) + 1, Value: v})
	}
	if c.text.Len() > 0 {
		c.text.WriteString(", ")
	}
	fmt.Fprintf(&c.text, "set_config($%s, $%s, %t)", strconv.Itoa(len(c.args)-1), strconv.Itoa(len(c.args)), c.local)
}

// set makes want all that is set on the connection.
func (h *heldConn) set(ctx context.Context, want settings) error {
	a := &h.settings
	if maps.Equal(a.now, want) {
		return nil
	}
	var c configCalls
	for _, name := range slices.Sorted(maps.Keys(a.now)) {
		if _, keep := want[name]; !keep {
			c.add(name, nil) // as RESET does
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have, ok := a.now[name]; !ok || have != want[name] {
			c.add(name, want[name])
		}
	}
	if err := h.run(ctx, "SELECT "+c.text.String(), c.args); err != nil {
		h.dead.Store(true) // some of it may be set
		return fmt.Errorf("readsplit: the settings that Config.Settings returned cannot be set: %w", err)
	}
	if a.now[searchPath] != want[searchPath] {
		// The same text means another table, of which the driver knows a plan.
		if err := forgetPlans(ctx, h.conn); err != nil {
			h.dead.Store(true)
			return fmt.Errorf("readsplit: the driver's prepared statements cannot be dropped: %w", err)
		}
	}
	a.now = maps.Clone(want)
	if a.changed != nil {
		a.changed(a.now)
	}
	return nil
}

const searchPath = "search_path"

// forgetPlans drops the statements that pgx has prepared on a connection, without
// compiling pgx into applications that do not use it:
// (*stdlib.Conn).Conn().DeallocateAll(ctx).
func forgetPlans(ctx context.Context, c driver.Conn) error {
	inner := reflect.ValueOf(c).MethodByName("Conn")
	if !inner.IsValid() || inner.Type().NumIn() != 0 || inner.Type().NumOut() != 1 {
		return nil
	}
	conn, ok := inner.Call(nil)[0].Interface().(interface{ DeallocateAll(context.Context) error })
	if !ok {
		return nil
	}
	return conn.DeallocateAll(ctx)
}

// run runs a query for what it does.
func (h *heldConn) run(ctx context.Context, query string, args []driver.NamedValue) error {
	if h.query == nil {
		return fmt.Errorf("readsplit: the driver's connection %T cannot query without preparing", h.conn)
	}
	rows, err := h.query.QueryContext(ctx, query, args)
	if err != nil {
		return err
	}
	dest := make([]driver.Value, len(rows.Columns()))
	for {
		switch err := rows.Next(dest); {
		case errors.Is(err, io.EOF):
			return rows.Close()
		case err != nil:
			return errors.Join(err, rows.Close())
		}
	}
}

// heldTx is a transaction on a connection with settings.
type heldTx struct {
	driver.Tx
	h *heldConn
}

func (t heldTx) Commit() error {
	err := t.Tx.Commit()
	t.h.settings.inTx = false
	return err
}

func (t heldTx) Rollback() error {
	err := t.Tx.Rollback()
	t.h.settings.inTx = false
	return err
}

// heldStmt is a prepared statement on a connection: database/sql runs it without
// asking the connection, which has settings to set, attempts to break off, and may
// be to a primary that another one has taken the place of.
type heldStmt struct {
	driver.Stmt
	h *heldConn
}

func (s heldStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.h.usable(); err != nil {
		return nil, err
	}
	if err := s.h.apply(ctx); err != nil {
		return nil, err
	}
	if a, ok := ctx.(*attempt); ok {
		return a.query(s.h, func(ctx context.Context) (driver.Rows, error) { return s.queried(ctx, args) })
	}
	return s.queried(ctx, args)
}

func (s heldStmt) queried(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, args)
	}
	return s.Stmt.Query(plainValues(args)) //nolint:staticcheck // what the driver has
}

func (s heldStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.h.usable(); err != nil {
		return nil, err
	}
	if err := s.h.apply(ctx); err != nil {
		return nil, err
	}
	if a, ok := ctx.(*attempt); ok {
		return a.exec(s.h, func(ctx context.Context) (driver.Result, error) { return s.executed(ctx, args) })
	}
	return s.executed(ctx, args)
}

func (s heldStmt) executed(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if e, ok := s.Stmt.(driver.StmtExecContext); ok {
		result, err := e.ExecContext(ctx, args)
		return result, s.h.acknowledged(err)
	}
	result, err := s.Stmt.Exec(plainValues(args)) //nolint:staticcheck // what the driver has
	return result, s.h.acknowledged(err)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (s heldStmt) CheckNamedValue(v *driver.NamedValue) error {
	if c, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return c.CheckNamedValue(v)
	}
	return s.h.CheckNamedValue(v)
}

func plainValues(args []driver.NamedValue) []driver.Value {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	return values
}

// resetTimeout is how long it may take to undo settings on a connection that goes
// back to the application's pool; after it the connection is closed.
const resetTimeout = 5 * time.Second

// borrowing is the primary's pool while Config.Settings is in use: each statement
// and transaction takes a connection out of the application's pool, sets what its
// context wants, and gives it back as it was.
type borrowing struct {
	from *sql.DB
	rt   *router
}

// newBorrowing returns a pool over from that keeps no connection of its own.
func newBorrowing(from *sql.DB, rt *router) *sql.DB {
	db := sql.OpenDB(borrowing{from, rt})
	db.SetMaxIdleConns(-1)
	return db
}

// Driver implements driver.Connector.
func (b borrowing) Driver() driver.Driver { return b.from.Driver() }

// Connect implements driver.Connector.
func (b borrowing) Connect(ctx context.Context) (driver.Conn, error) {
	h, err := (&dialer{db: b.from}).dial(ctx)
	if err != nil {
		return nil, err
	}
	h.lent = true
	h.settings = applied{wanted: b.rt.plugin.wanted, changed: b.rt.settingsChanged}
	return h, nil
}

// giveBack returns a borrowed connection to the application's pool.
func (h *heldConn) giveBack() {
	bad := h.dead.Load()
	if !bad && len(h.settings.now) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
		defer cancel()
		bad = h.set(ctx, nil) != nil
	}
	if bad {
		_ = h.holder.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = h.holder.Close()
}
