// Package desk is a help desk as many applications are: handlers over services over
// repositories, a queue in a table, hooks, soft deletes, some SQL by hand.
package desk

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Config is what the application is told by its environment.
type Config struct {
	Database string // a DSN or URL
	Patience time.Duration
}

// ConfigFromEnv reads DESK_DATABASE.
func ConfigFromEnv() (Config, error) {
	cfg := Config{Database: os.Getenv("DESK_DATABASE"), Patience: 30 * time.Second}
	if cfg.Database == "" {
		return cfg, errors.New("DESK_DATABASE is not set")
	}
	return cfg, nil
}

// App is the application.
type App struct {
	cfg     Config
	db      *gorm.DB
	tickets *TicketService
	reports *ReportService
	queue   *Queue
}

// Open connects to the database and brings its schema up to date.
func Open(cfg Config) (*App, error) {
	db, err := gorm.Open(postgres.Open(cfg.Database), &gorm.Config{
		TranslateError: true,
		Logger:         logger.Default.LogMode(logger.Silent),
	})
	if err != nil {
		return nil, err
	}
	if err := migrate(db); err != nil {
		return nil, err
	}
	queue := &Queue{db: db}
	return &App{
		cfg:     cfg,
		db:      db,
		queue:   queue,
		tickets: &TicketService{db: db, tickets: Tickets{db}, people: People{db}, queue: queue},
		reports: &ReportService{db: db},
	}, nil
}

// Close waits for nothing: end the HTTP server and the worker before.
func (a *App) Close() error {
	pool, err := a.db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// Handler serves the application.
func (a *App) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", a.login)
	mux.Handle("POST /agents", a.signedIn(a.hire))
	mux.Handle("POST /tickets", a.signedIn(a.openTicket))
	mux.Handle("GET /tickets", a.signedIn(a.list))
	mux.Handle("GET /tickets/{number}", a.signedIn(a.show))
	mux.Handle("DELETE /tickets/{number}", a.signedIn(a.remove))
	mux.Handle("POST /tickets/{number}/restore", a.signedIn(a.restore))
	mux.Handle("POST /tickets/{number}/comments", a.signedIn(a.comment))
	mux.Handle("POST /tickets/{number}/assign", a.signedIn(a.assign))
	mux.Handle("POST /tickets/{number}/close", a.signedIn(a.closeTicket))
	mux.Handle("POST /tickets/{number}/merge", a.signedIn(a.merge))
	mux.Handle("GET /tickets/{number}/history", a.signedIn(a.history))
	mux.Handle("GET /search", a.signedIn(a.search))
	mux.Handle("GET /export", a.signedIn(a.export))
	mux.Handle("GET /report", a.signedIn(a.report))
	return http.TimeoutHandler(mux, a.cfg.Patience, "the help desk is busy")
}

// Work runs jobs that are due until none is left, and returns how many it ran.
func (a *App) Work(ctx context.Context) (done int, err error) {
	for {
		ran, err := a.queue.RunOne(ctx, a.run)
		if err != nil || !ran {
			return done, err
		}
		done++
	}
}
