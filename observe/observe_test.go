package observe_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

type onlyTokens struct{}

func (onlyTokens) ObserveToken(observe.Token) {}

type onlyStatements struct{}

func (onlyStatements) ObserveStatement(context.Context, observe.Statement) {}

func TestOf(t *testing.T) {
	ring, log := observe.NewRing(1), observe.NewLog(slog.Default(), observe.LogOptions{})
	o, err := observe.Of(ring, onlyTokens{}, log)
	require.NoError(t, err)
	assert.Equal(t, []observe.DecisionObserver{ring, log}, o.Decisions)
	assert.Equal(t, []observe.RetryObserver{ring, log}, o.Retries)
	assert.Equal(t, []observe.ChangeObserver{ring, log}, o.Changes)
	assert.Equal(t, []observe.CaptureObserver{log}, o.Captures)
	assert.Equal(t, []observe.TokenObserver{onlyTokens{}}, o.Tokens)
	assert.Equal(t, []observe.DiscoveryObserver{log}, o.Discoveries)

	inside := onlyStatements{}
	o, err = observe.Of(inside)
	require.NoError(t, err)
	assert.Equal(t, observe.Observers{Statements: []observe.StatementObserver{inside}}, o)

	_, err = observe.Of(ring, nil, 5, observe.Ring{}, (*observe.Ring)(nil))
	for _, part := range []string{"[4] is a nil *observe.Ring", "[1] is a <nil>", "[2] is a int", "[3] is a observe.Ring", "pointer receiver"} {
		assert.ErrorContains(t, err, part)
	}
	assert.NotContains(t, err.Error(), "[0]")
}

func TestRingKeepsTheNewest(t *testing.T) {
	r := observe.NewRing(3)
	assert.Empty(t, r.Decisions())
	for i := range 5 {
		r.ObserveDecision(t.Context(), observe.Decision{Attempts: i})
		r.ObserveChange(observe.Change{State: strings.Repeat("x", i)})
	}
	r.ObserveRetry(t.Context(), observe.Retry{Server: "a"})
	var got []int
	for _, d := range r.Decisions() {
		got = append(got, d.Attempts)
	}
	assert.Equal(t, []int{4, 3, 2}, got)
	assert.Equal(t, "xxxx", r.Changes()[0].State)
	assert.Equal(t, []observe.Retry{{Server: "a"}}, r.Retries())
	assert.Len(t, observe.NewRing(0).Decisions(), 0)
}

func TestRingIsSafeAndFree(t *testing.T) {
	r := observe.NewRing(64)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 1000 {
				r.ObserveDecision(t.Context(), observe.Decision{Attempts: i})
				if i%100 == 0 {
					_ = r.Decisions()
				}
			}
		})
	}
	wg.Wait()
	assert.Len(t, r.Decisions(), 64)
	d := observe.Decision{Server: "replica1", Reason: policy.ReasonCaughtUp}
	assert.Zero(t, testing.AllocsPerRun(100, func() { r.ObserveDecision(context.Background(), d) }))
}

func logged(level slog.Level, o observe.LogOptions) (*observe.Log, *bytes.Buffer) {
	var b bytes.Buffer
	return observe.NewLog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level})), o), &b
}

func TestLogLines(t *testing.T) {
	l, b := logged(slog.LevelDebug, observe.LogOptions{})
	line := func() string { defer b.Reset(); return b.String() }
	l.ObserveDecision(t.Context(), observe.Decision{Server: "pg2", Reason: policy.ReasonWaited, Read: true, Attempts: 2, Waited: 3e6, Resolver: "orders"})
	assert.Contains(t, line(), `level=DEBUG msg="readsplit: decision" server=pg2 reason=waited read=true resolver=orders attempts=2 waited=3ms`)
	l.ObserveDecision(t.Context(), observe.Decision{Server: "primary", Reason: policy.ReasonInTransaction, Begins: true, Attempts: 1})
	assert.Contains(t, line(), `msg="readsplit: decision" server=primary reason=in_transaction read=false begins_transaction=true`)
	l.ObserveRetry(t.Context(), observe.Retry{Server: "pg2", Cause: retry.CauseRecoveryConflict, Conflict: retry.ConflictSnapshot, Err: errors.New("canceling")})
	assert.Contains(t, line(), `level=INFO msg="readsplit: a read is run again" server=pg2 cause=recovery_conflict error=canceling conflict=snapshot`)
	l.ObserveChange(observe.Change{Server: "pg2", State: "down", Err: errors.New("refused")})
	assert.Contains(t, line(), `level=WARN msg="readsplit: server changed" server=pg2 state=down meaning="it does not answer" error=refused`)
	l.ObserveChange(observe.Change{Server: "pg2", State: "up"})
	assert.Contains(t, line(), "level=INFO")
	l.ObserveChange(observe.Change{Server: "pg2", State: "cut_off"})
	assert.Contains(t, line(), `level=WARN msg="readsplit: server changed" server=pg2 state=cut_off meaning="it receives nothing, although`)
	l.ObserveChange(observe.Change{Server: "pg2", State: "receives"})
	assert.Contains(t, line(), "level=INFO")
	l.ObserveCapture(observe.Capture{})
	assert.Empty(t, line())
	l.ObserveCapture(observe.Capture{Err: errors.New("timeout")})
	assert.Contains(t, line(), "level=DEBUG")
}

func TestLogIsBounded(t *testing.T) {
	l, b := logged(slog.LevelDebug, observe.LogOptions{PerSecond: 10})
	const events = 1000
	for range events {
		l.ObserveDecision(t.Context(), observe.Decision{Server: "pg2"})
	}
	lines := strings.Count(b.String(), "\n")
	// A second may have ended meanwhile.
	assert.GreaterOrEqual(t, lines, 10)
	assert.Less(t, lines, events/10)
	// Changes are not bounded.
	for range 20 {
		l.ObserveChange(observe.Change{Server: "pg2", State: "down"})
	}
	assert.Equal(t, 20, strings.Count(b.String(), "server changed"))
	free, b := logged(slog.LevelDebug, observe.LogOptions{PerSecond: -1})
	for range events {
		free.ObserveDecision(t.Context(), observe.Decision{Server: "pg2"})
	}
	assert.Equal(t, events, strings.Count(b.String(), "\n"))
}

// Decisions are made a hundred thousand times a second: where nobody logs them they
// cost nothing.
func TestLogCostsNothingWhereNobodyReads(t *testing.T) {
	l, b := logged(slog.LevelInfo, observe.LogOptions{})
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		l.ObserveDecision(context.Background(), observe.Decision{Server: "pg2", Reason: policy.ReasonCaughtUp})
	}))
	assert.Empty(t, b.String())
}

func TestTokenOutcomes(t *testing.T) {
	assert.Equal(t, "accepted", observe.TokenAccepted.String())
	assert.Equal(t, "expired", observe.TokenExpired.String())
	assert.Equal(t, "unknown", observe.TokenOutcome(200).String())
}

// Whoever is woken by a change must not have to look its state up.
func TestEveryStateHasAMeaning(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "monitor", "config.go"))
	require.NoError(t, err)
	states := regexp.MustCompile(`State\w+ +State = "(\w+)"`).FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(states), 20)
	for _, s := range states {
		assert.NotEmpty(t, observe.Change{State: s[1]}.Meaning(), s[1])
	}
	bad := observe.Change{State: "of_a_later_version"}
	assert.Empty(t, bad.Meaning())
	assert.True(t, bad.Bad())
	assert.False(t, observe.Change{State: "within_lag"}.Bad())
}
