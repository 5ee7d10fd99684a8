package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// source asks one server for the monitor, on a connection of its own that it
// keeps: an exhausted pool, or a read that hangs, must not keep the news away.
type source struct {
	dialer *dialer
	conn   *sql.Conn
	driver heldConn // the driver's connection under conn
	// shared gives the connection back after each answer, see dialer.scarce.
	// Captures are then full samples: nothing ties two answers together.
	shared bool
	// saw is told each sample; nil: nobody is.
	saw func(lsn.Sample)
	// closer is a pool that was opened for the source alone.
	closer func() error
	key    int       // the process that the server named, see keyPID
	socket net.Conn  // of conn, where the driver does not let go of it when a context ends
	opened time.Time // when conn was opened, or was to be renewed and could not be
	wait   waitConn
	// dialing is a connection that is being opened; nil: none is.
	dialing *dialing
	pause   dialPause
}

// renewEvery is for how long one connection is asked. A name that has moved to
// another server is noticed then, also where the old one still answers.
const renewEvery = 15 * time.Second

// connect reports whether it has opened a connection.
func (s *source) connect(ctx context.Context) (fresh bool, err error) {
	if s.conn != nil && time.Since(s.opened) < renewEvery {
		return false, nil
	}
	old := s.conn
	if old != nil {
		// Half of the time is left for the question: where no other connection can be
		// had, the old one still says how the server is.
		if until, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Until(until)/2)
			defer cancel()
		}
	}
	conn, fresh, err := s.open(ctx)
	s.opened = time.Now()
	if err != nil {
		if old != nil {
			return false, nil
		}
		return true, err
	}
	s.drop()
	s.conn = conn
	_ = conn.Raw(func(c any) error {
		s.key, s.socket, s.driver = 0, nil, heldConn{}
		if c, ok := c.(driver.Conn); ok {
			s.key = keyPID(c)
			s.driver.hold(c)
			if s.dialer.asks().dials() > 0 {
				s.socket = socketOf(c)
			}
		}
		return nil
	})
	return fresh, nil
}

// Renew implements monitor.Renewer.
func (s *source) Renew() { s.opened = time.Time{} }

func (s *source) ask(ctx context.Context, query string) (text string, err error) {
	defer s.patience(ctx)()
	// The driver itself: for each query whose context can end, database/sql starts a
	// goroutine and wakes it at the end, which takes as long as the question.
	raw := s.conn.Raw(func(any) error {
		text, err = askDriver(ctx, &s.driver, query)
		return nil // who asked drops the connection
	})
	if err == nil {
		err = raw
	}
	return text, err
}

// drop closes the connection for good. A connection that failed once may still
// work, but then it proves no longer that two answers came from one run of the
// server.
func (s *source) drop() {
	if s.conn == nil {
		return
	}
	closeForGood(s.conn)
	s.conn = nil
}

// Sample implements monitor.Source.
func (s *source) Sample(ctx context.Context) (sample lsn.Sample, fresh bool, err error) {
	if fresh, err = s.connect(ctx); err != nil {
		return lsn.Sample{}, fresh, err
	}
	if sample, err = s.dialer.asks().sample(ctx, s.ask); err != nil {
		s.drop()
		return lsn.Sample{}, fresh, err
	}
	if s.shared {
		_ = s.conn.Close()
		s.conn = nil
	}
	if s.saw != nil {
		s.saw(sample)
	}
	sample.Pooled = pooled(s.key, sample.BackendPID)
	return sample, fresh, err
}

// Position implements monitor.Source.
func (s *source) Position(ctx context.Context) (replay lsn.LSN, standby, connected bool, err error) {
	if s.conn == nil {
		return 0, false, false, nil
	}
	if replay, standby, err = s.dialer.asks().position(ctx, s.ask); err != nil {
		s.drop()
	}
	return replay, standby, true, err
}

// Conflicts implements monitor.ConflictSource.
func (s *source) Conflicts(ctx context.Context) (c lsn.Conflicts, connected bool, err error) {
	if s.conn == nil {
		return lsn.Conflicts{}, false, nil
	}
	if c, err = s.dialer.asks().conflicts(ctx, s.ask); err != nil {
		if said := interface{ SQLState() string }(nil); ctx.Err() != nil || !errors.As(err, &said) && !errors.Is(err, sql.ErrNoRows) {
			s.drop() // else the server itself has said no
		}
		return lsn.Conflicts{}, true, err
	}
	return c, true, nil
}

// Subscription implements monitor.SubscriptionSource.
func (s *source) Subscription(ctx context.Context) (sub lsn.Subscription, connected bool, err error) {
	if s.conn == nil {
		return lsn.Subscription{}, false, nil
	}
	var text string
	if err := s.conn.QueryRowContext(ctx, lsn.SubscriptionSQL).Scan(&text); err != nil {
		if said := interface{ SQLState() string }(nil); ctx.Err() != nil || !errors.As(err, &said) {
			s.drop() // else the server itself has said no
		}
		return lsn.Subscription{}, true, err
	}
	sub, err = lsn.ParseSubscription(text)
	return sub, true, err
}

// Capture implements monitor.Source.
func (s *source) Capture(ctx context.Context) (c lsn.Capture, connected bool, err error) {
	if s.conn == nil {
		return lsn.Capture{}, false, nil
	}
	c, same, err := s.dialer.asks().capture(ctx, s.ask)
	if err != nil {
		s.drop()
	}
	return c, same, err
}

// Nudge implements monitor.Source.
func (s *source) Nudge(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	err := s.dialer.asks().nudge(ctx, s.ask)
	if err != nil {
		s.drop()
	}
	return err
}

// Close implements monitor.Source.
func (s *source) Close() error {
	s.abandon()
	s.drop()
	s.wait.drop()
	if s.closer != nil {
		return s.closer()
	}
	return nil
}
