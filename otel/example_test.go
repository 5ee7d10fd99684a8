package otel_test

import (
	"context"
	"log"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
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
