package observe_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// Changes of a server's state, retries and, at level Debug, decisions in the log of the
// application.
func ExampleNewLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // the time would be another one each time
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	log := observe.NewLog(logger, observe.LogOptions{})
	// readsplit.Config{Observers: []any{log}}; what the plugin tells it then:
	log.ObserveChange(observe.Change{At: time.Now(), Server: "pg2", State: "paused"})
	// Output: level=WARN msg="readsplit: server changed" server=pg2 state=paused meaning="an administrator has paused replay: what it shows grows older"
}

// The newest decisions and changes, for a page or a debugger. status.New shows them.
func ExampleNewRing() {
	ring := observe.NewRing(200)
	// readsplit.Config{Observers: []any{ring}}; what the plugin tells it then:
	ring.ObserveDecision(context.Background(), observe.Decision{Server: "primary", Reason: policy.ReasonFresh, Read: true})
	ring.ObserveDecision(context.Background(), observe.Decision{Server: "pg2", Replica: true, Reason: policy.ReasonCaughtUp, Read: true})
	for _, d := range ring.Decisions() {
		fmt.Println(d.Server, d.Reason)
	}
	// Output:
	// pg2 caught_up
	// primary fresh
}

// onPrimary counts reads that the primary served, by their reason. One method is an
// observer.
type onPrimary map[policy.Reason]int

// ObserveDecision implements observe.DecisionObserver. The plugin calls it from many
// goroutines: a real one has a lock, or atomic counters.
func (o onPrimary) ObserveDecision(_ context.Context, d observe.Decision) {
	if d.Read && !d.Replica {
		o[d.Reason]++
	}
}

// Of is what the plugin does with Config.Observers: each listens to what it implements,
// and one that implements nothing is a mistake.
func ExampleOf() {
	counts := onPrimary{}
	observers, err := observe.Of(counts)
	fmt.Println(len(observers.Decisions), len(observers.Changes), err)

	observers.Decisions[0].ObserveDecision(context.Background(), observe.Decision{Read: true, Reason: policy.ReasonFresh})
	fmt.Println(counts[policy.ReasonFresh])

	_, err = observe.Of(counts, "a name")
	fmt.Println(err != nil)
	// Output:
	// 1 0 <nil>
	// 1
	// true
}
