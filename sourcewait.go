package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// waitConn is a connection on which a server is made to wait for a position: one more
// than the source's own, which must stay free for questions.
type waitConn struct {
	conn *sql.Conn
	run  uint64
}

// cannotWait are the SQLSTATEs of a server that does not know WAIT FOR LSN as it is asked:
// syntax error, an option's value that it does not know, not supported.
var cannotWait = []string{"42601", "22023", "0A000"}

// AwaitReplay implements monitor.Waiter.
func (s *source) AwaitReplay(ctx context.Context, run uint64, to lsn.LSN, most time.Duration) error {
	w := &s.wait
	if s.shared || !s.dialer.owned {
		return fmt.Errorf("%w: there is no connection to spare for it", monitor.ErrCannotWait)
	}
	if w.run != run {
		w.drop()
	}
	if w.conn == nil {
		conn, err := s.dialer.db.Conn(ctx)
		if err != nil {
			return err
		}
		w.conn, w.run = conn, run
	}
	if to == 0 {
		return nil
	}
	// Exec without arguments is the simple protocol of every driver. A query would be
	// prepared: two round trips more, and one statement for each position.
	_, err := w.conn.ExecContext(ctx, lsn.WaitSQL(to, most))
	if err == nil {
		return nil
	}
	w.drop()
	var said interface{ SQLState() string }
	if errors.As(err, &said) && slices.Contains(cannotWait, said.SQLState()) {
		return fmt.Errorf("%w: %w", monitor.ErrCannotWait, err)
	}
	return err
}

// drop closes the connection: what waits there ends with it.
func (w *waitConn) drop() {
	if w.conn == nil {
		return
	}
	closeForGood(w.conn)
	w.conn = nil
}
