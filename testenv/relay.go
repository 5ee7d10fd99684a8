package testenv

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"
)

// relay is the network between a replica and its upstream: the replica connects to the relay's
// port for all its life, and the relay decides what gets through.
//
// It starts one goroutine that accepts, and five for each connection; close ends and joins them.
type relay struct {
	listener   net.Listener
	life       context.Context
	end        context.CancelFunc
	goroutines sync.WaitGroup

	mu      sync.Mutex
	target  func() string // the upstream's address now
	cut     bool
	delay   time.Duration
	changed chan struct{} // closed and replaced when delay changes
	links   map[*link]struct{}
}

// link is one connection through the relay.
type link struct {
	replica, upstream net.Conn
	gone              chan struct{}
	once              sync.Once
}

func (l *link) close() {
	l.once.Do(func() {
		close(l.gone)
		_ = l.replica.Close() // a connection that is broken already has nothing to say
		_ = l.upstream.Close()
	})
}

func newRelay(target func() string) (*relay, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a replica: %w", err)
	}
	r := &relay{listener: listener, target: target, changed: make(chan struct{}), links: map[*link]struct{}{}}
	r.life, r.end = context.WithCancel(context.Background())
	r.goroutines.Go(r.accept)
	return r, nil
}

func (r *relay) port() int { return r.listener.Addr().(*net.TCPAddr).Port }

func (r *relay) accept() {
	for {
		conn, err := r.listener.Accept()
		if r.life.Err() != nil {
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if err != nil {
			// The replica gave up before we looked, or this process has no descriptors left:
			// that passes, and must not become a loop that burns a core.
			pause := time.NewTimer(10 * time.Millisecond)
			select {
			case <-pause.C:
			case <-r.life.Done():
				pause.Stop()
				return
			}
			continue
		}
		r.goroutines.Go(func() { r.connect(conn) })
	}
}

func (r *relay) connect(replica net.Conn) {
	r.mu.Lock()
	target, cut := r.target(), r.cut
	r.mu.Unlock()
	if cut {
		_ = replica.Close()
		return
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	upstream, err := dialer.DialContext(r.life, "tcp4", target)
	if err != nil {
		_ = replica.Close() // what a replica sees of a dead upstream
		return
	}
	l := &link{replica: replica, upstream: upstream, gone: make(chan struct{})}
	r.mu.Lock()
	if r.cut || r.life.Err() != nil || r.target() != target { // decided while we dialled
		r.mu.Unlock()
		l.close()
		return
	}
	r.links[l] = struct{}{}
	r.mu.Unlock()

	var directions sync.WaitGroup
	directions.Go(func() { r.carry(l, replica, upstream) })
	directions.Go(func() { r.carry(l, upstream, replica) })
	directions.Wait()
	l.close()
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
}

// parcel is what one read brought, and when.
type parcel struct {
	at   time.Time
	data []byte
}

// carry moves bytes one way, each of them delay after it came. At the end of the stream it
// delivers what is under way before it passes the end on: the last records of a primary that
// shuts down arrive like this.
func (r *relay) carry(l *link, from, to net.Conn) {
	queue := make(chan parcel, 256)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(queue)
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				p := parcel{at: time.Now(), data: append([]byte(nil), buffer[:n]...)}
				select {
				case queue <- p:
				case <-l.gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	defer reader.Wait()
	for p := range queue {
		if !r.hold(l, p.at) {
			return
		}
		if _, err := to.Write(p.data); err != nil {
			l.close()
			return
		}
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite() // fails only on a link that is gone
	}
}

// hold waits until what came at the given time may go on; false when the link is gone.
func (r *relay) hold(l *link, at time.Time) bool {
	for {
		r.mu.Lock()
		delay, changed := r.delay, r.changed
		r.mu.Unlock()
		left := time.Until(at.Add(delay))
		if delay == 0 || left <= 0 {
			return true
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-l.gone:
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// set makes the network what the faults in force say. Connections to another upstream end, and
// all of them when it is cut, with whatever was under way.
func (r *relay) set(target func() string, cut bool, delay time.Duration) {
	r.mu.Lock()
	moved := target() != r.target()
	r.target, r.cut = target, cut
	var end []*link
	if cut || moved {
		end = r.all()
	}
	r.mu.Unlock()
	for _, l := range end {
		l.close()
	}
	// Only now: a delay that ended first would let through what must be lost.
	r.mu.Lock()
	defer r.mu.Unlock()
	if delay != r.delay {
		r.delay = delay
		close(r.changed)
		r.changed = make(chan struct{})
	}
}

func (r *relay) all() []*link {
	links := make([]*link, 0, len(r.links))
	for l := range r.links {
		links = append(links, l)
	}
	return links
}

// close ends everything and returns when no goroutine is left.
func (r *relay) close() {
	r.end()
	_ = r.listener.Close() // wakes accept; it can fail only by being closed already
	r.mu.Lock()
	r.cut = true
	end := r.all()
	r.mu.Unlock()
	for _, l := range end {
		l.close()
	}
	r.goroutines.Wait()
}
