package plugins

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/opentelemetry-go-extra/otelgorm"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"gorm.io/gorm"
	"gorm.io/plugin/opentelemetry/tracing"

	"github.com/readsplit/readsplit"
)

// tracers are the two tracing plugins, which name their callbacks alike, and how
// each calls the text of a statement.
var tracers = []struct {
	name   string
	plugin func(*trace.TracerProvider) gorm.Plugin
	text   attribute.Key
}{
	{"gorm.io/plugin/opentelemetry", func(p *trace.TracerProvider) gorm.Plugin {
		return tracing.NewPlugin(tracing.WithTracerProvider(p), tracing.WithoutMetrics())
	}, "db.query.text"},
	{"otelgorm", func(p *trace.TracerProvider) gorm.Plugin {
		return otelgorm.NewPlugin(otelgorm.WithTracerProvider(p), otelgorm.WithoutMetrics())
	}, "db.statement"},
}

// attr returns an attribute of a span as text, and "" where there is none.
func attr(s tracetest.SpanStub, key attribute.Key) string {
	for _, kv := range s.Attributes {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

func TestTracing(t *testing.T) {
	for _, tracer := range tracers {
		t.Run(tracer.name, func(t *testing.T) {
			var spans *tracetest.InMemoryExporter
			install := func(t *testing.T, db *gorm.DB) error {
				spans = tracetest.NewInMemoryExporter()
				provider := trace.NewTracerProvider(trace.WithSyncer(spans))
				return db.Use(tracer.plugin(provider))
			}
			watch, err := spanServers()
			require.NoError(t, err)
			eachOrder(t, options{observers: []any{watch}}, install, func(t *testing.T, x *app) []string {
				var log []string
				// newest tells what the spans since the last call say, and the servers.
				newest := func(what string, tx *gorm.DB) (servers []string) {
					log = append(log, said(what, tx))
					for _, s := range spans.GetSpans() {
						log = append(log, s.Name+" "+attr(s, tracer.text)+" rows="+attr(s, "db.rows_affected")+" "+s.Status.Code.String()+" "+s.Status.Description)
						servers = append(servers, attr(s, "readsplit.server.name")+" "+attr(s, "readsplit.reason"))
					}
					spans.Reset()
					return servers
				}
				// decided is what readsplit says of a read, which the row's server confirms.
				decided := func(tx *gorm.DB, server string) []string {
					d, ok := readsplit.DecisionOf(tx)
					require.Equal(t, x.plugin != nil, ok)
					if !ok {
						return []string{" "}
					}
					onReplica(t, server)
					require.Equal(t, server, d.Server)
					return []string{d.Server + " " + d.Reason.String()}
				}
				where := func(want ...string) []string {
					if x.plugin == nil {
						return slices.Repeat([]string{" "}, len(want))
					}
					return want
				}
				spans.Reset()

				me := x.visitor()
				got := newest("create", me.Create(&note{OwnerID: 1, Title: "second"}))
				require.Equal(t, where("primary in_transaction"), got)
				require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))

				var all []note
				tx := x.visitor().Order("id").Find(&all)
				require.Equal(t, decided(tx, all[0].Server), newest("find", tx))
				tx = x.WithContext(readsplit.Fresh(session())).Order("id").Find(&all)
				require.Equal(t, where("primary fresh"), newest("fresh", tx))
				var server string
				tx = x.visitor().Raw("SELECT server FROM notes LIMIT 1").Scan(&server)
				require.Equal(t, decided(tx, server), newest("raw scan", tx))
				tx = me.Exec("UPDATE notes SET title = 'changed' WHERE id = 1")
				require.Equal(t, where("primary write"), newest("exec", tx))
				tx = me.Find(&all, "no_such_column = 1")
				require.Len(t, newest("an error", tx), 1)

				ctx := me.Statement.Context
				tx = me.Delete(&note{}, 2)
				require.Equal(t, where("primary in_transaction"), newest("delete", tx))
				require.Equal(t, ctx, tx.Statement.Context, "the statement has its own context back")

				follows(t, x, check{createNote, func(tx *gorm.DB) (int, string) {
					var all []note
					require.NoError(t, tx.Find(&all).Error)
					return len(all), all[0].Server
				}})
				return log
			})
		})
	}
}

// TestServerAddress: the plugin reads the address from a *postgres.Dialector, which
// readsplit wraps when it comes first or later. The address would be the
// primary's for every statement.
func TestServerAddress(t *testing.T) {
	for _, when := range []order{alone, before, after} {
		t.Run(string(when), func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			x := newApp(t, options{}, when, func(db *gorm.DB) error {
				return db.Use(tracers[0].plugin(trace.NewTracerProvider(trace.WithSyncer(spans))))
			})
			spans.Reset()
			require.NoError(t, x.visitor().Find(&[]note{}).Error)
			require.Len(t, spans.GetSpans(), 1)
			want := x.cluster.Primary().Addr()
			if when != alone {
				want = ""
			}
			require.Equal(t, want, attr(spans.GetSpans()[0], "server.address"))
			require.NotEqual(t, codes.Error, spans.GetSpans()[0].Status.Code)
		})
	}
}

// TestTracingMetrics: the metrics of the pool are the primary's.
func TestTracingMetrics(t *testing.T) {
	for _, when := range []order{alone, before, after} {
		t.Run(string(when), func(t *testing.T) {
			reader := metric.NewManualReader()
			otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(reader)))
			defer otel.SetMeterProvider(noop.NewMeterProvider())
			x := newApp(t, options{}, when, func(db *gorm.DB) error {
				pool, err := db.DB()
				require.NoError(t, err)
				pool.SetMaxOpenConns(7)
				return db.Use(tracing.NewPlugin())
			})
			require.NoError(t, x.visitor().Find(&[]note{}).Error)
			var data metricdata.ResourceMetrics
			require.NoError(t, reader.Collect(context.Background(), &data))
			var open []int64
			for _, scope := range data.ScopeMetrics {
				for _, m := range scope.Metrics {
					if m.Name == "go.sql.connections_max_open" {
						for _, point := range m.Data.(metricdata.Gauge[int64]).DataPoints {
							open = append(open, point.Value)
						}
					}
				}
			}
			require.Equal(t, []int64{7}, open, "the primary's pool, and no other")
		})
	}
}
