package tdsenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tds"
)

// connection is one client. Its own goroutine runs requests, and a second one reads, so that an
// attention is seen while a request runs.
type connection struct {
	*tds.Conn
	server   *Server
	listener bool
	spid     int
	session  *engine.Session
	prepared map[int32]prepared
	handles  int32
	after    func() // what happens once the request is answered; nil: nothing

	once sync.Once
	gone chan struct{} // closed when the connection is to end
	done chan struct{} // closed when it has, and its transaction is gone

	mu        sync.Mutex
	attention bool
	cancel    context.CancelFunc // of the request that runs
}

var errSevered = errors.New("the connection was severed")

// sever breaks the connection now, as the system does for a process that dies: the client can
// still write once, and then reads an end.
func (c *connection) sever() {
	c.once.Do(func() {
		close(c.gone)
		_ = c.Close()
	})
}

// run serves the client until it leaves or is left.
func (c *connection) run() {
	defer c.sever()
	if !c.login() {
		return
	}
	defer c.session.Close()
	messages := make(chan tds.Message)
	read := make(chan struct{})
	go func() {
		defer close(read)
		c.listen(messages)
	}()
	defer func() { <-read }()
	defer c.sever()
	for {
		select {
		case m := <-messages:
			if c.answer(m) != nil {
				return
			}
		case <-c.gone:
			return
		}
	}
}

// errGoodbye ends a connection behind an answer that the client is to read.
var errGoodbye = errors.New("the server ends the connection")

// listen reads messages. An attention ends the request that runs.
func (c *connection) listen(messages chan<- tds.Message) {
	for {
		m, err := c.Read()
		if err != nil {
			c.mu.Lock()
			if c.cancel != nil {
				c.cancel()
			}
			c.mu.Unlock()
			c.sever()
			return
		}
		if m.Kind == tds.Attention {
			c.mu.Lock()
			c.attention = true
			if c.cancel != nil {
				c.cancel()
			}
			c.mu.Unlock()
		}
		select {
		case messages <- m:
		case <-c.gone:
			return
		}
	}
}

// attended says whether an attention waits for its answer, which is given now.
func (c *connection) attended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.attention
	c.attention = false
	return was
}

// thawed waits while the server is frozen.
func (c *connection) thawed() error {
	for {
		cl := c.server.cluster
		cl.mu.Lock()
		is, changed := c.server.under(frozen), cl.wake
		cl.mu.Unlock()
		select {
		case <-c.gone:
			return errSevered
		default:
		}
		if !is {
			return nil
		}
		select {
		case <-changed:
		case <-c.gone:
			return errSevered
		}
	}
}

func (c *connection) respond(proc bool) *tds.Response {
	r := c.Respond(proc)
	r.Server, r.Before = c.server.name, c.thawed
	return r
}

// login reads PRELOGIN and LOGIN7 and says whether the client is in.
func (c *connection) login() bool {
	for {
		m, err := c.Read()
		if err != nil || c.thawed() != nil {
			return false
		}
		switch m.Kind {
		case tds.Prelogin:
			if _, err := tds.ParsePrelogin(m.Payload); err != nil {
				return false
			}
			if err := c.AnswerPrelogin(); err != nil {
				return false
			}
		case tds.Login:
			h, err := tds.ParseLogin(m.Payload)
			return err == nil && c.admit(h)
		default:
			return false
		}
	}
}

// admit takes, routes or refuses a login.
func (c *connection) admit(h tds.Handshake) bool {
	s := c.server
	record := Login{User: h.User, Database: h.Database, App: h.App, Library: h.Library, Server: h.Server, ReadOnly: h.ReadOnly, Listener: c.listener}
	db, route, refusal := c.place(h)
	if f := s.failure("LOGIN", true, false); f != nil {
		if refusal = f.err(); refusal == nil {
			record.Refused = -1
			s.record(record)
			return false
		}
	}
	if refusal != nil {
		record.Refused = refusal.Number
		s.record(record)
		_ = c.Refuse(s.name, refusal) // the connection ends either way
		return false
	}
	if route != nil {
		record.RoutedTo = fmt.Sprintf("%s:%d", route.Host, route.Port)
	}
	s.record(record)
	if err := c.LoggedIn(h, s.name, db.Name(), route); err != nil {
		return false
	}
	c.session = engine.NewSession(&host{c.server, h.ReadOnly}, db)
	c.session.User, c.session.App, c.session.SPID = h.User, h.App, c.spid
	c.prepared = map[int32]prepared{}
	return true
}

func (s *Server) record(l Login) {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	s.logins = append(s.logins, l)
}

// place finds the database of a login, or another server for it.
func (c *connection) place(h tds.Handshake) (engine.Database, *tds.Route, *sqlval.Error) {
	s, cl := c.server, c.server.cluster
	if h.User != cl.User() || h.Password != cl.password {
		return nil, nil, atLogin(18456, "Login failed for user '%s'.", h.User)
	}
	if h.Database == "" || strings.EqualFold(h.Database, "master") {
		return s.master, nil, nil
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	db := cl.database(h.Database)
	if db == nil {
		return nil, nil, unknownDatabase(h.Database)
	}
	r := s.replica(db)
	var refusal *sqlval.Error
	if err := r.refusal(h.ReadOnly); errors.As(err, &refusal) {
		return nil, nil, refusal
	}
	open := &openDatabase{r, h.ReadOnly}
	if c.listener && h.ReadOnly && s == cl.primary {
		route, refusal := s.route(db)
		return open, route, refusal
	}
	return open, nil, nil
}
