package otel

import (
	"fmt"
	"strings"

	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scope is the name of the instrumentation.
const scope = "github.com/readsplit/readsplit/otel"

// Options say where an [Observer] reports to. The zero value is right where one
// plugin is in use.
type Options struct {
	// MeterProvider makes the instruments. Defaults to the global one.
	MeterProvider metric.MeterProvider

	// Attributes stand on everything that is emitted as a metric. Several plugins in
	// one process need them: without, their series would be the same. Names that
	// begin with "readsplit." are taken. Defaults to none.
	Attributes []attribute.KeyValue

	// NoSpans keeps decisions and retries off the spans of statements.
	// Defaults to false.
	NoSpans bool
}

func (o Options) validate() error {
	for i, kv := range o.Attributes {
		switch {
		case !kv.Valid():
			return fmt.Errorf("readsplit: otel.Options.Attributes[%d] has no key or no value: give it both", i)
		case strings.HasPrefix(string(kv.Key), "readsplit."):
			return fmt.Errorf("readsplit: otel.Options.Attributes[%d] is %q: names that begin with readsplit. are this package's own; choose another, such as db.namespace", i, kv.Key)
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	if o.MeterProvider == nil {
		o.MeterProvider = otelapi.GetMeterProvider()
	}
	o.Attributes = append([]attribute.KeyValue(nil), o.Attributes...)
	return o
}
