package readsplit

import (
	"database/sql/driver"
	"net"
	"time"

	"github.com/readsplit/readsplit/failover"
)

// breakOff ends a connection whatever runs on it, at once, and keeps it from being
// used again: the server at its other end is not what it is taken for any more, or
// is too slow. pgx asks the server to cancel what runs there. The socket is closed, so
// that an idle one does not stay with an old primary until somebody wants to use it.
func (h *heldConn) breakOff() {
	h.dead.Store(true)
	if h.netConn != nil {
		hangUp(h.netConn)
	}
}

// hangUp ends whatever waits on a connection.
func hangUp(socket net.Conn) {
	_ = socket.SetDeadline(time.Now().Add(-time.Second))
	if secured, ok := socket.(interface{ NetConn() net.Conn }); ok {
		socket = secured.NetConn() // a farewell could wait for a server that is frozen
	}
	_ = socket.Close()
}

// usable refuses to send anything to a server that is no longer the primary, where
// the driver does not show its socket.
func (h *heldConn) usable() error {
	if h.follows && h.dead.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// acknowledged takes an acknowledgement back that came when another server had been
// elected: what it is about may be lost.
func (h *heldConn) acknowledged(err error) error {
	if err == nil && h.follows && h.dead.Load() {
		return failover.ErrMoved
	}
	return err
}

// followTx is a transaction on a primary that another one may take the place of.
type followTx struct {
	driver.Tx
	h *heldConn
}

func (t followTx) Commit() error {
	if t.h.dead.Load() {
		_ = t.Rollback()
		return notCommitted{}
	}
	return t.h.acknowledged(t.Tx.Commit())
}

// notCommitted is the error of a COMMIT that was not sent.
type notCommitted struct{}

func (notCommitted) Error() string {
	return "readsplit: the primary has changed since the transaction began: it was not committed; run it again"
}

// SafeToRetry says that it was not sent.
func (notCommitted) SafeToRetry() bool { return true }
