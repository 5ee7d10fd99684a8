package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/status"
	"github.com/readsplit/readsplit/testenv"
)

// application is a program that is in use: its users write and read all the time, each
// with a session, and its status page is mounted.
type application struct {
	url    string
	db     *gorm.DB
	plugin *readsplit.Plugin
	page   *status.Page
	server *httptest.Server
	leave  context.CancelFunc
	users  sync.WaitGroup
}

const users = 6

// every is the time between two requests of one user.
const every = 30 * time.Millisecond

func startApplication(ctx context.Context, c *testenv.Cluster) (a *application, err error) {
	ring := observe.NewRing(200)
	cfg := readsplit.Config{Observers: []any{ring}, FollowPrimary: true}
	for _, r := range c.Replicas() {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
	}
	a = &application{plugin: readsplit.New(cfg)}
	if a.db, err = gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard}); err != nil {
		return nil, err
	}
	if err := a.db.Use(a.plugin); err != nil {
		return nil, err
	}
	if err := a.db.WithContext(ctx).Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, customer int, amount int)").Error; err != nil {
		return nil, err
	}
	if a.page, err = status.New(a.plugin, status.Options{
		Ring: ring, Every: 500 * time.Millisecond, Keep: 90 * time.Second,
		Authorize: func(*http.Request) bool { return true },
	}); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/readsplit/", a.page)
	a.server = httptest.NewServer(mux)
	a.url = a.server.URL + "/debug/readsplit/"
	life, leave := context.WithCancel(context.WithoutCancel(ctx))
	a.leave = leave
	for id := range users {
		a.users.Go(func() { a.use(life, id) })
	}
	return a, nil
}

// use is one user: every tenth request orders something, the others look. What fails
// while a server is down is tried again by the next request.
func (a *application) use(ctx context.Context, id int) {
	user := readsplit.WithSession(ctx, readsplit.NewSession())
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := id; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if n%10 == 0 {
			_ = a.db.WithContext(user).Exec("INSERT INTO orders (customer, amount) VALUES (?, ?)", id, n).Error
			continue
		}
		_ = a.db.WithContext(user).Raw("SELECT count(*) FROM orders WHERE customer = ?", id).Scan(new(int)).Error
	}
}

func (a *application) close(ctx context.Context) error {
	a.leave()
	a.users.Wait()
	err := a.page.Close()
	a.server.Close()
	pool, poolErr := a.db.DB()
	err = errors.Join(err, poolErr, a.plugin.Close(ctx))
	if poolErr == nil {
		err = errors.Join(err, pool.Close())
	}
	return err
}
