package otel

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/trace"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// told are events that come with statements.
func told(x *Observer) map[string]func(context.Context) {
	read := observe.Decision{Resolver: "orders", Server: "replica1", Replica: true, Read: true, Reason: policy.ReasonCaughtUp, Attempts: 1}
	waited := read
	waited.Reason, waited.Waited = policy.ReasonWaited, time.Millisecond
	failed := observe.Retry{Resolver: "orders", Server: "replica1", Cause: retry.CauseConnection}
	return map[string]func(context.Context){
		"a read":            func(ctx context.Context) { x.ObserveDecision(ctx, read) },
		"a read that waits": func(ctx context.Context) { x.ObserveDecision(ctx, waited) },
		"inside": func(ctx context.Context) {
			x.ObserveStatement(ctx, observe.Statement{Server: "primary", Reason: policy.ReasonInTransaction})
		},
		"a retry":   func(ctx context.Context) { x.ObserveRetry(ctx, failed) },
		"a capture": func(context.Context) { x.ObserveCapture(observe.Capture{Took: time.Millisecond}) },
		"a token":   func(context.Context) { x.ObserveToken(observe.Token{Outcome: observe.TokenAccepted}) },
	}
}

// TestStatementsCostNoAllocation: neither for the counts nor for a span that is not
// recorded.
func TestStatementsCostNoAllocation(t *testing.T) {
	x, err := New(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))})
	require.NoError(t, err)
	unsampled, span := trace.NewTracerProvider(trace.WithSampler(trace.NeverSample())).Tracer("").Start(context.Background(), "")
	defer span.End()
	for what, tell := range told(x) {
		for _, ctx := range []context.Context{context.Background(), unsampled} {
			assert.Zero(t, testing.AllocsPerRun(1000, func() { tell(ctx) }), what)
		}
	}
}

// BenchmarkObserve is what one statement costs.
func BenchmarkObserve(b *testing.B) {
	for _, with := range []string{"noop", "sdk"} {
		x, err := New(Options{MeterProvider: noop.NewMeterProvider()})
		if with == "sdk" {
			x, err = New(Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(metric.NewManualReader()))})
		}
		require.NoError(b, err)
		tell := told(x)
		for _, what := range []string{"a read", "a read that waits"} {
			b.Run(with+"/"+what, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					tell[what](context.Background())
				}
			})
		}
	}
}
