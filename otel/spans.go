package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// tellSpan writes a decision on the span of its statement.
func tellSpan(ctx context.Context, d observe.Decision) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return // most of them, where traces are sampled: nothing is made for these
	}
	said := decided(d.Resolver, d.Server, d.Replica, d.Reason)
	if d.Refused {
		said = append(said, keyRefused.Bool(true))
	}
	said = append(said, keyAttempts.Int(d.Attempts))
	if d.Waited > 0 {
		said = append(said, keyWait.Float64(d.Waited.Seconds()))
	}
	if d.Begins {
		said = append(said, keyBegins.Bool(true))
	}
	say(span, said)
}

// tellSpanOfStatement writes where a transaction is on the span of one of its
// statements. On the span of a request it would say again what its beginning has said.
func tellSpanOfStatement(ctx context.Context, s observe.Statement) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() && ofStatement(span) {
		span.SetAttributes(decided(s.Resolver, s.Server, s.Replica, s.Reason)...)
	}
}

func decided(resolver, server string, replica bool, reason policy.Reason) []attribute.KeyValue {
	said := make([]attribute.KeyValue, 0, 8)
	if resolver != "" {
		said = append(said, keyResolver.String(resolver))
	}
	if server != "" { // somebody has served it
		said = append(said, keyServer.String(server), role(replica))
	}
	return append(said, keyReason.String(reason.String()))
}

// say puts attributes on the span of a statement. On that of a whole request they
// would be those of its newest statement alone: there they are an event.
func say(span trace.Span, said []attribute.KeyValue) {
	if ofStatement(span) {
		span.SetAttributes(said...)
		return
	}
	span.AddEvent("readsplit.decision", trace.WithAttributes(said...))
}

// ofStatement reports whether a span is that of one statement: the conventions make
// those client spans.
func ofStatement(span trace.Span) bool {
	s, ok := span.(interface{ SpanKind() trace.SpanKind })
	return ok && s.SpanKind() == trace.SpanKindClient
}

func tellSpanOfRetry(ctx context.Context, r observe.Retry) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	said := make([]attribute.KeyValue, 0, 4)
	if r.Resolver != "" {
		said = append(said, keyResolver.String(r.Resolver))
	}
	said = append(said, keyServer.String(r.Server), keyCause.String(r.Cause.String()))
	if r.Conflict != retry.ConflictNone {
		said = append(said, keyConflict.String(r.Conflict.String()))
	}
	span.AddEvent("readsplit.retry", trace.WithAttributes(said...))
}
