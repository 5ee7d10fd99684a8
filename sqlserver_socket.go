package readsplit

import (
	"context"
	"database/sql/driver"
	"io"
	"net"
	"reflect"
	"time"
)

// socketOfTDS finds the network connection under go-mssqldb's driver connection, without
// compiling that driver into applications that do not use it: the fields sess, buf and
// transport, which are set when the connection is there and do not change. Without it a
// read on a server that is frozen would end with its caller's patience and no sooner:
// Close of that connection is not for use while a statement is under way. Nil where a
// version of the driver looks different.
func socketOfTDS(c driver.Conn) net.Conn {
	v := reflect.ValueOf(c)
	for _, name := range [...]string{"sess", "buf", "transport"} {
		if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
			return nil
		}
		if v = v.Elem().FieldByName(name); !v.IsValid() {
			return nil
		}
	}
	if v.Type() != reflect.TypeFor[io.ReadWriteCloser]() || !v.CanAddr() {
		return nil
	}
	transport := *(*io.ReadWriteCloser)(v.Addr().UnsafePointer())
	n, _ := transport.(net.Conn)
	return n
}

// graceFor is how long a server may take to confirm that a question was taken back. The
// driver waits 5 s for that, and is still reading meanwhile: a connection that is broken
// off at once would be read and closed at the same time.
const graceFor = 250 * time.Millisecond

// patience ends the question that follows when ctx does, also where the server is frozen
// and the driver waits for it. What it returns is called when the answer is there.
func (s *source) patience(ctx context.Context) (over func()) {
	socket := s.socket
	if socket == nil {
		return func() {}
	}
	answered := make(chan struct{})
	left := context.AfterFunc(ctx, func() {
		t := time.NewTimer(graceFor)
		defer t.Stop()
		select {
		case <-answered:
		case <-t.C:
			hangUp(socket)
		}
	})
	return func() {
		left()
		close(answered)
	}
}
