package readsplit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// link is what is known of the other end of a connection to a balanced name.
type link struct {
	simple simpleQuery // nil: the driver sends one statement at a time
	// at is the server that answered when the connection was made.
	at lsn.Server
	// direct says that the server process which answers is the one that the connection
	// was made to, and stays it: only then does what it has shown once hold for as long
	// as the connection lives. Behind a pooler each transaction may be on another
	// server, and whether a pooler is there cannot be seen in every driver.
	direct bool
	pid    int
	// facts is what the server has shown on this connection; of no use where it is not
	// direct. Whoever has the connection owns it.
	facts policy.Replica
}

// ask sends statements and returns the text that the last one answers.
func (h *heldConn) ask(ctx context.Context, statements ...string) (text string, err error) {
	if simple := h.link.simple; simple != nil {
		all := statements[0]
		for _, s := range statements[1:] {
			all += "; " + s
		}
		return simple(ctx, all)
	}
	for _, s := range statements {
		if text, err = h.askPlain(ctx, s); err != nil {
			return "", err
		}
	}
	return text, nil
}

// askPlain sends one statement as the driver does.
func (h *heldConn) askPlain(ctx context.Context, statement string) (string, error) {
	if strings.HasPrefix(statement, "SELECT") {
		return askDriver(ctx, h, statement)
	}
	return "", h.run(ctx, statement, nil)
}

// dialTrips is how many ways there and back it takes to connect and to be greeted, with
// TLS: to a server that is far away longer than a question may take.
const dialTrips = 10

// connectName opens a connection to a balanced name. What goes wrong is the fault of
// one of the servers behind it, and another connection may lead to another one.
func (s *server) connectName(ctx, life context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.router().cfg.SampleTimeout+dialTrips*s.monitor.Distance(s.index))
	defer cancel()
	h, err := s.dialer.dial(ctx)
	if err == nil {
		if err = s.greetName(ctx, h); err == nil {
			return s.keep(life, h)
		}
		_ = h.Close()
	}
	if cause := context.Cause(life); cause != nil {
		return nil, cause
	}
	return nil, &unfit{policy.ReasonDown, err}
}

// greetName asks a new connection to a balanced name who is at its other end, before
// anybody can use it. Behind a pooler nothing is set on it: the setting would stay with
// a connection of the pooler's, and meet others there, perhaps after a promotion.
func (s *server) greetName(ctx context.Context, h *heldConn) error {
	h.generation = s.monitor.Generation(s.index)
	key := keyPID(h.conn)
	h.link = &link{simple: simpleQueryOf(h.conn)}
	began := time.Now()
	text, err := s.manner.put(lsn.CheckSQL, lsn.BareCheckSQL, func(question string) (string, error) {
		began = time.Now()
		return h.ask(ctx, question)
	})
	if err != nil {
		return err
	}
	c, facts, err := s.heard(began, text)
	if err != nil {
		return err
	}
	h.link.at, h.link.pid, h.link.facts = c.Server, c.BackendPID, facts
	h.link.direct = key != 0 && key == c.BackendPID
	if !h.link.direct {
		s.pooled.Store(true)
		return nil // whom it leads to is asked again in each transaction
	}
	switch {
	case facts.Role == policy.RolePrimary && !facts.AllowPrimary:
		return fmt.Errorf("%w: a server behind replica %q is a primary and is not read from; set Replica.AllowPrimaryAsReplica if that is meant", monitor.ErrNotStandby, s.name)
	case facts.Role == policy.RoleForeign:
		return fmt.Errorf("%w: a server behind replica %q follows another history than the primary", monitor.ErrNotStandby, s.name)
	}
	_, err = h.ask(ctx, "SET default_transaction_read_only = on")
	return err
}

// asks asks who is at the other end of a connection, by lsn.CheckSQL, and what that
// means.
func (s *server) asks(ctx context.Context, h *heldConn, statements ...string) (lsn.Check, policy.Replica, error) {
	began := time.Now()
	text, err := h.ask(ctx, statements...)
	if err != nil {
		return lsn.Check{}, policy.Replica{}, err
	}
	return s.heard(began, text)
}

// heard reads an answer to lsn.CheckSQL, or to what of it the server tells.
func (s *server) heard(began time.Time, text string) (lsn.Check, policy.Replica, error) {
	c, err := lsn.ParseCheck(text)
	if err != nil {
		return lsn.Check{}, policy.Replica{}, err
	}
	return c, s.monitor.Checked(s.index, began, c.Sample, true), nil
}

// full and brief are what to ask whoever answers behind the name.
func (s *server) full() string { return s.manner.question(lsn.CheckSQL, lsn.BareCheckSQL) }

func (s *server) brief() string { return s.manner.question(lsn.BriefCheckSQL, lsn.BareCheckSQL) }

// asksBriefly is asks by statements that end with lsn.BriefCheckSQL. Where that is not
// enough it asks for everything, in the transaction that has begun.
func (s *server) asksBriefly(ctx context.Context, h *heldConn, statements ...string) (lsn.Check, policy.Replica, error) {
	began := time.Now()
	text, err := h.ask(ctx, statements...)
	if err != nil {
		return lsn.Check{}, policy.Replica{}, err
	}
	if strings.HasPrefix(text, "h") {
		return s.heard(began, text)
	}
	c, err := lsn.ParseBriefCheck(text)
	if err != nil {
		return lsn.Check{}, policy.Replica{}, err
	}
	full, ok := s.monitor.Known(s.index, c.Sample, s.router().cfg.MaxSampleAge)
	if !ok {
		return s.asks(ctx, h, s.full())
	}
	c.Sample = full
	return c, s.monitor.Checked(s.index, began, full, false), nil
}

func (s *server) router() *router { return s.held.router }

// balanced reports whether the server's name answers as several servers.
func (s *server) balanced() bool { return s.monitor != nil && s.monitor.Balanced(s.index) }

// leave breaks off every connection that leads to one of the servers behind the name:
// it does not answer any more, or is no replica of this primary.
func (s *server) leave(at lsn.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.conns {
		if h.link != nil && h.link.direct && h.link.at == at {
			h.breakOff()
		}
	}
}

// unfit is the error of a connection to a balanced name that does not show what the
// read asks for. Nobody gets to see it: the read goes elsewhere, and has not run.
type unfit struct {
	reason policy.Reason
	err    error // why it could not be asked; nil: it was
}

func (u *unfit) Error() string {
	if u.err != nil {
		return fmt.Sprintf("readsplit: a connection could not be asked what it shows: %v", u.err)
	}
	return fmt.Sprintf("readsplit: a connection does not show what the read asks for: %v", u.reason)
}

func (u *unfit) Unwrap() error { return u.err }

func unfitted(err error) *unfit {
	if err == nil {
		return nil
	}
	var u *unfit
	if errors.As(err, &u) {
		return u
	}
	return nil
}

// tellsNoPosition reports whether what the server has shown can only be compared by time.
func (s *server) tellsNoPosition() bool {
	return s.monitor != nil && s.monitor.Snapshot().Replicas[s.index].NoPosition
}
