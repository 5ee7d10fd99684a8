// Package network is the wire between an application and one server: an address
// that leads to another server after a failover, answers that get lost on their way
// back, and time that packets take.
package network

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Address is a TCP address that leads to a server. One goroutine accepts, and there
// are three for each connection; Close ends and joins them.
type Address struct {
	listener   net.Listener
	life       context.Context
	end        context.CancelFunc
	goroutines sync.WaitGroup
	delay      atomic.Int64

	mu     sync.Mutex
	target string
	links  map[*link]struct{}
	held   chan struct{} // closed when new connections go on; nil: they do
}

// link is one connection.
type link struct {
	client, server net.Conn
	once           sync.Once
	// deaf: the next answer of the server is lost, and the connection with it.
	deaf atomic.Bool
}

func (l *link) close() {
	l.once.Do(func() {
		_ = l.client.Close() // what is broken already has nothing to say
		_ = l.server.Close()
	})
}

// Listen returns an address of this machine that leads to target.
func Listen(target string) (*Address, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("verify: listen for clients: %w", err)
	}
	a := &Address{listener: listener, target: target, links: map[*link]struct{}{}}
	a.life, a.end = context.WithCancel(context.Background())
	a.goroutines.Go(a.accept)
	return a, nil
}

// Port is the port on 127.0.0.1.
func (a *Address) Port() int { return a.listener.Addr().(*net.TCPAddr).Port }

func (a *Address) accept() {
	for {
		client, err := a.listener.Accept()
		if err != nil {
			if a.life.Err() != nil || !a.pause(10*time.Millisecond) {
				return
			}
			continue // out of descriptors, which passes
		}
		a.goroutines.Go(func() { a.connect(client) })
	}
}

// pause returns false when the address is closed meanwhile.
func (a *Address) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-a.life.Done():
		return false
	}
}

func (a *Address) connect(client net.Conn) {
	a.mu.Lock()
	held := a.held
	a.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-a.life.Done():
		}
	}
	a.mu.Lock()
	target := a.target
	a.mu.Unlock()
	var server net.Conn
	var err error
	if target != "" {
		server, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(a.life, "tcp4", target)
	}
	if server == nil || err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server}
	a.mu.Lock()
	if a.target != target || a.life.Err() != nil {
		a.mu.Unlock()
		l.close() // the address has moved meanwhile
		return
	}
	a.links[l] = struct{}{}
	a.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { a.carry(l, server, client, nil) })
	both.Go(func() { a.carry(l, client, server, &l.deaf) })
	both.Wait()
	a.mu.Lock()
	delete(a.links, l)
	a.mu.Unlock()
}

// carry copies what comes from one end to the other.
func (a *Address) carry(l *link, to, from net.Conn, deaf *atomic.Bool) {
	defer l.close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if deaf != nil && deaf.Load() {
				return
			}
			if d := time.Duration(a.delay.Load()); d > 0 && !a.pause(d) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// MoveTo ends all connections and leads new ones to another server; to nobody when
// target is empty.
func (a *Address) MoveTo(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = target
	for l := range a.links {
		l.close()
	}
}

// PointTo leads new connections to another server, and leaves those that are open
// where they are.
func (a *Address) PointTo(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = target
}

// Delay makes every packet take d in each direction; 0 ends that.
func (a *Address) Delay(d time.Duration) { a.delay.Store(int64(d)) }

// Hold keeps new connections waiting until release is called; those that are open
// stay as they are.
func (a *Address) Hold() (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := make(chan struct{})
	a.held = held
	return sync.OnceFunc(func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		close(held)
		if a.held == held {
			a.held = nil
		}
	})
}

// LoseAnswers dooms about the given share of the open connections: what the server
// answers next is lost, and the connection with it. Whoever waits for the answer to
// a COMMIT cannot know whether it happened.
func (a *Address) LoseAnswers(rng *rand.Rand, share float64) (doomed int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l := range a.links {
		if rng.Float64() < share {
			l.deaf.Store(true)
			doomed++
		}
	}
	return doomed
}

// Close ends all connections and joins the goroutines.
func (a *Address) Close() {
	a.end()
	_ = a.listener.Close()
	a.MoveTo("")
	a.goroutines.Wait()
}
