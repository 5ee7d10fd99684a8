package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// source asks one server for the monitor, on a connection of its own that it
// keeps: an exhausted pool, or a read that hangs, must not keep the news away.
type source struct {
	dialer *dialer
	conn   *sql.Conn
	// shared gives the connection back after each answer, see dialer.scarce.
	// Captures are then full samples: nothing ties two answers together.
	shared bool
	// saw is told each sample; nil: nobody is.
	saw func(lsn.Sample)
	// closer is a pool that was opened for the source alone.
	closer func() error
	manner manner
	// clock lets a primary that does not tell its position have one by the clock
	// (lsn.Clock): there are replicas of which it is stated how far behind they are.
	clock  *atomic.Bool
	async  bool      // what the newest sample said
	key    int       // the process that the server named, see keyPID
	opened time.Time // when conn was opened, or was to be renewed and could not be
	wait   waitConn
	// dialing is a connection that is being opened; nil: none is.
	dialing *dialing
}

// renewEvery is for how long one connection is asked. A name that has moved to
// another server is noticed then, also where the old one still answers.
const renewEvery = 15 * time.Second

var errNoPosition = errors.New("readsplit: it is a primary that does not tell its position: let its role ask for it, or set Replica.StatedLag where the replicas do not tell theirs either")

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
		s.key = 0
		if c, ok := c.(driver.Conn); ok {
			s.key = keyPID(c)
		}
		return nil
	})
	return fresh, nil
}

// Renew implements monitor.Renewer.
func (s *source) Renew() { s.opened = time.Time{} }

func (s *source) ask(ctx context.Context, query string) (string, error) {
	var text string
	err := s.conn.QueryRowContext(ctx, query).Scan(&text)
	if err != nil && !refuses(err) {
		s.drop()
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
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = s.conn.Close()
	s.conn = nil
}

// Sample implements monitor.Source.
func (s *source) Sample(ctx context.Context) (sample lsn.Sample, fresh bool, err error) {
	if fresh, err = s.connect(ctx); err != nil {
		return lsn.Sample{}, fresh, err
	}
	began := time.Now()
	text, err := s.manner.put(lsn.FullSQL, lsn.BareSQL, func(question string) (string, error) {
		began = time.Now()
		return s.ask(ctx, question)
	})
	if err != nil {
		s.drop()
		return lsn.Sample{}, fresh, err
	}
	if s.shared {
		_ = s.conn.Close()
		s.conn = nil
	}
	sample, err = lsn.ParseSample(text)
	if err == nil && s.manner.bare() && !sample.InRecovery {
		if s.clock == nil || !s.clock.Load() {
			s.drop()
			return lsn.Sample{}, fresh, errNoPosition
		}
		at := lsn.Clock(began)
		sample.Flush, sample.Insert, sample.Timeline = at, at, lsn.ClockTimeline
	}
	s.async = sample.AsyncCommit
	if err == nil && s.saw != nil {
		s.saw(sample)
	}
	sample.Pooled = pooled(s.key, sample.BackendPID)
	return sample, fresh, err
}

// Position implements monitor.Source.
func (s *source) Position(ctx context.Context) (replay lsn.LSN, standby, connected bool, err error) {
	if s.conn == nil || s.manner.bare() {
		return 0, false, false, nil // there is nothing to ask for
	}
	text, err := s.ask(ctx, lsn.ReplaySQL)
	if err != nil {
		s.drop()
		return 0, false, true, err
	}
	replay, standby, err = lsn.ParseReplay(text)
	return replay, standby, true, err
}

// Conflicts implements monitor.ConflictSource.
func (s *source) Conflicts(ctx context.Context) (c lsn.Conflicts, connected bool, err error) {
	if s.conn == nil {
		return lsn.Conflicts{}, false, nil
	}
	var text string
	if err := s.conn.QueryRowContext(ctx, lsn.ConflictsSQL).Scan(&text); err != nil {
		if said := interface{ SQLState() string }(nil); ctx.Err() != nil || !errors.As(err, &said) && !errors.Is(err, sql.ErrNoRows) {
			s.drop() // else the server itself has said no
		}
		return lsn.Conflicts{}, true, err
	}
	c, err = lsn.ParseConflicts(text)
	return c, true, err
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
	if s.manner.bare() {
		at := lsn.Clock(time.Now())
		text, err := s.ask(ctx, lsn.BareCaptureSQL)
		if err == nil && text != "true" {
			err = errNoPosition
		}
		if err != nil {
			s.drop()
		}
		return lsn.Capture{Flush: at, Insert: at, AsyncCommit: s.async}, true, err
	}
	text, err := s.ask(ctx, lsn.CaptureSQL)
	if err != nil {
		s.drop()
		return lsn.Capture{}, true, err
	}
	c, err = lsn.ParseCapture(text, 0, 0)
	return c, true, err
}

// Nudge implements monitor.Source.
func (s *source) Nudge(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	_, err := s.ask(ctx, lsn.NudgeSQL)
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
