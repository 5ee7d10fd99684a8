package tdsenv

import "net"

// Listener is the address of the availability group: whoever connects to it comes to the primary,
// or with ApplicationIntent=ReadOnly is sent on to where the routing list says.
type Listener struct {
	cluster *Cluster
	door    door
}

// Addr is host:port.
func (l *Listener) Addr() string { return l.door.addr() }

// Port is the port of 127.0.0.1.
func (l *Listener) Port() int { return l.door.port }

// URL is what a READ_ONLY_ROUTING_URL that points to the listener by mistake is.
func (l *Listener) URL() string { return "tcp://" + l.Addr() }

// DSN is for the first database, on the primary.
func (l *Listener) DSN() string { return l.cluster.dsn(l.Addr(), "", false) }

// DSNFor is for a database; "" is the login's own, which is master.
func (l *Listener) DSNFor(database string) string {
	return l.cluster.dsnFor(l.Addr(), database, false)
}

// ReadOnlyDSN is for the first database, with ApplicationIntent=ReadOnly.
func (l *Listener) ReadOnlyDSN() string { return l.cluster.dsn(l.Addr(), "", true) }

// ReadOnlyDSNFor is for a database, with ApplicationIntent=ReadOnly. Without a database nothing is
// routed.
func (l *Listener) ReadOnlyDSNFor(database string) string {
	return l.cluster.dsnFor(l.Addr(), database, true)
}

func (l *Listener) listen() error {
	return l.door.open(&l.cluster.running, l.accept)
}

func (l *Listener) stop() { l.door.close() }

// accept hands a client to the primary of this moment. Without one it sees an end: the address
// itself is refused on a real group, but this port must stay the listener's.
func (l *Listener) accept(conn net.Conn) {
	l.cluster.Primary().serve(conn, true)
}
