package waitdouble

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Options are how a Server behaves.
type Options struct {
	// Version is what it says its server_version_num is. Defaults to 190000.
	Version int
	// Old says that it does not know WAIT FOR LSN, whatever Version is.
	Old bool
}

// Counts are what came in.
type Counts struct {
	Waits       int // WAIT FOR LSN
	Away        int // of those, how many are under way
	MostAway    int // at once
	Questions   int // every other statement: simple queries and executed portals
	Connections int // ever opened
	Cancels     int // cancel requests
	Statements  []string
}

// Server stands in for one server. It starts one goroutine that accepts, and three for each
// connection; Close joins them.
type Server struct {
	real     *pgx.ConnConfig
	options  Options
	listener net.Listener
	life     context.Context
	end      context.CancelFunc
	all      sync.WaitGroup
	was, is  []byte // server_version_num, of the real server and of this one

	mu     sync.Mutex
	links  map[*link]struct{}
	counts Counts
	held   bool
	lies   bool

	side sync.Mutex
	conn *pgx.Conn
}

// Start stands in for the server of a DSN, with the rights of its role.
func Start(ctx context.Context, dsn string, o Options) (*Server, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	if o.Version == 0 {
		o.Version = 190000
	}
	s := &Server{real: config, options: o, links: map[*link]struct{}{}}
	s.life, s.end = context.WithCancel(context.Background())
	var version string
	if err := s.ask(ctx, "SHOW server_version_num", &version); err != nil {
		s.end()
		return nil, fmt.Errorf("ask the real server: %w", err)
	}
	s.was, s.is = []byte(" "+version+" "), []byte(" "+strconv.Itoa(o.Version)+" ")
	if len(s.was) != len(s.is) {
		s.end()
		return nil, fmt.Errorf("server_version_num %d and %s are not as long", o.Version, version)
	}
	if s.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		s.end()
		return nil, err
	}
	s.all.Go(s.accept)
	return s, nil
}

// DSN is a DSN to the real server, made one to this one.
func (s *Server) DSN(to string) string {
	return strings.Replace(to, fmt.Sprintf("port=%d", s.real.Port), fmt.Sprintf("port=%d", s.listener.Addr().(*net.TCPAddr).Port), 1)
}

// Counts returns what came in until now.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Statements = append([]string(nil), c.Statements...)
	return c
}

// Hold keeps answers to waits back, or lets them go: what is lost on the way.
func (s *Server) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// Lie has every wait end at once with success: what a connection to another server may say.
func (s *Server) Lie(lies bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lies = lies
}

// Close breaks every connection and returns when no goroutine is left.
func (s *Server) Close() {
	s.end()
	_ = s.listener.Close() // it can fail only by being closed already
	s.mu.Lock()
	for l := range s.links {
		l.close()
	}
	s.mu.Unlock()
	s.all.Wait()
	s.side.Lock()
	defer s.side.Unlock()
	s.drop()
}

// drop closes the connection for the server's own questions. The caller holds side.
func (s *Server) drop() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx) // it may be broken
	s.conn = nil
}

// ask asks the real server.
func (s *Server) ask(ctx context.Context, query string, into ...any) (err error) {
	s.side.Lock()
	defer s.side.Unlock()
	for range 2 { // the connection may be to a run that has ended
		if s.conn == nil {
			if s.conn, err = pgx.ConnectConfig(ctx, s.real.Copy()); err != nil {
				s.conn = nil
				return err
			}
		}
		if err = s.conn.QueryRow(ctx, query).Scan(into...); err == nil || ctx.Err() != nil {
			break
		}
		s.drop()
	}
	if err != nil {
		s.drop()
	}
	return err
}

func (s *Server) accept() {
	for {
		client, err := s.listener.Accept()
		if err != nil {
			return // closed: nothing else happens to a listener of a test
		}
		s.all.Go(func() { s.serve(client) })
	}
}

// serve is one connection of a client.
func (s *Server) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	message, code, err := readStartup(client)
	for err == nil && (code == sslRequest || code == gssRequest) {
		if _, err = client.Write([]byte{'N'}); err == nil {
			message, code, err = readStartup(client)
		}
	}
	if err != nil {
		return
	}
	if code == cancelRequest {
		s.cancel(message)
		return
	}
	upstream, err := s.dial()
	if err != nil {
		return
	}
	l := &link{s: s, client: client, real: upstream, status: 'I'}
	l.life, l.end = context.WithCancel(s.life)
	defer l.close()
	s.mu.Lock()
	s.links[l] = struct{}{}
	s.counts.Connections++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.links, l)
		s.mu.Unlock()
	}()
	if _, err := upstream.Write(message); err != nil {
		return
	}
	var back sync.WaitGroup
	back.Go(l.answers)
	defer back.Wait()
	defer l.close()
	l.questions()
}

func (s *Server) dial() (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	return d.DialContext(s.life, "tcp4", net.JoinHostPort(s.real.Host, strconv.Itoa(int(s.real.Port))))
}

// cancel ends a wait of this server's own, or passes the request on.
func (s *Server) cancel(message []byte) {
	s.mu.Lock()
	s.counts.Cancels++
	for l := range s.links {
		if bytes.Equal(l.key, message[8:]) && l.waits != nil {
			l.waits()
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	upstream, err := s.dial()
	if err != nil {
		return
	}
	defer func() { _ = upstream.Close() }()
	if _, err := upstream.Write(message); err == nil {
		_, _ = io.Copy(io.Discard, upstream) // until the server closes it
	}
}

// send writes messages of this server's own.
func (l *link) send(messages ...pgproto3.BackendMessage) error {
	l.writes.Lock()
	defer l.writes.Unlock()
	b := pgproto3.NewBackend(nil, l.client)
	for _, m := range messages {
		b.Send(m)
	}
	return b.Flush()
}
