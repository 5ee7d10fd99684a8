package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
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
	opened time.Time // when conn was opened, or was to be renewed and could not be
	wait   waitConn
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
	conn, err := s.dialer.db.Conn(ctx)
	s.opened = time.Now()
	if err != nil {
		if old != nil {
			return false, nil
		}
		return true, err
	}
	s.drop()
	s.conn = conn
	return true, nil
}

// Renew implements monitor.Renewer.
func (s *source) Renew() { s.opened = time.Time{} }

func (s *source) ask(ctx context.Context, query string) (string, error) {
	var text string
	err := s.conn.QueryRowContext(ctx, query).Scan(&text)
	if err != nil {
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
	text, err := s.ask(ctx, lsn.FullSQL)
	if err != nil {
		return lsn.Sample{}, fresh, err
	}
	if s.shared {
		_ = s.conn.Close()
		s.conn = nil
	}
	if sample, err = lsn.ParseSample(text); err == nil && s.saw != nil {
		s.saw(sample)
	}
	return sample, fresh, err
}

// Position implements monitor.Source.
func (s *source) Position(ctx context.Context) (replay lsn.LSN, standby, connected bool, err error) {
	if s.conn == nil {
		return 0, false, false, nil
	}
	text, err := s.ask(ctx, lsn.ReplaySQL)
	if err != nil {
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

// Capture implements monitor.Source.
func (s *source) Capture(ctx context.Context) (c lsn.Capture, connected bool, err error) {
	if s.conn == nil {
		return lsn.Capture{}, false, nil
	}
	text, err := s.ask(ctx, lsn.CaptureSQL)
	if err != nil {
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
	return err
}

// Close implements monitor.Source.
func (s *source) Close() error {
	s.drop()
	s.wait.drop()
	if s.closer != nil {
		return s.closer()
	}
	return nil
}
