package catalog

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Catalog is what is known of one database. Its methods may be called from any
// goroutine.
type Catalog struct {
	cfg      Config
	asked    asker // nil: there is nothing to ask
	apart    int   // the pause between two looks is this many times as long as a look
	snapshot atomic.Pointer[snapshot]

	wake chan struct{} // holds one element while a Refresh waits for its load
	stop context.CancelFunc
	done chan struct{} // closed when the goroutine has ended, or will never start
	ctx  context.Context

	mu      sync.Mutex
	started bool
	closed  bool
	wanted  uint64 // counts Refresh
	current bool   // a load that began after the latest Refresh has ended well
	mark    string // of the snapshot
	status  Status
	loaded  chan struct{} // closed and replaced after each load that ended well
}

// asker asks the database. Both methods name the action in their errors.
type asker interface {
	// look returns a text that differs whenever load would answer otherwise.
	look(ctx context.Context) (mark string, err error)
	load(ctx context.Context) (*facts, error)
}

// Status is what a Catalog knows, for pages, logs and tests.
type Status struct {
	// Current says that a load that began after the latest Refresh has ended well.
	Current bool
	// Functions is the number of functions known, without trigger functions and those
	// of the server itself.
	Functions int
	// Risks are what sends a read that names it to the primary, sorted. Functions are
	// among them only where a read is likely to name one without a call: it takes a
	// row, or had the name of a table's column when it was loaded.
	Risks []Risk
	// Loads is the number of loads that ended well, LoadedAt when the newest of them
	// began, Took how long it ran.
	Loads    int
	LoadedAt time.Time
	Took     time.Duration
	// Err is why the newest query failed; nil if it did not.
	Err error
}

var (
	errNothingToAsk = errors.New("readsplit: wait for the catalogue: Config.DB is nil, so that nothing is ever loaded")
	errClosed       = errors.New("readsplit: wait for the catalogue: it was closed")
)

// New reads the configuration and does no I/O. Its error names every declared
// function that is no name in SQL, or that cannot be a read.
func New(cfg Config) (*Catalog, error) {
	cfg, said, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	var asked asker
	if cfg.DB != nil {
		asked = server{cfg.DB, maxRows}
	}
	return newCatalog(cfg, said, asked), nil
}

func newCatalog(cfg Config, said *declared, asked asker) *Catalog {
	c := &Catalog{
		cfg: cfg, asked: asked, apart: looksApart,
		wake: make(chan struct{}, 1), done: make(chan struct{}), loaded: make(chan struct{}),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.replace(newSnapshot(nil, said.index()))
	return c
}

// Start starts the goroutine that loads the catalogue and watches it. A second call
// does nothing, nor does one after Close or without a DB.
func (c *Catalog) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started || c.closed || c.asked == nil {
		return
	}
	c.started = true
	go c.run()
}

// Close ends the goroutine and waits for it; a query that is running is broken off.
// What is known stays in use. Close may be called twice, and before Start.
func (c *Catalog) Close() {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		c.stop()
		if !c.started {
			close(c.done)
		}
	}
	c.mu.Unlock()
	<-c.done
}

// Refresh says that the schema changed, and does not wait. Functions are unknown
// until a load that began after this call has ended well, since any of them may be
// another one now. Relations are what they were until then. Call Refresh after the
// commit of the change: a load that begins before it sees the old state.
func (c *Catalog) Refresh() {
	if c.asked == nil {
		return
	}
	c.mu.Lock()
	c.wanted++
	c.current = false
	c.replace(c.snapshot.Load().forgotten())
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default: // a load that has yet to begin will do for both
	}
}

// Wait waits until a load that began after the latest Refresh has ended well, so
// that Judge knows the state of the database at this call or a later one. It fails
// with the error of ctx, or when there will be no such load.
func (c *Catalog) Wait(ctx context.Context) error {
	if c.asked == nil {
		return errNothingToAsk
	}
	for {
		c.mu.Lock()
		current, loaded := c.current, c.loaded
		c.mu.Unlock()
		if current {
			return nil
		}
		select {
		case <-loaded:
		case <-c.ctx.Done():
			return errClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Status returns what is known now. Its slices must not be changed.
func (c *Catalog) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, s := c.status, c.snapshot.Load()
	st.Current, st.Functions, st.Risks = c.current, s.functions, s.risks
	return st
}
