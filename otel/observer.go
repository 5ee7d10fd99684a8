package otel

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// Observer is what [readsplit.Config.Observers] takes. It counts from the moment that
// it is there; [Observer.Register] has the counts, and what the plugin knows,
// collected. One Observer is for one plugin. It is safe for concurrent use.
type Observer struct {
	options Options
	common  labels // on every series
	meter   metric.Meter
	in      instruments
	now     func() time.Time

	statements   tally[statement]
	transactions tally[statement]
	retries      tally[failure]
	tokens       tally[token]
	waits        *lookup[wait, []metric.RecordOption]
	captures     *lookup[capture, []metric.RecordOption]

	over  atomic.Bool // Unregister was called, and Register not since
	heard atomic.Bool // of any decision

	// plugin is read by collections, which hold locks of the MeterProvider that
	// Register and Unregister wait for: they must not wait for registering.
	plugin      atomic.Pointer[readsplit.Plugin]
	registering sync.Mutex
	collecting  metric.Registration

	collection sync.Mutex // one at a time
	shares     shares
	deaf       int // collections that found reads of which nothing was heard
}

// What is counted, told apart by what its series are told apart by.
type (
	statement struct {
		resolver, server string
		replica, read    bool
		reason           policy.Reason
	}
	failure struct {
		resolver, server string
		cause            retry.Cause
	}
	token struct {
		resolver string
		outcome  observe.TokenOutcome
	}
	wait struct {
		resolver string
		replica  bool
	}
	capture struct {
		resolver string
		failed   bool
		cause    retry.Cause
	}
)

// New returns an Observer. It emits nothing before [Observer.Register]; the error
// names what is wrong with o, or what the MeterProvider does not take.
func New(o Options) (*Observer, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	x := &Observer{options: o, common: labels(o.Attributes), meter: o.MeterProvider.Meter(scope), now: time.Now}
	var err error
	if x.in, err = newInstruments(x.meter); err != nil {
		return nil, err
	}
	where := func(s statement) labels {
		return x.common.of(s.resolver).with(keyServer.String(s.server), role(s.replica), operation(s.read), keyReason.String(s.reason.String()))
	}
	x.statements, x.transactions = newTally(where), newTally(where)
	x.retries = newTally(func(f failure) labels {
		return x.common.of(f.resolver).with(keyServer.String(f.server), keyCause.String(f.cause.String()))
	})
	x.tokens = newTally(func(t token) labels {
		return x.common.of(t.resolver).with(keyToken.String(t.outcome.String()))
	})
	x.waits = newLookup(func(w wait) []metric.RecordOption {
		return []metric.RecordOption{metric.WithAttributeSet(x.common.of(w.resolver).with(role(w.replica)).set())}
	})
	x.captures = newLookup(func(c capture) []metric.RecordOption {
		l := x.common.of(c.resolver)
		if c.failed {
			l = l.with(keyError.String(c.cause.String()))
		}
		return []metric.RecordOption{metric.WithAttributeSet(l.set())}
	})
	return x, nil
}

// ObserveDecision implements [observe.DecisionObserver].
func (x *Observer) ObserveDecision(ctx context.Context, d observe.Decision) {
	if x.over.Load() {
		return
	}
	x.heard.Store(true)
	k := statement{d.Resolver, d.Server, d.Replica, d.Read, d.Reason}
	switch {
	case d.Refused: // Status counts them
	case d.Begins:
		x.transactions.add(k)
	default:
		x.statements.add(k)
	}
	if d.Waited > 0 && !d.Refused {
		x.in.wait.Record(ctx, d.Waited.Seconds(), x.waits.get(wait{d.Resolver, d.Replica})...)
	}
	if !x.options.NoSpans {
		tellSpan(ctx, d)
	}
}

// ObserveStatement implements [observe.StatementObserver].
func (x *Observer) ObserveStatement(ctx context.Context, s observe.Statement) {
	if !x.options.NoSpans && !x.over.Load() {
		tellSpanOfStatement(ctx, s)
	}
}

// ObserveRetry implements [observe.RetryObserver].
func (x *Observer) ObserveRetry(ctx context.Context, r observe.Retry) {
	if x.over.Load() {
		return
	}
	x.retries.add(failure{r.Resolver, r.Server, r.Cause})
	if !x.options.NoSpans {
		tellSpanOfRetry(ctx, r)
	}
}

// ObserveToken implements [observe.TokenObserver].
func (x *Observer) ObserveToken(t observe.Token) {
	if !x.over.Load() {
		x.tokens.add(token{t.Resolver, t.Outcome})
	}
}

// ObserveCapture implements [observe.CaptureObserver].
func (x *Observer) ObserveCapture(c observe.Capture) {
	if x.over.Load() {
		return
	}
	k := capture{resolver: c.Resolver, failed: c.Err != nil}
	if k.failed {
		k.cause = retry.OfRead(c.Err).Cause
	}
	x.in.capture.Record(context.Background(), c.Took.Seconds(), x.captures.get(k)...)
}
