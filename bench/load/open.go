package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// Forms are what is compared; the others are compared with the first.
var Forms = []string{"plain", "dbresolver", "readsplit", "readsplit_session"}

// Account is the table of the clients: each has rows of its own.
type Account struct {
	ID      int64
	Client  int64 `gorm:"index"`
	Version int64
	Note    string
}

const connections = 64

// app is one form in use.
type app struct {
	form   string
	db     *gorm.DB
	plugin *readsplit.Plugin // nil: another form
	close  func() error
}

func open(form string, c *testenv.Cluster) (*app, error) {
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	a := &app{form: form, db: db, close: pool.Close}
	switch form {
	case "plain":
	case "dbresolver":
		resolver := dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{
			postgres.Open(c.Replica(0).DSN()), postgres.Open(c.Replica(1).DSN())}})
		err = db.Use(resolver.SetMaxOpenConns(connections).SetMaxIdleConns(connections))
	default:
		a.plugin = readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
			{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSN())},
			{Name: "replica2", Dialector: postgres.Open(c.Replica(1).DSN())},
		}})
		err = db.Use(a.plugin)
		a.close = func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return errors.Join(a.plugin.Close(ctx), pool.Close())
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load: %s: %w", form, err), a.close())
	}
	return a, nil
}

// client returns the handle of one client: a user with a session, where the form has them.
func (a *app) client() *gorm.DB {
	ctx := context.Background()
	if a.form == "readsplit_session" {
		ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	}
	return a.db.WithContext(ctx)
}
