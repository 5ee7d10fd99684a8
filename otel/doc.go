// Package otel turns what the plugin does into OpenTelemetry metrics, and writes on
// the span of a statement who served it and why.
//
//	watch, err := otel.New(otel.Options{})
//	plugin := readsplit.New(readsplit.Config{Replicas: replicas, Observers: []any{watch}})
//	err = db.Use(plugin)
//	err = watch.Register(plugin)
//	defer watch.Unregister()
//
// Which metrics there are, their units and attributes, and what to do about each, is
// in docs/metrics.md. Numbers that the plugin keeps itself are read once for each
// collection; what it tells of while it runs is counted here, without an allocation
// for a statement. The package starts no goroutine and asks no server.
//
// No attribute holds a DSN, an address, a token, SQL, or a value of a statement.
package otel
