package readsplit

import (
	"context"
	"database/sql"
	"sync"
)

// mostHanging bounds the connections of one dialer that are being opened although nobody
// waits for them any more.
const mostHanging = 16

// hanging counts the connections that are being opened by a driver that does not let go
// when a context ends. go-mssqldb waits for a server's first answer for ever: one that
// is frozen takes the connection and never gives it.
type hanging struct {
	mu   sync.Mutex
	free chan struct{} // has room for as many as may be under way
}

// places returns the channel that a dial takes its place in.
func (h *hanging) places() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.free == nil {
		h.free = make(chan struct{}, mostHanging)
	}
	return h.free
}

// conn takes a connection out of the dialector's pool. Where the driver may wait for
// ever, it is left alone when ctx ends: the goroutine that it keeps ends when the server
// answers, or is gone, and there are never more than mostHanging of them.
func (d *dialer) conn(ctx context.Context) (*sql.Conn, error) {
	if d.asks().dials() == 0 {
		return d.db.Conn(ctx)
	}
	places := d.hung.places()
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	type opened struct {
		conn *sql.Conn
		err  error
	}
	answer, gone := make(chan opened), make(chan struct{})
	go func() {
		defer func() { <-places }()
		conn, err := d.db.Conn(ctx)
		select {
		case answer <- opened{conn, err}:
		case <-gone:
			if conn != nil {
				closeForGood(conn)
			}
		}
	}()
	select {
	case o := <-answer:
		return o.conn, o.err
	case <-ctx.Done():
		close(gone)
		return nil, context.Cause(ctx)
	}
}
