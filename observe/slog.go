package observe

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

// LogOptions say what [NewLog] logs.
type LogOptions struct {
	// PerSecond bounds the lines for decisions and retries, which come with every
	// statement; what was left out is said in the next line. Changes of state are
	// always logged. Negative: no bound. Defaults to 100.
	PerSecond int
}

// NewLog returns an observer that writes to logger: changes of state at Info, or Warn
// when they are bad news; retries at Info; decisions and captures that failed at Debug.
// Where the handler does not take the level, nothing is made for it.
func NewLog(logger *slog.Logger, o LogOptions) *Log {
	l := &Log{to: logger, perSecond: int64(o.PerSecond), now: time.Now}
	if o.PerSecond == 0 {
		l.perSecond = 100
	}
	return l
}

// Log is an observer that writes to a slog.Logger. It is safe for concurrent use.
type Log struct {
	to        *slog.Logger
	perSecond int64
	now       func() time.Time

	second  atomic.Int64 // the one that lines are counted for, since 1970
	lines   atomic.Int64
	dropped atomic.Int64
}

// ObserveDecision implements [DecisionObserver].
func (l *Log) ObserveDecision(ctx context.Context, d Decision) {
	if !l.to.Enabled(ctx, slog.LevelDebug) {
		return
	}
	dropped, ok := l.may()
	if !ok {
		return
	}
	attrs, n := [8]slog.Attr{slog.String("server", d.Server)}, 1
	if d.Refused {
		attrs[0] = slog.Bool("refused", true)
	}
	add := func(a slog.Attr) { attrs[n], n = a, n+1 }
	add(slog.String("reason", d.Reason.String()))
	add(slog.Bool("read", d.Read))
	if d.Resolver != "" {
		add(slog.String("resolver", d.Resolver))
	}
	if d.Begins {
		add(slog.Bool("begins_transaction", true))
	}
	if d.Attempts > 1 {
		add(slog.Int("attempts", d.Attempts))
	}
	if d.Waited > 0 {
		add(slog.Duration("waited", d.Waited))
	}
	if dropped > 0 {
		add(slog.Int64("lines_left_out", dropped))
	}
	l.to.LogAttrs(ctx, slog.LevelDebug, "readsplit: decision", attrs[:n]...)
}

// ObserveRetry implements [RetryObserver].
func (l *Log) ObserveRetry(ctx context.Context, r Retry) {
	if !l.to.Enabled(ctx, slog.LevelInfo) {
		return
	}
	dropped, ok := l.may()
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.String("server", r.Server), slog.String("cause", r.Cause.String()), slog.Any("error", r.Err)}
	if r.Resolver != "" {
		attrs = append(attrs, slog.String("resolver", r.Resolver))
	}
	if r.Conflict != 0 {
		attrs = append(attrs, slog.String("conflict", r.Conflict.String()))
	}
	if dropped > 0 {
		attrs = append(attrs, slog.Int64("lines_left_out", dropped))
	}
	l.to.LogAttrs(ctx, slog.LevelInfo, "readsplit: a read is run again", attrs...)
}

// ObserveChange implements [ChangeObserver].
func (l *Log) ObserveChange(c Change) {
	level := slog.LevelWarn
	if !c.Bad() {
		level = slog.LevelInfo
	}
	attrs := []slog.Attr{slog.String("server", c.Server), slog.String("state", c.State)}
	if m := c.Meaning(); m != "" {
		attrs = append(attrs, slog.String("meaning", m))
	}
	if c.Resolver != "" {
		attrs = append(attrs, slog.String("resolver", c.Resolver))
	}
	if c.Err != nil {
		attrs = append(attrs, slog.Any("error", c.Err))
	}
	l.to.LogAttrs(context.Background(), level, "readsplit: server changed", attrs...)
}

// ObserveDiscovery implements [DiscoveryObserver].
func (l *Log) ObserveDiscovery(d Discovery) {
	level := slog.LevelInfo
	if d.Bad() {
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{slog.String("source", d.Source), slog.String("kind", d.Kind)}
	if d.Server != "" {
		attrs = append(attrs, slog.String("server", d.Server))
	}
	if d.Err != nil {
		attrs = append(attrs, slog.Any("error", d.Err))
	}
	l.to.LogAttrs(context.Background(), level, "readsplit: discovery", attrs...)
}

// ObserveCapture implements [CaptureObserver].
func (l *Log) ObserveCapture(c Capture) {
	if c.Err != nil {
		l.to.LogAttrs(context.Background(), slog.LevelDebug, "readsplit: the primary did not tell its position",
			slog.String("resolver", c.Resolver), slog.Duration("took", c.Took), slog.Any("error", c.Err))
	}
}

// may reports whether one more line may be written now, and how many were left out
// since the last one.
func (l *Log) may() (dropped int64, ok bool) {
	if l.perSecond < 0 {
		return 0, true
	}
	now := l.now().Unix()
	if was := l.second.Load(); was != now && l.second.CompareAndSwap(was, now) {
		l.lines.Store(0)
	}
	if l.lines.Add(1) > l.perSecond {
		l.dropped.Add(1)
		return 0, false
	}
	return l.dropped.Swap(0), true
}
