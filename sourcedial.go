package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// dialing is a connection of a source that is being opened. To open one takes five
// times there and back, and with TLS seven: to a server 100 ms away longer than a
// question may take, so that a monitor that gave up with its question would never reach
// it, and call it down for ever. It goes on for a while after the question that it was
// begun for, and the next one finds it open. Where that took long, the questions that
// will be asked have been prepared as well: to prepare one is another way there and
// back, in the time of its first answer.
//
// Its goroutine ends with the attempt, at the latest after dialTimes questions or with
// [source.Close].
type dialing struct {
	done   chan struct{} // closed when conn and err are there
	conn   *sql.Conn
	err    error
	late   bool // it ended with its time
	cancel context.CancelFunc
}

// dialTimes is how many times as long as a question an attempt to connect may take.
const dialTimes = 8

// dialFar is how long it takes to connect to a server that is far away.
const dialFar = 100 * time.Millisecond

// prepare asks once what will be asked again and again. Errors are left to those who
// will ask.
func prepare(ctx context.Context, conn *sql.Conn) {
	var text string
	if conn.QueryRowContext(ctx, lsn.FullSQL).Scan(&text) != nil {
		return
	}
	brief := lsn.CaptureSQL
	if sample, err := lsn.ParseSample(text); err != nil || sample.InRecovery {
		brief = lsn.ReplaySQL
	}
	_ = conn.QueryRowContext(ctx, brief).Scan(&text)
}

// open returns a connection. fresh is false where the attempt that brought it was begun
// for an earlier question: it says nothing of who answers new connections now.
func (s *source) open(ctx context.Context) (conn *sql.Conn, fresh bool, err error) {
	until, bounded := ctx.Deadline()
	if s.shared || !bounded {
		conn, err = s.dialer.conn(ctx)
		return conn, true, err
	}
	d := s.dialing
	if fresh = d == nil; fresh {
		if !s.pause.over(time.Now()) {
			return nil, true, errDialPause
		}
		d = &dialing{done: make(chan struct{})}
		var life context.Context
		life, d.cancel = context.WithTimeout(context.WithoutCancel(ctx), dialTimes*time.Until(until))
		s.dialing = d
		go func() {
			defer close(d.done)
			defer d.cancel()
			began := time.Now()
			if d.conn, d.err = s.dialer.conn(life); d.err == nil && s.dialer.engine == nil && time.Since(began) > dialFar {
				prepare(life, d.conn)
			}
			d.late = d.err != nil && s.dialer.asks().dials() > 0 && errors.Is(life.Err(), context.DeadlineExceeded)
		}()
	}
	var quick <-chan *sql.Conn // nil: nothing is tried beside d
	if !fresh {
		var end func()
		quick, end = s.beside(ctx)
		defer end()
	}
	select {
	case <-d.done:
		s.dialing = nil
		s.pause.after(d.late, time.Now())
		return d.conn, fresh, d.err
	case conn := <-quick:
		s.abandon()
		return conn, true, nil
	case <-ctx.Done():
		return nil, fresh, ctx.Err()
	}
}

// beside tries to connect for as long as this question lasts, while an attempt that was
// begun for an earlier one is under way. That one may hang on an address that the name has
// left, or wait for the next try of a network that answers again by now: seconds in which
// nobody would notice. end ends the attempt and closes what nobody has taken.
func (s *source) beside(ctx context.Context) (quick <-chan *sql.Conn, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	got, over := make(chan *sql.Conn), make(chan struct{})
	go func() {
		defer close(over)
		conn, err := s.dialer.conn(ctx) // the driver alone may wait for ever
		if err != nil {
			return
		}
		select {
		case got <- conn:
		case <-ctx.Done():
			closeForGood(conn)
		}
	}()
	return got, func() {
		cancel()
		<-over
	}
}

// abandon ends an attempt to connect that nobody needs any more.
func (s *source) abandon() {
	d := s.dialing
	if d == nil {
		return
	}
	s.dialing = nil
	d.cancel()
	<-d.done
	if d.conn != nil {
		closeForGood(d.conn)
	}
}

// closeForGood closes a connection instead of giving it back. In the pool that it came
// from it would be idle, and be taken for a new one by whoever opens a connection next: one
// to the server that the name led to when it was opened, which has left it by then. The
// name would seem to lead to both, and to be several servers for ever.
func closeForGood(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
