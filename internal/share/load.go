package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
)

// cell is one line of a table: who writes how much, and who must see it.
type cell struct {
	writes   int // a second
	sessions bool
	length   time.Duration
	reads    int // a second
	least    int // reads, however long that takes
	warm     time.Duration
	edit     func(*readsplit.Config) // nil: the defaults
}

// load is a cell while it runs.
type load struct {
	cell
	lab    *lab
	db     *gorm.DB // with the plugin
	people []person
	stop   chan struct{}
	counts atomic.Bool // the plugin has been warmed up
	done   sync.WaitGroup
	failed atomic.Pointer[error]

	mu    sync.Mutex
	got   *result
	total atomic.Int64 // writes, while it counts
}

// person is one user: a row, and who must see it.
type person struct {
	ctx  context.Context
	turn sync.Mutex // of those who write the row
	n    int64
	seen atomic.Int64 // that was acknowledged
}

// measure runs c on a database of its own opening, with the plugin's defaults.
func (l *lab) measure(ctx context.Context, c cell) (got *result, err error) {
	x := &load{cell: c, lab: l, people: make([]person, l.users), stop: make(chan struct{}), got: newResult(c)}
	cfg := readsplit.Config{Replicas: l.replicas(), Observers: []any{x}}
	if c.edit != nil {
		c.edit(&cfg)
	}
	plugin := readsplit.New(cfg)
	log := &warnings{Interface: logger.Discard}
	if x.db, err = l.open(plugin, log); err != nil {
		return nil, err
	}
	defer func() {
		pool, perr := x.db.DB()
		if perr == nil {
			perr = errors.Join(plugin.Close(context.Background()), pool.Close())
		}
		err = errors.Join(err, perr)
	}()
	if err := l.plain.Exec("UPDATE users SET n = 0 WHERE n <> 0").Error; err != nil {
		return nil, err
	}
	for i := range x.people {
		x.people[i].ctx = ctx
		if c.sessions {
			x.people[i].ctx = readsplit.WithSession(ctx, readsplit.NewSession())
		}
	}
	x.start()
	rest(ctx, c.warm)
	before := plugin.Status().Captures
	began := time.Now()
	x.counts.Store(true)
	rest(ctx, c.length)
	for x.failed.Load() == nil && ctx.Err() == nil && x.counted() < c.least {
		rest(ctx, 50*time.Millisecond)
	}
	x.counts.Store(false)
	took := time.Since(began)
	status := plugin.Status()
	close(x.stop)
	x.done.Wait()
	x.got.written = float64(x.total.Load()) / took.Seconds()
	x.got.captures = float64(status.Captures-before) / took.Seconds()
	x.got.advised, x.got.said = plugin.Status().SessionsWouldHelp, log.about("WithSession")
	if failed := x.failed.Load(); failed != nil {
		return nil, fmt.Errorf("%d writes/s: %w", c.writes, *failed)
	}
	return x.got, nil
}

// counted is how many reads were counted.
func (x *load) counted() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.got.took)
}

func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// start starts those who write and those who read.
func (x *load) start() {
	writers := min(max(1, x.writes/150), 24)
	for i := range writers {
		x.done.Go(func() { x.each(uint64(i), float64(x.writes)/float64(writers), x.write) })
	}
	const readers = 8
	for i := range readers {
		x.done.Go(func() { x.each(uint64(100+i), float64(x.reads)/readers, x.read) })
	}
}

// each does something at random times, so many times a second. Who is late makes no
// pause until the plan is caught up with, and gives it up where that takes a second.
func (x *load) each(seed uint64, rate float64, do func(*rand.Rand) error) {
	rng := rand.New(rand.NewPCG(9, seed))
	next := time.Now()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		next = next.Add(time.Duration(rng.ExpFloat64() / rate * float64(time.Second)))
		if late := time.Since(next); late > time.Second {
			next = time.Now()
		}
		pause.Reset(max(time.Until(next), 0))
		select {
		case <-pause.C:
		case <-x.stop:
			return
		}
		if err := do(rng); err != nil {
			x.failed.CompareAndSwap(nil, &err)
			return
		}
	}
}

func (x *load) write(rng *rand.Rand) error {
	id := rng.IntN(len(x.people))
	p := &x.people[id]
	p.turn.Lock()
	defer p.turn.Unlock()
	p.n++
	if err := x.db.WithContext(p.ctx).Exec("UPDATE users SET n = ? WHERE id = ?", p.n, id).Error; err != nil {
		return err
	}
	p.seen.Store(p.n)
	if x.counts.Load() {
		x.total.Add(1)
	}
	return nil
}

// read reads a row through the plugin, and then one as plain GORM does, so that whatever
// else the machine does meets both.
func (x *load) read(rng *rand.Rand) error {
	id := rng.IntN(len(x.people))
	p := &x.people[id]
	least := p.seen.Load()
	var n, other int64
	var tx *gorm.DB
	var took, plain time.Duration
	split := func() { tx, took = look(p.ctx, x.db, id, &n) }
	past := func() error {
		var tx *gorm.DB
		tx, plain = look(p.ctx, x.lab.plain, id, &other)
		return tx.Error
	}
	first := rng.IntN(2) == 0 // who comes second finds warm caches
	if first {
		split()
	}
	if err := past(); err != nil {
		return err
	}
	if !first {
		split()
	}
	if tx.Error != nil {
		return tx.Error
	}
	d, _ := readsplit.DecisionOf(tx)
	if !x.counts.Load() {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got.took, x.got.plain = append(x.got.took, took), append(x.got.plain, plain)
	if n < least {
		x.got.missing++
	}
	if d.Replica {
		x.got.replica++
	} else {
		x.got.reasons[d.Reason]++
	}
	return nil
}

func look(ctx context.Context, db *gorm.DB, id int, n *int64) (*gorm.DB, time.Duration) {
	began := time.Now()
	tx := db.WithContext(ctx).Raw("SELECT n FROM users WHERE id = ?", id).Scan(n)
	return tx, time.Since(began)
}

// ObserveDecision counts those that waited.
func (x *load) ObserveDecision(_ context.Context, d observe.Decision) {
	if !d.Read || d.Waited == 0 || !x.counts.Load() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got.waited++
	if !d.Replica {
		x.got.vain++
	}
}
