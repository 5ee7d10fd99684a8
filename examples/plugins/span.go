package plugins

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// SpanServers adds to the span of each statement which server answered it and
// why. Call it after db.Use of the tracing plugin, which is any that names its
// callbacks otel:after:... and keeps the span in the statement's context
// (gorm.io/plugin/opentelemetry, otelgorm); where readsplit is installed does not
// matter. An attribute that is added after the span has ended is dropped without
// a word, so the callbacks stand before the tracing plugin's own, and it is an
// error when there are none to stand before. Those of writes stand before the
// commit: GORM puts the configured pool back with it, which knows no decision.
func SpanServers(db *gorm.DB) error {
	cb := db.Callback()
	for name, get := range map[string]func(string) func(*gorm.DB){
		"otel:after:select": cb.Query().Get, "otel:after:row": cb.Row().Get, "otel:after:raw": cb.Raw().Get,
		"otel:after:create": cb.Create().Get, "otel:after:update": cb.Update().Get, "otel:after:delete": cb.Delete().Get,
	} {
		if get(name) == nil {
			return errors.New("plugins: no callback " + name + ": install the tracing plugin first")
		}
	}
	const own = "app:span_server"
	return errors.Join(
		cb.Query().Before("otel:after:select").Register(own, spanServer),
		cb.Row().Before("otel:after:row").Register(own, spanServer),
		cb.Raw().Before("otel:after:raw").Register(own, spanServer),
		cb.Create().Before("gorm:after_create").Register(own, spanServer),
		cb.Update().Before("gorm:after_update").Register(own, spanServer),
		cb.Delete().Before("gorm:after_delete").Register(own, spanServer),
	)
}

func spanServer(tx *gorm.DB) {
	if d, ok := readsplit.DecisionOf(tx); ok {
		trace.SpanFromContext(tx.Statement.Context).SetAttributes(
			attribute.String("readsplit.server", d.Server),
			attribute.String("readsplit.reason", d.Reason.String()),
		)
	}
}
