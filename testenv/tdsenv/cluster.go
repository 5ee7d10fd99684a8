package tdsenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/engine"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// patience bounds what has no deadline of its own.
const patience = 60 * time.Second

// Cluster is an availability group of servers, or servers without one. It ends with
// [Cluster.Close]. Its methods may be called from several goroutines.
type Cluster struct {
	cfg      Config
	password string
	group    sqlval.UUID
	listener *Listener
	running  sync.WaitGroup
	faulting sync.Mutex // faults and failovers happen one after the other

	mu        sync.Mutex
	closed    bool
	servers   []*Server
	primary   *Server
	databases []*database
	undos     []Undo
	wake      chan struct{} // closed when the carrier has work
	waiters   chan struct{} // closed when something has been redone
}

// Start starts a cluster for a test and closes it when the test ends.
func Start(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := New(ctx, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	return c
}

// New starts a cluster: for programs, and for TestMain. It takes a few milliseconds. Close the
// cluster.
func New(ctx context.Context, cfg Config) (*Cluster, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, public(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, public(err)
	}
	c := &Cluster{cfg: cfg, group: engine.NewUUID(), wake: make(chan struct{}), waiters: make(chan struct{})}
	c.password = strings.ReplaceAll(engine.NewUUID().String(), "-", "")
	for i := range cfg.Nodes {
		c.servers = append(c.servers, newServer(c, nodeName(i)))
	}
	c.primary = c.servers[0]
	c.running.Add(1)
	go c.carry()
	for _, name := range cfg.Databases {
		c.addDatabase(name)
	}
	for _, s := range c.servers {
		if err := s.listen(); err != nil {
			return nil, public(errors.Join(err, c.Close(ctx)))
		}
	}
	if !cfg.NoGroup {
		c.listener = &Listener{cluster: c}
		if err := c.listener.listen(); err != nil {
			return nil, public(errors.Join(err, c.Close(ctx)))
		}
	}
	return c, nil
}

// Close breaks all connections and ends all goroutines. Calling it again does nothing.
func (c *Cluster) Close(ctx context.Context) error {
	c.mu.Lock()
	first := !c.closed
	c.closed = true
	c.changed()
	c.mu.Unlock()
	if first {
		for _, s := range c.servers {
			s.stop()
		}
		if c.listener != nil {
			c.listener.stop()
		}
	}
	ended := make(chan struct{})
	go func() {
		c.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return public(fmt.Errorf("close: %w", ctx.Err()))
	}
}

// changed wakes the carrier, and whoever waits for a server to thaw. The cluster is locked.
func (c *Cluster) changed() {
	close(c.wake)
	c.wake = make(chan struct{})
}

func (c *Cluster) tellWaiters() {
	close(c.waiters)
	c.waiters = make(chan struct{})
}

// Primary is the server that takes writes.
func (c *Cluster) Primary() *Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.primary
}

// Servers are all servers, SQL1 first.
func (c *Cluster) Servers() []*Server { return append([]*Server(nil), c.servers...) }

// Replicas are the servers that are not the primary at this moment.
func (c *Cluster) Replicas() []*Server {
	primary := c.Primary()
	var replicas []*Server
	for _, s := range c.servers {
		if s != primary {
			replicas = append(replicas, s)
		}
	}
	return replicas
}

// Replica is the i-th of Replicas.
func (c *Cluster) Replica(i int) *Server { return c.Replicas()[i] }

// Server is a server by its name, such as SQL2; nil when there is none.
func (c *Cluster) Server(name string) *Server { return c.server(name) }

func (c *Cluster) server(name string) *Server {
	for _, s := range c.servers {
		if strings.EqualFold(s.name, name) {
			return s
		}
	}
	return nil
}

// Listener is the group's listener; nil without a group.
func (c *Cluster) Listener() *Listener { return c.listener }

// CreateDatabase makes one more database on all servers.
func (c *Cluster) CreateDatabase(_ context.Context, name string) error {
	if err := databaseName(name); err != nil {
		return public(err)
	}
	c.mu.Lock()
	taken := c.database(name) != nil
	c.mu.Unlock()
	if taken {
		return public(fmt.Errorf("database %s exists already", name))
	}
	c.addDatabase(name)
	return nil
}

func (c *Cluster) addDatabase(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	db := &database{name: name, id: int64(5 + len(c.databases)), uid: engine.NewUUID()}
	log := newLog()
	db.recovery = log[0].lsn
	for _, s := range c.servers {
		r := &replica{server: s, db: db, log: log[:1:1], redone: 1, visible: 1, reported: report{1, 1, time.Now()}}
		if s == c.primary || c.cfg.NoGroup {
			r.writer = engine.NewWriter(log[0].state, r.publish)
		}
		s.replicas[db] = r
	}
	c.databases = append(c.databases, db)
}

// database finds a database by its name. The cluster is locked.
func (c *Cluster) database(name string) *database {
	for _, db := range c.databases {
		if strings.EqualFold(db.name, name) {
			return db
		}
	}
	return nil
}

// WaitCaughtUp waits until every secondary that log can reach shows all that is committed now. One
// whose redo is paused, or that is suspended, would never get there: that is an error at once.
func (c *Cluster) WaitCaughtUp(ctx context.Context) error {
	if c.cfg.NoGroup {
		return nil
	}
	for {
		c.mu.Lock()
		behind, never := c.behind()
		moved := c.waiters
		closed := c.closed
		c.mu.Unlock()
		switch {
		case closed:
			return public(errClosed)
		case never != "":
			return public(fmt.Errorf("%s cannot catch up: %s", behind, never))
		case behind == "":
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return public(fmt.Errorf("wait for %s to catch up: %w", behind, ctx.Err()))
		}
	}
}

// behind names a server that is behind, and why it will stay so.
func (c *Cluster) behind() (name, never string) {
	for _, db := range c.databases {
		want := len(c.primary.replica(db).log)
		for _, s := range c.servers {
			r := s.replica(db)
			if s == c.primary || s.down || !r.left && r.visible == want {
				continue
			}
			name = s.name
			for _, kind := range []faultKind{paused, suspended, hidden, cut, frozen} {
				if s.under(kind) {
					return name, string(kind)
				}
			}
			if r.left {
				return name, "a forced failover has suspended it"
			}
		}
	}
	return name, ""
}
