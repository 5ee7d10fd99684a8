package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy/latency"
	"github.com/readsplit/readsplit/retry"
)

// server is one replica: its pool, and what runs on it.
//
// What each read looks at comes first, and apart from what each read changes.
type server struct {
	index    int
	pool     *sql.DB
	prepared *statements             // for statements that come in prepared mode
	lanes    atomic.Pointer[[]*lane] // what groups have here for themselves; nil: nothing
	monitor  *monitor.Monitor
	held     *heldServer
	gone     atomic.Bool // removed, or about to be
	out      atomic.Bool // taken out of service: nothing begins there
	pooled   atomic.Bool // some connection is not known to lead to one server for good
	logical  bool        // fed by logical replication
	reserved bool        // for its groups, as what is logical always is: the site has no pool here
	// discovered says that Config.Discover has found it.
	discovered atomic.Bool

	meter latency.Meter // of reads: how many, and how long they take
	reads atomic.Uint64
	trial atomic.Bool  // a read is trying it although it is ejected
	tried atomic.Int64 // when the newest such read began, as Unix time in ns

	name   string
	dialer *dialer
	size   Pool // of Replica.Pool, without defaults
	// isolation is the server's default isolation level, once it was asked for.
	isolation atomic.Pointer[string]
	manner    manner
	wanted    func(context.Context) (settings, error) // see Config.Settings
	preparing *preparer                               // nil: prepared holds statements in prepared mode

	parking sync.Mutex // some of the pool's connections are kept out of it, see park

	mu    sync.Mutex
	conns map[*heldConn]struct{}
	life  context.Context // ends when the server is declared down
	end   context.CancelCauseFunc
}

func newServer(i int, r Replica, d *dialer, size Pool, prepare *gorm.Config) *server {
	s := &server{name: r.Name, index: i, dialer: d, size: r.Pool, reserved: r.Reserved || r.Logical, logical: r.Logical, conns: make(map[*heldConn]struct{})}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.pool = sql.OpenDB(connector{s})
	size.apply(s.pool)
	s.prepared = newStatements(s.pool, prepare)
	return s
}

// connector opens the connections of a replica's pool.
type connector struct{ s *server }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.s.dialer.db.Driver() }

// Connect implements driver.Connector. A connection is made read-only and asked
// what it reached before anybody can use it.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	s := c.s
	s.mu.Lock()
	life := s.life
	s.mu.Unlock()
	if err := context.Cause(life); err != nil {
		return nil, err
	}
	// A frozen server accepts connections and never answers. Nobody may hang on
	// it, also not database/sql's own goroutine, whose context never ends.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if most := s.dialer.asks().dials(); most > 0 {
		defer time.AfterFunc(most, func() { cancel(errDialTimeout) }).Stop()
	}
	defer context.AfterFunc(life, func() { cancel(context.Cause(life)) })()

	if s.balanced() {
		return s.connectName(ctx, life)
	}
	began := s.dialer.begins()
	h, err := s.dialer.dial(ctx)
	if err != nil {
		return nil, s.why(ctx, life, err)
	}
	if err := s.greet(ctx, h, began); err != nil {
		_ = h.Close()
		if errors.Is(err, monitor.ErrLeft) {
			return nil, driver.ErrBadConn // database/sql opens another
		}
		return nil, s.why(ctx, life, err)
	}
	return s.keep(life, h)
}

// keep takes a new connection into the pool.
func (s *server) keep(life context.Context, h *heldConn) (driver.Conn, error) {
	h.settings.wanted = s.wanted // what was asked until here is the plugin's own
	if s.preparing != nil {
		h.own = &ownStatements{of: s.preparing, byText: make(map[string]*ownStatement)}
	}
	s.mu.Lock()
	s.conns[h] = struct{}{}
	h.released = func() {
		s.mu.Lock()
		delete(s.conns, h)
		s.mu.Unlock()
	}
	s.mu.Unlock()
	switch {
	case life.Err() != nil:
		_ = h.Close()
		return nil, context.Cause(life)
	case s.monitor.Generation(s.index) != h.generation:
		// The server was lost after the question, and nobody has seen this connection
		// yet: database/sql opens another.
		_ = h.Close()
		return nil, driver.ErrBadConn
	}
	return h, nil
}

// why names the death of the server as the reason when that is what ended an
// attempt, so that it is not taken for the caller's own cancellation.
func (s *server) why(ctx, life context.Context, err error) error {
	if cause := context.Cause(life); cause != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// greet makes a new connection, which was begun to be opened at a time, read-only and
// tells the monitor what it reached.
func (s *server) greet(ctx context.Context, h *heldConn, dialed time.Time) error {
	for {
		before := s.monitor.Look(s.index).Dialed(dialed)
		c, err := s.dialer.asks().greet(ctx, func(ctx context.Context, query string) (string, error) {
			return askDriver(ctx, h, query)
		})
		if err != nil {
			return err
		}
		again, err := before.Connected(c)
		if err != nil {
			return err
		}
		h.generation = before.Generation()
		if !again && s.monitor.Generation(s.index) == h.generation {
			return nil
		}
	}
}

// askDriver reads the one text that a query of package lsn answers.
func askDriver(ctx context.Context, h *heldConn, query string) (string, error) {
	rows, err := h.queried(ctx, query)
	if err != nil {
		return "", err
	}
	if rows, ok := rows.(preparedRows); ok {
		defer rows.free()
	}
	dest := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(dest)
	if err == io.EOF { //nolint:errorlint // the contract of driver.Rows
		err = sql.ErrNoRows
	}
	if err == nil && len(dest) != 1 {
		err = fmt.Errorf("readsplit: %d columns, want 1", len(dest))
	}
	if err != nil {
		return "", errors.Join(err, rows.Close())
	}
	var text string
	switch v := dest[0].(type) {
	case string:
		text = v
	case []byte:
		text = string(v)
	default:
		err = fmt.Errorf("readsplit: the server answered a %T, want text", v)
	}
	// The connection is free for the next statement only after the end of this
	// one was read.
	if next := rows.Next(dest); !errors.Is(next, io.EOF) && err == nil {
		err = next
	}
	return text, errors.Join(err, rows.Close())
}

// die breaks off everything that runs on the server: the monitor has declared
// it down, and a frozen server gives no error by itself.
func (s *server) die() {
	s.mu.Lock()
	s.end(retry.ErrServerDead)
	for h := range s.conns {
		h.breakOff()
	}
	s.mu.Unlock()
	s.closeIdle()
}

// revive lets connections be made again.
func (s *server) revive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Err() != nil {
		s.life, s.end = context.WithCancelCause(context.Background())
	}
}

// void breaks off what runs on connections from before a generation: they lead to a
// run of the server that has ended, or to another server, and what is known of this
// one does not hold there.
func (s *server) void(generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.conns {
		if h.generation < generation {
			h.breakOff()
		}
	}
}

func (s *server) close() error {
	s.die()
	s.prepared.close()
	return errors.Join(s.closeLanes(), s.pool.Close(), s.dialer.close())
}

// poolOf returns the server's pool for reads of c.
func (s *server) poolOf(c *class) *sql.DB {
	if s == nil {
		return nil
	}
	return s.poolFor(c)
}
