// Package stage puts the tea shop up as it would run: a PostgreSQL primary with two
// streaming replicas, several processes of the application, and in front of them a
// proxy that gives each request to the next process.
package stage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/examples/webshop/app"
	"github.com/readsplit/readsplit/examples/webshop/shop"
	"github.com/readsplit/readsplit/testenv"
)

// Options say what is put up.
type Options struct {
	// Version is the major version of PostgreSQL; empty: any.
	Version string
	// Plugin is "readsplit" or "dbresolver".
	Plugin string
	// NoSessions leaves the sessions out of the processes.
	NoSessions bool
	// Processes is how many there are of the application. Defaults to 2.
	Processes int
	// Listen is where the proxy answers. Defaults to a free port of 127.0.0.1.
	Listen string
	// Errors receives what the processes write to their standard error. If it is no
	// file, several goroutines write to it.
	Errors io.Writer
	// Settings are lines of postgresql.conf.
	Settings map[string]string
}

// Stage is what was put up. Close ends it.
type Stage struct {
	Cluster   *testenv.Cluster
	Processes []*Process
	// URL is the shop, behind the proxy.
	URL string

	proxy  *proxy
	config app.Config
	errors io.Writer
}

// Database is the name of the shop's database on every server.
const Database = "webshop"

// closeTimeout bounds how long each part may take to end.
const closeTimeout = 15 * time.Second

// Start puts everything up. The program that calls it must run [app.Serve] when it is
// called with the argument [Serve]: the processes are itself.
func Start(ctx context.Context, o Options) (s *Stage, err error) {
	s = new(Stage)
	defer func() {
		if err != nil {
			_, closed := s.Close(context.WithoutCancel(ctx))
			s, err = nil, errors.Join(err, closed)
		}
	}()
	if s.Cluster, err = testenv.New(ctx, testenv.Config{Version: o.Version, Settings: o.Settings}); err != nil {
		return s, fmt.Errorf("webshop: start the servers: %w", err)
	}
	if err := s.fill(ctx); err != nil {
		return s, err
	}
	if o.Processes == 0 {
		o.Processes = 2
	}
	s.config = app.Config{Primary: s.Cluster.Primary().DSNFor(Database), Key: rand.Text(), Plugin: o.Plugin}
	for _, r := range s.Cluster.Replicas() {
		s.config.Replicas = append(s.config.Replicas, app.Replica{Name: r.Name(), DSN: r.DSNFor(Database)})
	}
	s.errors = o.Errors
	for i := range o.Processes {
		if _, err := s.Add(ctx, fmt.Sprintf("process %d of %d, %s", i+1, o.Processes, o.Plugin), !o.NoSessions); err != nil {
			return s, err
		}
	}
	s.proxy, err = startProxy(o.Listen, s.Processes)
	if err == nil {
		s.URL = "http://" + s.proxy.addr
	}
	return s, err
}

// Add starts one more process of the application, which the proxy does not know. It
// returns when the process answers.
func (s *Stage) Add(ctx context.Context, name string, sessions bool) (*Process, error) {
	cfg := s.config
	cfg.Name, cfg.Sessions = name, sessions
	p, err := startProcess(ctx, cfg, s.errors)
	if err != nil {
		return nil, err
	}
	s.Processes = append(s.Processes, p)
	return p, p.answers(ctx)
}

// fill opens the shop: its tables and its teas, on every server.
func (s *Stage) fill(ctx context.Context) error {
	if err := s.Cluster.CreateDatabase(ctx, Database); err != nil {
		return err
	}
	db, err := gorm.Open(postgres.Open(s.Cluster.Primary().DSNFor(Database)), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent)})
	if err != nil {
		return fmt.Errorf("webshop: open the primary: %w", err)
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return errors.Join(shop.Open(ctx, db), pool.Close(), s.Cluster.WaitCaughtUp(ctx))
}

// Close ends everything, and returns what the processes have counted.
func (s *Stage) Close(ctx context.Context) (total app.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	var errs []error
	if s.proxy != nil {
		errs = append(errs, s.proxy.end(ctx))
	}
	reports, failed := make([]app.Report, len(s.Processes)), make([]error, len(s.Processes))
	var ending sync.WaitGroup
	for i, p := range s.Processes {
		ending.Go(func() { reports[i], failed[i] = p.end(ctx) })
	}
	ending.Wait()
	for _, r := range reports {
		total.Add(r)
	}
	errs = append(errs, failed...)
	http.DefaultClient.CloseIdleConnections()
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Close(ctx))
	}
	return total, errors.Join(errs...)
}

// quiet takes what net/http has to say of connections that clients have left.
var quiet = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
