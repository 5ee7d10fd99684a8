package otel_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	readsplitotel "github.com/readsplit/readsplit/otel"
)

// The metrics of an application, where Prometheus looks for them.
func Example() {
	db, err := gorm.Open(postgres.Open(os.Getenv("PRIMARY")), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = observed(db, os.Getenv("REPLICA"), func() error { return http.ListenAndServe("localhost:9464", nil) })
	log.Fatal(err)
}

// An Observer reports to a MeterProvider, here one that is read by hand.
func ExampleNew() {
	reader := metric.NewManualReader()
	watch, err := readsplitotel.New(readsplitotel.Options{
		MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
		Attributes:    []attribute.KeyValue{attribute.String("database", "shop")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	plugin := readsplit.New(readsplit.Config{Observers: []any{watch}}) // and db.Use(plugin)
	if err := watch.Register(plugin); err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Unregister()

	var collected metricdata.ResourceMetrics
	err = reader.Collect(context.Background(), &collected)
	fmt.Println(len(collected.ScopeMetrics), err)
	// Output: 1 <nil>
}

// observed runs an application with the block of docs/metrics.md.
func observed(db *gorm.DB, replica string, run func() error) error {
	exporter, err := prometheus.New()
	if err != nil {
		return err
	}
	provider := metric.NewMeterProvider(metric.WithReader(exporter))
	defer func() { _ = provider.Shutdown(context.Background()) }()
	watch, err := readsplitotel.New(readsplitotel.Options{MeterProvider: provider})
	if err != nil {
		return err
	}
	plugin := readsplit.New(readsplit.Config{
		Replicas:  []readsplit.Replica{{Name: "pg2", Dialector: postgres.Open(replica)}},
		Observers: []any{watch},
	})
	defer func() { _ = plugin.Close(context.Background()) }()
	err = db.Use(plugin)
	if err != nil {
		return err
	}
	err = watch.Register(plugin)
	if err != nil {
		return err
	}
	defer watch.Unregister()
	http.Handle("/metrics", promhttp.Handler())
	return run()
}
