package otel

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// traced gives each statement of db a client span in its context, as the tracing
// plugins of GORM do, and returns what has ended.
func traced(t *testing.T, db *gorm.DB) *tracetest.InMemoryExporter {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	tracer := trace.NewTracerProvider(trace.WithSyncer(spans)).Tracer("")
	before := func(tx *gorm.DB) {
		ctx, _ := tracer.Start(tx.Statement.Context, "statement", api.WithSpanKind(api.SpanKindClient))
		tx.InstanceSet("outer", tx.Statement.Context)
		tx.Statement.Context = ctx
	}
	after := func(tx *gorm.DB) {
		api.SpanFromContext(tx.Statement.Context).End()
		outer, _ := tx.InstanceGet("outer")
		tx.Statement.Context = outer.(context.Context)
	}
	cb := db.Callback()
	require.NoError(t, errors.Join(
		cb.Create().Before("gorm:create").Register("trace:before", before), cb.Create().After("gorm:create").Register("trace:after", after),
		cb.Query().Before("gorm:query").Register("trace:before", before), cb.Query().After("gorm:query").Register("trace:after", after),
		cb.Row().Before("gorm:row").Register("trace:before", before), cb.Row().After("gorm:row").Register("trace:after", after),
		cb.Raw().Before("gorm:raw").Register("trace:before", before), cb.Raw().After("gorm:raw").Register("trace:after", after),
	))
	return spans
}

type order struct {
	ID       int64
	Customer string
}

// attributes are those of one span.
func attributes(s tracetest.SpanStub) map[attribute.Key]any {
	m := map[attribute.Key]any{}
	for _, kv := range s.Attributes {
		m[kv.Key] = kv.Value.AsInterface()
	}
	return m
}

// TestSpans: each statement's span says who served it, the retries of a read are its
// events, and statements in transactions are no exception.
func TestSpans(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) { cfg.Replicas = cfg.Replicas[:1] })
	spans := traced(t, x.DB)
	one := func() tracetest.SpanStub {
		t.Helper()
		all := spans.GetSpans()
		spans.Reset()
		require.Len(t, all, 1)
		return all[0]
	}
	replica := func(reason string) map[attribute.Key]any {
		return map[attribute.Key]any{keyServer: "replica1", keyRole: "replica", keyReason: reason, keyAttempts: int64(1)}
	}
	primary := func(reason string) map[attribute.Key]any {
		return map[attribute.Key]any{keyServer: "primary", keyRole: "primary", keyReason: reason, keyAttempts: int64(1)}
	}
	inside := func(m map[attribute.Key]any) map[attribute.Key]any { delete(m, keyAttempts); return m }

	orders(t, x.WithContext(readsplit.AnyReplica(t.Context())))
	assert.Equal(t, replica("any_replica"), attributes(one()))
	orders(t, x.WithContext(readsplit.Fresh(t.Context())))
	assert.Equal(t, primary("fresh"), attributes(one()))
	require.NoError(t, x.Exec("INSERT INTO orders (customer) VALUES ('ann')").Error)
	assert.Equal(t, primary("write"), attributes(one()))
	var all []order
	require.NoError(t, x.WithContext(readsplit.AnyReplica(t.Context())).Find(&all).Error)
	assert.Equal(t, replica("any_replica"), attributes(one()))

	// GORM's own transaction around a Create, one of the application, and a read-only
	// one on a replica.
	require.NoError(t, x.Create(&order{Customer: "bob"}).Error)
	assert.Equal(t, inside(primary("in_transaction")), attributes(one()))
	require.NoError(t, x.Transaction(func(tx *gorm.DB) error {
		require.NoError(t, tx.Find(&all).Error)
		assert.Equal(t, inside(primary("in_transaction")), attributes(one()))
		require.NoError(t, tx.Exec("UPDATE orders SET customer = 'eve'").Error)
		assert.Equal(t, inside(primary("in_transaction")), attributes(one()))
		return nil
	}))
	require.NoError(t, x.WithContext(readsplit.AnyReplica(t.Context())).Transaction(func(tx *gorm.DB) error {
		for range 2 {
			var server string
			require.NoError(t, tx.Raw(whoSQL).Scan(&server).Error)
			require.Equal(t, "replica1", server)
			got := attributes(one())
			assert.Equal(t, "replica1", got[keyServer])
			assert.Equal(t, "replica", got[keyRole])
			assert.Equal(t, "any_replica", got[keyReason])
		}
		return nil
	}, &sql.TxOptions{ReadOnly: true}))

	_, err := x.c.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	require.NoError(t, x.Exec("CREATE TABLE late (id bigint)").Error)
	spans.Reset()
	require.NoError(t, x.WithContext(readsplit.AnyReplica(t.Context())).Raw("SELECT count(*) FROM late").Scan(new(int)).Error)
	span := one()
	want := primary("schema_behind")
	want[keyAttempts] = int64(2)
	assert.Equal(t, want, attributes(span))
	require.Len(t, span.Events, 1)
	assert.Equal(t, "readsplit.retry", span.Events[0].Name)
	assert.Equal(t, []attribute.KeyValue{keyServer.String("replica1"), keyCause.String("schema_behind")}, span.Events[0].Attributes)
}

// TestSpanOfARequest: several statements share a span, which gets an event for each
// decision and no attributes.
func TestSpanOfARequest(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		x := newApp(t, Options{NoSpans: quiet}, func(cfg *readsplit.Config) { cfg.Replicas = cfg.Replicas[:1] })
		spans := tracetest.NewInMemoryExporter()
		ctx, span := trace.NewTracerProvider(trace.WithSyncer(spans)).Tracer("").Start(t.Context(), "request", api.WithSpanKind(api.SpanKindServer))
		orders(t, x.WithContext(readsplit.AnyReplica(ctx)))
		orders(t, x.WithContext(readsplit.Fresh(ctx)))
		require.NoError(t, x.WithContext(ctx).Transaction(func(tx *gorm.DB) error { orders(t, tx); orders(t, tx); return nil }))
		span.End()
		got := spans.GetSpans()[0]
		assert.Empty(t, got.Attributes)
		var servers []string
		for _, e := range got.Events {
			require.Equal(t, "readsplit.decision", e.Name)
			set := attribute.NewSet(e.Attributes...)
			if begins, _ := set.Value(keyBegins); begins.AsBool() {
				continue
			}
			server, _ := set.Value(keyServer)
			reason, _ := set.Value(keyReason)
			servers = append(servers, server.AsString()+" "+reason.AsString())
		}
		want := []string{"replica1 any_replica", "primary fresh"}
		if quiet {
			want = nil
		}
		assert.Equal(t, want, servers)
	}
}
