package jobs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/jobs"
)

// A queue that keeps messages in memory. Whoever enqueues puts the token into the
// message; the worker begins each job with it, and with a session of its own.
func ExampleBegin() {
	type message struct {
		headers map[string]string
		attempt int
	}
	queue := make(chan message, 10)

	// A request enqueues, after its commit.
	request := readsplit.WithSession(context.Background(), readsplit.NewSession())
	m := message{headers: map[string]string{}}
	if err := jobs.Put(request, m.headers); err != nil {
		fmt.Println(err)
		return
	}
	queue <- m

	// The worker's loop.
	worker := context.Background()
	for len(queue) > 0 {
		m := <-queue
		ctx, begun := jobs.Begin(worker, jobs.Take(m.headers), jobs.Delayed(2*time.Second))
		if begun.InVain && m.attempt == 0 {
			m.attempt++ // no replica has it yet, and the job need not run now
			queue <- m
			continue
		}
		run(ctx)
	}
	// Output: the job ran
}

// A job that acts on what it reads begins Always on the primary; one that sends a
// newsletter need not. One that came without a token, of an older producer, sees all that
// was committed before it began.
func ExamplePolicy() {
	policies := map[string]jobs.Policy{"payout": jobs.Always(), "newsletter": jobs.Sticky()}
	for _, kind := range []string{"payout", "newsletter"} {
		_, begun := jobs.Begin(context.Background(), "", policies[kind])
		fmt.Println(kind, begun.NoToken, begun.InVain)
	}
	// Output:
	// payout true false
	// newsletter true false
}

// run is the job: its statements take their session from the context, as in
// db.WithContext(ctx).
func run(context.Context) { fmt.Println("the job ran") }
