package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/otel"
	"github.com/readsplit/readsplit/session/httpsession"
	"github.com/readsplit/readsplit/status"
)

// settings are what differs between one place and another where the shop runs.
type settings struct {
	primary string           // DSN
	config  readsplit.Config // the replicas, and the primary's budget
	log     *slog.Logger
}

// app is the shop as it runs: a server with its pages, /metrics, and /readsplit/.
type app struct {
	db     *gorm.DB
	plugin *readsplit.Plugin
	url    string // http://host:port
	end    []func(ctx context.Context) error
}

// start opens the database, begins to observe, and answers. Each step leaves in
// app.end how it is undone, so that the end is the beginning backwards.
func start(s settings) (a *app, err error) {
	a = &app{}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(context.Background()))
		}
	}()

	// 1. Metrics. Prometheus asks for them, so they are collected in a registry.
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry))
	if err != nil {
		return a, fmt.Errorf("observed: exporter: %w", err)
	}
	meters := metric.NewMeterProvider(metric.WithReader(reader))
	a.end = append(a.end, meters.Shutdown)
	metrics, err := otel.New(otel.Options{MeterProvider: meters})
	if err != nil {
		return a, err
	}

	// 2. What listens to the plugin: metrics, a log, and a ring that the page shows.
	ring := observe.NewRing(200)
	cfg := s.config
	cfg.Observers = []any{metrics, observe.NewLog(s.log, observe.LogOptions{}), ring}

	// 3. The database, and the plugin in front of it.
	if err := a.open(s.primary, cfg); err != nil {
		return a, err
	}

	// 4. What is not an event but a state, such as the lag, is read when somebody asks.
	if err := metrics.Register(a.plugin); err != nil {
		return a, err
	}
	a.end = append(a.end, func(context.Context) error { return metrics.Unregister() })

	// 5. Sessions are for the shop alone: whoever asks for metrics is nobody.
	sessions, err := httpsession.New(httpsession.Options{Insecure: true}) // plain http, on one machine
	if err != nil {
		return a, err
	}

	// 6. The page. It stands beside the shop here; put your authentication in front.
	page, err := status.New(a.plugin, status.Options{Ring: ring})
	if err != nil {
		return a, err
	}

	// 7. The server.
	mux := http.NewServeMux()
	mux.Handle("/", sessions.Handler(pages(a.db)))
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/readsplit/", page)
	if err := a.listen(mux); err != nil {
		return a, errors.Join(err, page.Close())
	}
	// The page has a stream that a server waits for when it shuts down.
	a.end = append(a.end, func(context.Context) error { return page.Close() })
	return a, nil
}

// connections is how many there are to each server at most.
const connections = 16

// open opens the database with the plugin.
func (a *app) open(dsn string, cfg readsplit.Config) error {
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return fmt.Errorf("observed: open the primary: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	a.end = append(a.end, func(context.Context) error { return pool.Close() })
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	a.db, a.plugin = db, readsplit.New(cfg)
	a.end = append(a.end, a.plugin.Close)
	if err := db.Use(a.plugin); err != nil {
		return err
	}
	return migrate(db)
}

// listen begins to answer on a free port.
func (a *app) listen(h http.Handler) error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("observed: listen: %w", err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan error, 1)
	go func() { done <- server.Serve(socket) }()
	a.url = "http://" + socket.Addr().String()
	a.end = append(a.end, func(ctx context.Context) error {
		err := server.Shutdown(ctx)
		if served := <-done; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	})
	return nil
}

// close undoes what start did, the last first.
func (a *app) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var errs []error
	for i := len(a.end) - 1; i >= 0; i-- {
		errs = append(errs, a.end[i](ctx))
	}
	a.end = nil
	return errors.Join(errs...)
}
