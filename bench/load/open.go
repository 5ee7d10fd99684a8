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

// Names of the forms.
const (
	Plain      = "plain"      // GORM alone, on the primary
	ByHand     = "by_hand"    // GORM alone: writes on the primary, reads on any replica, whatever it has
	DBResolver = "dbresolver" // the same by dbresolver
	ReadSplit  = "readsplit"  // one session for the process
	Session    = "readsplit_session"
)

// Forms are what is compared; the others are compared with the first.
var Forms = []string{Plain, ByHand, DBResolver, ReadSplit, Session}

// Account is the table of the clients: each has a row of its own.
type Account struct {
	ID      int64
	Client  int64 `gorm:"index"`
	Version int64
	Note    string
}

// Connections is how many connections each pool has: to one server by one form.
const Connections = 64

// app is one form in use.
type app struct {
	form     string
	db       *gorm.DB
	replicas []*gorm.DB        // by hand alone
	plugin   *readsplit.Plugin // nil: another form
	closes   []func() error
}

func (a *app) close() (err error) {
	for _, c := range a.closes {
		err = errors.Join(err, c())
	}
	return err
}

func (a *app) open(dsn string) (*gorm.DB, error) {
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(Connections)
	pool.SetMaxIdleConns(Connections)
	a.closes = append(a.closes, pool.Close)
	return db, nil
}

func open(form string, c *testenv.Cluster) (a *app, err error) {
	a = &app{form: form}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("load: %s: %w", form, err), a.close())
		}
	}()
	if a.db, err = a.open(c.Primary().DSN()); err != nil {
		return nil, err
	}
	switch form {
	case Plain:
	case ByHand:
		for _, r := range c.Replicas() {
			db, err := a.open(r.DSN())
			if err != nil {
				return nil, err
			}
			a.replicas = append(a.replicas, db)
		}
	case DBResolver:
		var replicas []gorm.Dialector
		for _, r := range c.Replicas() {
			replicas = append(replicas, postgres.Open(r.DSN()))
		}
		resolver := dbresolver.Register(dbresolver.Config{Replicas: replicas})
		if err = a.db.Use(resolver.SetMaxOpenConns(Connections).SetMaxIdleConns(Connections)); err != nil {
			return nil, err
		}
		a.closes = append(a.closes, func() error {
			return resolver.Call(func(pool gorm.ConnPool) error {
				if p, ok := pool.(interface{ Close() error }); ok {
					return p.Close()
				}
				return nil
			})
		})
	case ReadSplit, Session:
		cfg := readsplit.Config{Pool: readsplit.Pool{MaxOpen: Connections}}
		for _, r := range c.Replicas() {
			cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: r.Name(), Dialector: postgres.Open(r.DSN())})
		}
		a.plugin = readsplit.New(cfg)
		if err = a.db.Use(a.plugin); err != nil {
			return nil, err
		}
		pool := a.closes[0]
		a.closes = []func() error{func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			return errors.Join(a.plugin.Close(ctx), pool())
		}}
	default:
		return nil, errors.New("there is no such form")
	}
	return a, nil
}

// client returns the handle of one client: a user with a session, where the form has them.
func (a *app) client() *gorm.DB {
	ctx := context.Background()
	if a.form == Session {
		ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	}
	return a.db.WithContext(ctx)
}

// counts are totals of the form so far.
type counts struct{ primary, replicas, captures uint64 }

func (a *app) counts() counts {
	if a.plugin == nil {
		return counts{}
	}
	st := a.plugin.Status()
	return counts{st.PrimaryReads, st.ReplicaReads, st.Captures}
}
