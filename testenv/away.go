package testenv

import (
	"fmt"
	"net/url"
	"time"
)

// Away is a long way to a server: every byte arrives later than it was sent, in both
// directions, in order and however many they are.
type Away struct {
	server *Server
	relay  *relay
}

// Away opens a way to s on which every byte takes d, so that a question and its answer
// take twice as long, as between two regions. Whoever uses it closes it; the server may
// be restarted meanwhile.
func (s *Server) Away(d time.Duration) (*Away, error) {
	if d < 0 {
		return nil, fmt.Errorf("testenv: a way of %s to %s: it must not be negative", d, s.name)
	}
	r, err := newRelay(s.Addr)
	if err != nil {
		return nil, fmt.Errorf("testenv: a way to %s: %w", s.name, err)
	}
	r.set(s.Addr, false, d)
	return &Away{server: s, relay: r}, nil
}

// Set makes every byte take d from now on, those under way included.
func (a *Away) Set(d time.Duration) { a.relay.set(a.server.Addr, false, max(d, 0)) }

// Cut ends the connections that go this way, with what is under way, and refuses others
// until Set is called.
func (a *Away) Cut() { a.relay.set(a.server.Addr, true, 0) }

// DSNFor is [Server.DSNFor] by this way.
func (a *Away) DSNFor(database string) string {
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s password=%s dbname=%s sslmode=disable",
		a.relay.port(), superuser, a.server.cluster.password, quoteValue(database))
}

// URLFor is [Server.URLFor] by this way.
func (a *Away) URLFor(database string) string {
	u, err := url.Parse(a.server.URLFor(database))
	if err != nil {
		return ""
	}
	u.Host = fmt.Sprintf("127.0.0.1:%d", a.relay.port())
	return u.String()
}

// Close ends the connections and returns when nothing is left of them.
func (a *Away) Close() { a.relay.close() }

// Port is where the way begins, on 127.0.0.1.
func (a *Away) Port() int { return a.relay.port() }
