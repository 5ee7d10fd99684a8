package tdsenv

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tds"
)

// Server is one SQL Server of a [Cluster]. Its methods may be called from several goroutines.
type Server struct {
	cluster *Cluster
	name    string
	id      sqlval.UUID // replica_id
	door    door
	master  *master
	started time.Time

	// Under the cluster's lock.
	replicas map[*database]*replica
	faults   []*fault
	down     bool
	turns    map[int]int // of routing groups
	heldView map[*database][]replicaRow
	logins   []Login
	spid     uint16
	led      string // see leader
	open     map[*connection]bool
	resume   Undo // of ALTER DATABASE .. SET HADR SUSPEND
}

// Login is a login that a server has taken or refused.
type Login struct {
	User, Database, App string
	Library             string // the client's, such as go-mssqldb
	Server              string // the name that the client believes it connects to
	ReadOnly            bool   // ApplicationIntent=ReadOnly
	Listener            bool   // it came through the listener
	RoutedTo            string // where it was sent instead
	Refused             int32  // the number of the error, or 0
}

func newServer(c *Cluster, name string) *Server {
	s := &Server{cluster: c, name: name, started: time.Now(), id: engine.NewUUID(), replicas: map[*database]*replica{}, turns: map[int]int{}, open: map[*connection]bool{}}
	s.master = &master{server: s}
	s.master.writer = engine.NewWriter(engine.Empty(), func(*engine.State) error { return nil })
	return s
}

// Name is the server's name, such as SQL1.
func (s *Server) Name() string { return s.name }

// String is the name, such as SQL1.
func (s *Server) String() string { return s.name }

// Addr is host:port.
func (s *Server) Addr() string { return s.door.addr() }

// Port is the port of 127.0.0.1; a server that was killed gets it back.
func (s *Server) Port() int { return s.door.port }

// URL is the server's own READ_ONLY_ROUTING_URL, such as tcp://127.0.0.1:1433.
func (s *Server) URL() string { return "tcp://" + s.Addr() }

// DSN is for the first database, and for reading and writing.
func (s *Server) DSN() string { return s.cluster.dsn(s.Addr(), "", false) }

// DSNFor is for a database; "" is the login's own, which is master.
func (s *Server) DSNFor(database string) string { return s.cluster.dsnFor(s.Addr(), database, false) }

// ReadOnlyDSN is for the first database with ApplicationIntent=ReadOnly.
func (s *Server) ReadOnlyDSN() string { return s.cluster.dsn(s.Addr(), "", true) }

// ReadOnlyDSNFor is for a database with ApplicationIntent=ReadOnly.
func (s *Server) ReadOnlyDSNFor(database string) string {
	return s.cluster.dsnFor(s.Addr(), database, true)
}

// User is the name of the one login of all servers; Password is its password, which is random.
func (c *Cluster) User() string { return "app" }

// Password is the password of User.
func (c *Cluster) Password() string { return c.password }

func (c *Cluster) dsn(addr, database string, readOnly bool) string {
	if database == "" {
		c.mu.Lock()
		database = c.databases[0].name
		c.mu.Unlock()
	}
	return c.dsnFor(addr, database, readOnly)
}

// dsnFor has a dial timeout: a listener that routes to itself makes the driver dial for ever.
func (c *Cluster) dsnFor(addr, database string, readOnly bool) string {
	q := url.Values{"encrypt": {"disable"}, "dial timeout": {"10"}, "app name": {"readsplit"}}
	if database != "" {
		q.Set("database", database)
	}
	if readOnly {
		q.Set("ApplicationIntent", "ReadOnly")
	}
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(c.User(), c.password), Host: addr, RawQuery: q.Encode()}
	return u.String()
}

// Logins are the logins since the server was made, the oldest first.
func (s *Server) Logins() []Login {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return append([]Login(nil), s.logins...)
}

// Connections is how many clients are connected now.
func (s *Server) Connections() int {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	return len(s.open)
}

// Sever breaks all connections of clients once, and waits until their transactions are gone. New
// ones are taken.
func (s *Server) Sever() {
	s.sever()
}

func (s *Server) replica(db *database) *replica { return s.replicas[db] }

// listen opens the server's door for the first time.
func (s *Server) listen() error { return s.door.open(&s.cluster.running, s.accept) }

// start opens it again after a kill.
func (s *Server) start() error {
	s.cluster.mu.Lock()
	s.down, s.started = false, time.Now()
	s.cluster.mu.Unlock()
	if err := s.listen(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.cluster.mu.Lock()
	s.cluster.changed()
	s.cluster.mu.Unlock()
	return nil
}

func (s *Server) stop() {
	s.cluster.mu.Lock()
	s.down = true
	s.cluster.changed()
	s.cluster.mu.Unlock()
	s.door.close()
	s.sever()
}

func (s *Server) sever() {
	s.cluster.mu.Lock()
	var open []*connection
	for c := range s.open {
		c.sever()
		open = append(open, c)
	}
	s.cluster.mu.Unlock()
	for _, c := range open {
		<-c.done
	}
}

func (s *Server) accept(conn net.Conn) { s.serve(conn, false) }

// serve gives a client a goroutine of its own.
func (s *Server) serve(conn net.Conn, listener bool) {
	s.cluster.mu.Lock()
	// The listener belongs to the primary of this moment, which may be another one already.
	if s.down || s.cluster.closed || listener && s != s.cluster.primary {
		s.cluster.mu.Unlock()
		_ = conn.Close()
		return
	}
	s.spid++
	c := &connection{server: s, Conn: tds.NewConn(conn, 50+s.spid), spid: int(50 + s.spid), listener: listener, gone: make(chan struct{}), done: make(chan struct{})}
	s.open[c] = true
	s.cluster.running.Add(1)
	s.cluster.mu.Unlock()
	go func() {
		defer s.cluster.running.Done()
		defer close(c.done)
		c.run()
		s.cluster.mu.Lock()
		delete(s.open, c)
		s.cluster.mu.Unlock()
	}()
}

// door is a port that can be closed and opened again.
type door struct {
	mu   sync.Mutex
	port int
	l    net.Listener
}

func (d *door) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

// open listens, and hands every connection to accept. A port that somebody has taken meanwhile is
// waited for.
func (d *door) open(running *sync.WaitGroup, accept func(net.Conn)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var err error
	if d.port == 0 {
		d.l, d.port, err = listenBelow()
	} else {
		deadline := time.Now().Add(10 * time.Second)
		for {
			if d.l, err = net.Listen("tcp4", d.addr()); err == nil || time.Now().After(deadline) {
				break
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	if err != nil {
		return err
	}
	l := d.l
	running.Add(1)
	go func() {
		defer running.Done()
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				accept(conn)
			}
		}
	}()
	return nil
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.l != nil {
		_ = d.l.Close()
		d.l = nil
	}
}
