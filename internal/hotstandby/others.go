package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
)

// readers are other users of the application, each with a session, who look at single rows
// twenty times a second.
type readers struct {
	db  *gorm.DB
	all sync.WaitGroup

	mu    sync.Mutex
	tally tally
	end   context.CancelFunc
}

// tally is where reads were served.
type tally struct {
	reads map[string]int
	err   error
}

const readersCount = 8

func startReaders(ctx context.Context, db *gorm.DB) *readers {
	r := &readers{db: db, tally: tally{reads: map[string]int{}}}
	ctx, r.end = context.WithCancel(ctx)
	for user := range readersCount {
		r.all.Go(func() { r.read(ctx, user) })
	}
	return r
}

func (r *readers) read(ctx context.Context, user int) {
	db := r.db.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var amount int64
		tx := db.Raw("SELECT amount FROM entries WHERE id = ?", user+1).Find(&amount)
		d, _ := readsplit.DecisionOf(tx)
		r.mu.Lock()
		r.tally.reads[d.Server]++
		r.tally.err = errors.Join(r.tally.err, tx.Error)
		r.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *readers) stop() tally {
	r.end()
	r.all.Wait()
	return r.tally
}

// share is how many of a hundred reads a server had.
func (t tally) share(server string) float64 {
	all := 0
	for _, n := range t.reads {
		all += n
	}
	return 100 * float64(t.reads[server]) / float64(max(all, 1))
}

// cancellation is a run of the report that its server broke off.
type cancellation struct {
	server, code, kind string
	after              time.Duration
}

func (c cancellation) String() string {
	return fmt.Sprintf("%s after %s by %s (%s)", c.code, seconds(c.after), c.server, c.kind)
}

// cancellations hears what became of the report, whose context has reportKey with the time
// at which it began.
type cancellations struct {
	mu  sync.Mutex
	all []cancellation
}

type reportKey struct{}

// ObserveRetry implements observe.RetryObserver.
func (c *cancellations) ObserveRetry(ctx context.Context, r observe.Retry) {
	began, ok := ctx.Value(reportKey{}).(time.Time)
	if !ok {
		return
	}
	one := cancellation{server: r.Server, kind: r.Conflict.String(), code: r.Cause.String(), after: time.Since(began)}
	var pg *pgconn.PgError
	if errors.As(r.Err, &pg) {
		one.code = pg.Code
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

func (c *cancellations) of() []cancellation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
