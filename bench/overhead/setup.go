package overhead

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/bench/nullpg"
)

// Order is the table that is measured.
type Order struct {
	ID         int64
	CustomerID int64
	Note       string
}

// Setup is one way to open the servers.
type Setup struct {
	Plugin   string // plain, dbresolver, readsplit
	Replicas int
	Session  bool // statements run in a session of a user
	Prepare  bool // gorm.Config.PrepareStmt
}

// Name is how the setup appears in tables.
func (s Setup) Name() string {
	name := s.Plugin
	if s.Plugin != "plain" {
		name += fmt.Sprintf("_%d", s.Replicas)
	}
	if s.Session {
		name += "_session"
	}
	return name
}

// Opened is a setup in use.
type Opened struct {
	Setup
	DB    *gorm.DB // with the context of a session, if there is one
	close func() error
}

// Close ends it.
func (o *Opened) Close() error { return o.close() }

// Open opens servers that are the setup's own.
func Open(s Setup, catalog nullpg.Catalog) (*Opened, error) {
	servers := nullpg.New(catalog)
	db, err := gorm.Open(servers.Primary(), &gorm.Config{PrepareStmt: s.Prepare, Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	o := &Opened{Setup: s, DB: db, close: pool.Close}
	switch s.Plugin {
	case "plain": // nothing is added
	case "dbresolver":
		var replicas []gorm.Dialector
		for i := range s.Replicas {
			replicas = append(replicas, servers.Replica(i+1))
		}
		err = db.Use(dbresolver.Register(dbresolver.Config{Replicas: replicas}))
	case "readsplit":
		err = o.split(servers)
	default:
		err = fmt.Errorf("overhead: there is no %q", s.Plugin)
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	if s.Plugin != "readsplit" {
		o.DB = o.DB.WithContext(context.Background()) // all measure handles of the same shape
	}
	return o, nil
}

// split adds readsplit, and waits until it sends reads to replicas.
func (o *Opened) split(servers *nullpg.Servers) error {
	cfg := readsplit.Config{}
	for i := range o.Replicas {
		cfg.Replicas = append(cfg.Replicas, readsplit.Replica{Name: fmt.Sprint("replica", i+1), Dialector: servers.Replica(i + 1)})
	}
	plugin := readsplit.New(cfg)
	if err := o.DB.Use(plugin); err != nil {
		return err
	}
	pool := o.close
	o.close = func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(plugin.Close(ctx), pool())
	}
	ctx := context.Background()
	if o.Session {
		ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	}
	o.DB = o.DB.WithContext(ctx)
	if o.Replicas == 0 {
		return nil
	}
	for until := time.Now().Add(time.Minute); ; {
		// The first says that replicas are known, the second that the catalogue is: until
		// then a call of the application's own function goes to the primary.
		tx := o.DB.First(&Order{})
		d, ok := readsplit.DecisionOf(tx)
		if ok && d.Replica && tx.Error == nil {
			tx = o.DB.Raw(longText, 7).Scan(&Order{})
			d, ok = readsplit.DecisionOf(tx)
		}
		switch {
		case tx.Error != nil:
			return tx.Error
		case ok && d.Replica:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("overhead: reads do not go to replicas: %s", d.Reason)
		}
	}
}
