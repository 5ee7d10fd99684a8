package readsplit

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// To be told costs no allocation with nobody who listens, and none either with those
// who keep what is told, or do not log it.
func TestTellingCostsNoAllocation(t *testing.T) {
	for name, all := range map[string][]any{
		"nobody":      nil,
		"a ring":      {observe.NewRing(10)},
		"a log":       {observe.NewLog(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError})), observe.LogOptions{})},
		"a counter":   {&counted{}},
		"all of them": {observe.NewRing(10), &counted{}},
	} {
		t.Run(name, func(t *testing.T) {
			told, err := observe.Of(all...)
			require.NoError(t, err)
			rt := &router{plugin: &Plugin{told: told}}
			r, s, failed := &route{router: rt}, &server{name: "pg2"}, errors.New("refused")
			for what, tell := range map[string]func(){
				"a read on a replica": func() { r.tell(context.Background(), s, policy.ReasonCaughtUp) },
				"a write":             func() { r.tell(context.Background(), nil, policy.ReasonWrite) },
				"a transaction":       func() { rt.tellBegin(context.Background(), false, policy.ReasonInTransaction) },
				"a retry":             func() { r.tellRetry(context.Background(), s, retry.Verdict{Cause: retry.CauseConnection}, failed) },
				"a token":             func() { rt.tellToken(observe.TokenAccepted) },
				"a capture":           func() { rt.tellCapture(time.Now(), nil) },
			} {
				assert.Zero(t, testing.AllocsPerRun(100, tell), what)
			}
			if all == nil {
				assert.Zero(t, testing.AllocsPerRun(100, func() { rt.tellChange(monitor.Change{Server: "pg2", State: monitor.StateDown}) }), "a change")
			}
		})
	}
}

// counted is an observer of decisions, as one of metrics is.
type counted struct{ n int }

func (c *counted) ObserveDecision(context.Context, observe.Decision) { c.n++ }

// BenchmarkTell measures what a decision costs its statement to be told, without a
// database around it.
func BenchmarkTell(b *testing.B) {
	log := func(level slog.Level) *observe.Log {
		return observe.NewLog(slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: level})), observe.LogOptions{PerSecond: -1})
	}
	for _, form := range []struct {
		name string
		all  []any
	}{
		{"nobody", nil},
		{"ring", []any{observe.NewRing(200)}},
		{"log_info", []any{log(slog.LevelInfo)}},
		{"log_debug", []any{log(slog.LevelDebug)}},
	} {
		b.Run(form.name, func(b *testing.B) {
			told, err := observe.Of(form.all...)
			require.NoError(b, err)
			r, s := &route{router: &router{plugin: &Plugin{told: told}}}, &server{name: "pg2"}
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				r.tell(ctx, s, policy.ReasonCaughtUp)
			}
		})
	}
}
