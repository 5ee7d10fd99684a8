package testenv

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of DB
)

const (
	superuser = "postgres"
	// applicationName marks testenv's own connections in pg_stat_activity.
	applicationName = "readsplit-testenv"
)

// Server is one PostgreSQL server of a [Cluster]. Its methods may be called from several
// goroutines; faults of one server happen one after the other.
type Server struct {
	cluster *Cluster
	name    string
	dir     string // <cluster's folder>/<name>
	dataDir string
	relay   *relay // between this replica and its upstream; nil on the primary
	tcpPort atomic.Int32
	up      atomic.Bool // its processes run and are not frozen

	// turn holds one token: whoever has it may change what follows. A channel and not a mutex,
	// because who waits for a server that hangs must be able to give up.
	turn       chan struct{}
	postmaster *postmaster
	frozen     bool        // its processes are stopped
	diverged   bool        // its history is no longer the primary's: it can only be built anew
	adrift     bool        // it must be built anew even if it follows another server
	rebuilt    atomic.Bool // it was built anew, and who receives from it does not know yet

	faultsMu sync.Mutex // faults is read without the turn, to name them
	faults   []*fault   // those in force, the oldest first

	poolMu sync.Mutex
	pool   *sql.DB
}

func newServer(c *Cluster, name string) *Server {
	dir := filepath.Join(c.root, name)
	return &Server{cluster: c, name: name, dir: dir, dataDir: filepath.Join(dir, "data"), turn: make(chan struct{}, 1)}
}

// Name is the server's cluster_name: "primary", "replica1", "replica2" and so on. Ask any
// connection which server it reached with SHOW cluster_name.
func (s *Server) Name() string { return s.name }

// Port is the server's port on 127.0.0.1; it keeps it when a fault restarts it.
func (s *Server) Port() int { return int(s.tcpPort.Load()) }

// Addr is host:port.
func (s *Server) Addr() string { return "127.0.0.1:" + strconv.Itoa(s.Port()) }

// LogFile is the path of the server's log. Close removes it, see [Cluster.SaveLogs].
func (s *Server) LogFile() string { return filepath.Join(s.dir, "server.log") }

// DSN names the database postgres on this server, as key=value pairs with the superuser's
// password; pgx and gorm's postgres driver both take it.
func (s *Server) DSN() string { return s.DSNFor("postgres") }

// DSNFor is DSN for another database; it need not exist yet.
func (s *Server) DSNFor(database string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable",
		s.Port(), superuser, s.cluster.password, quoteValue(database))
}

// URL is DSN in the form postgres://user:password@host:port/database.
func (s *Server) URL() string { return s.URLFor("postgres") }

// URLFor is URL for another database.
func (s *Server) URLFor(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, s.cluster.password),
		Host:     s.Addr(),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// quoteValue writes a value of a key=value connection string.
func quoteValue(v string) string {
	if v != "" && !strings.ContainsAny(v, " '\\\t\n") {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}

// DB is a pool of at most 4 connections to the database postgres, as superuser, for the test's
// own questions to this server. It opens at the first call and connects at the first query; Close
// of the cluster closes it.
func (s *Server) DB() *sql.DB {
	s.poolMu.Lock()
	defer s.poolMu.Unlock()
	if s.pool == nil {
		pool, err := sql.Open("pgx", s.DSN()+" application_name="+applicationName)
		if err != nil { // no such driver, and we import it
			panic(fmt.Sprintf("%v", err))
		}
		pool.SetMaxOpenConns(4)
		s.pool = pool
	}
	return s.pool
}

// dropIdle empties the admin pool: its connections belong to the server's former life.
func (s *Server) dropIdle() {
	s.poolMu.Lock()
	defer s.poolMu.Unlock()
	if s.pool != nil {
		s.pool.SetMaxIdleConns(-1)
		s.pool.SetMaxIdleConns(2)
	}
}

// closePool closes the admin pool for good; one that was never opened is opened closed, so that
// a late call of DB gets errors and not a goroutine that nobody ends.
func (s *Server) closePool() error { return s.DB().Close() }

// String is the name and the faults in force, for a person.
func (s *Server) String() string {
	if faults := s.Faults(); len(faults) > 0 {
		return s.name + " (" + strings.Join(faults, ", ") + ")"
	}
	return s.name
}

// query runs f on a new connection that is closed afterwards: a pooled one could have been broken
// by the fault before, and its error would be taken for an answer.
func (s *Server) query(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	config, err := pgx.ParseConfig(s.DSN())
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	config.RuntimeParams["application_name"] = applicationName
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.name, err)
	}
	defer func() {
		// A server that freezes now would hold up the farewell for ever.
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(quick) // the answer is there already
	}()
	return f(ctx, conn)
}

// ask reads one row into dest on a new connection.
func (s *Server) ask(ctx context.Context, question string, dest ...any) error {
	return s.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		if err := conn.QueryRow(ctx, question).Scan(dest...); err != nil {
			return fmt.Errorf("ask %s: %w", s.name, err)
		}
		return nil
	})
}

// lock waits for this server's turn.
func (s *Server) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is busy with another fault: %w", s.name, context.Cause(ctx))
	}
}

func (s *Server) unlock() { <-s.turn }
