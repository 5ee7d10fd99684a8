package workload

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// Process is one process of the application. Run starts one goroutine for each
// client and joins them.
type Process struct {
	cfg     Config
	link    Link
	app     *opened
	handles []*gorm.DB
	began   time.Time
	values  atomic.Int64 // numbers the values that are written
	names   atomic.Int64 // numbers sessions, tokens and places
	writes  []way
	reads   []way

	mu    sync.Mutex
	inbox []Message
}

// NewProcess opens the servers for a process.
func NewProcess(cfg Config, link Link) (*Process, error) {
	p := &Process{cfg: cfg, link: link, writes: chosen(writeWays, cfg.Ways), reads: chosen(readWays, cfg.Ways)}
	if len(p.writes) == 0 || len(p.reads) == 0 {
		return nil, fmt.Errorf("verify: ways %q leave nothing to write or nothing to read", cfg.Ways)
	}
	app, err := cfg.open()
	if err != nil {
		return nil, err
	}
	p.app = app
	for _, s := range []*gorm.Session{{}, {PrepareStmt: true}, {SkipDefaultTransaction: true}, {PrepareStmt: true, SkipDefaultTransaction: true}} {
		p.handles = append(p.handles, app.db.Session(s))
	}
	return p, nil
}

// way is one way of writing or reading; it is taken as often as its weight says.
type way struct {
	name   string
	weight int
	run    func(c *client, ctx context.Context)
}

func chosen(ways []way, names []string) (taken []way) {
	for _, w := range ways {
		if len(names) > 0 && !slices.Contains(names, w.name) {
			continue
		}
		for range w.weight {
			taken = append(taken, w)
		}
	}
	return taken
}

// Run lets the clients work until ctx ends, and closes the servers.
func (p *Process) Run(ctx context.Context) error {
	p.began = time.Now()
	var clients sync.WaitGroup
	for id := range p.cfg.Clients {
		c := &client{p: p, id: id + 1, rng: rand.New(rand.NewPCG(p.cfg.Seed, uint64(p.cfg.Process)<<32|uint64(id)))}
		clients.Go(func() { c.run(ctx) })
	}
	clients.Wait()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := p.app.close(closing); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("verify: close: %s", told(err))
	}
	return nil
}

// inboxSize is how many tokens wait for a session to join them.
const inboxSize = 64

// Deliver hands the process a token. The oldest gives way.
func (p *Process) Deliver(m Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox) == inboxSize {
		p.inbox = slices.Delete(p.inbox, 0, 1)
	}
	p.inbox = append(p.inbox, m)
}

func (p *Process) received() (m Message, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox) == 0 {
		return Message{}, false
	}
	m = p.inbox[len(p.inbox)-1]
	p.inbox = p.inbox[:len(p.inbox)-1]
	return m, true
}
