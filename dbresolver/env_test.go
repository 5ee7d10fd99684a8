package dbresolver_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/dbresolver"
	"github.com/readsplit/readsplit/testenv"
)

// Two database clusters: one for most tables, with two replicas, and one for
// users and products, with one. Each table has one row, and the tables are read
// through views that add who answers: main/primary, users/replica1.
var mainCluster, usersCluster *testenv.Cluster

const schema = `
CREATE TABLE users_t (id bigserial PRIMARY KEY, name text);
CREATE TABLE products_t (id bigserial PRIMARY KEY, name text);
CREATE TABLE orders_t (id bigserial PRIMARY KEY, order_no text, user_id bigint);
CREATE VIEW users AS SELECT id, name, '%[1]s/' || current_setting('cluster_name') AS server FROM users_t;
CREATE VIEW products AS SELECT id, name, '%[1]s/' || current_setting('cluster_name') AS server FROM products_t;
CREATE VIEW orders AS SELECT id, order_no, user_id, '%[1]s/' || current_setting('cluster_name') AS server FROM orders_t;
INSERT INTO users_t (name) VALUES ('ann');
INSERT INTO products_t (name) VALUES ('book');
INSERT INTO orders_t (order_no, user_id) VALUES ('one', 1);`

type User struct {
	ID     uint
	Name   string
	Server string `gorm:"->"`
	Orders []Order
}

type Product struct {
	ID     uint
	Name   string
	Server string `gorm:"->"`
}

type Order struct {
	ID      uint
	OrderNo string
	UserID  uint
	Server  string `gorm:"->"`
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx := context.Background()
	for _, c := range []struct {
		to       **testenv.Cluster
		replicas int
	}{{&mainCluster, 2}, {&usersCluster, 1}} {
		cluster, err := testenv.New(ctx, testenv.Config{Replicas: c.replicas})
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer func() { _ = cluster.Close(ctx) }()
		*c.to = cluster
	}
	return m.Run()
}

var databases atomic.Int64

// env is a database of the same name on both clusters.
type env struct {
	name string
	log  *recorder
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{name: fmt.Sprintf("d%d", databases.Add(1)), log: &recorder{}}
	for label, c := range map[string]*testenv.Cluster{"main": mainCluster, "users": usersCluster} {
		require.NoError(t, c.CreateDatabase(t.Context(), e.name))
		db, err := gorm.Open(e.on(c.Primary()), &gorm.Config{Logger: logger.Discard})
		require.NoError(t, err)
		require.NoError(t, db.Exec(fmt.Sprintf(schema, label)).Error)
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
		require.NoError(t, c.WaitCaughtUp(t.Context()))
	}
	return e
}

func (e *env) on(s *testenv.Server) gorm.Dialector { return postgres.Open(s.DSNFor(e.name)) }

// replicas are those of the main cluster.
func (e *env) replicas() []gorm.Dialector {
	return []gorm.Dialector{e.on(mainCluster.Replica(0)), e.on(mainCluster.Replica(1))}
}

// resolver is the configuration of dbresolver's own tests: everything on the main
// cluster, users and products on the other.
func (e *env) resolver() *dbresolver.DBResolver {
	return dbresolver.Register(dbresolver.Config{
		Replicas:          e.replicas(),
		TraceResolverMode: true,
	}).Register(dbresolver.Config{
		Sources:           []gorm.Dialector{e.on(usersCluster.Primary())},
		Replicas:          []gorm.Dialector{e.on(usersCluster.Replica(0))},
		TraceResolverMode: true,
	}, "users", &Product{})
}

// open opens the main primary with a resolver, and waits until replicas serve.
func (e *env) open(t *testing.T, config gorm.Config, r *dbresolver.DBResolver) *gorm.DB {
	t.Helper()
	config.Logger = e.log
	db, err := gorm.Open(e.on(mainCluster.Primary()), &config)
	require.NoError(t, err)
	require.NoError(t, db.Use(r))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		require.NoError(t, r.Plugin().Close(ctx))
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	})
	return db
}

// eventually waits for what has no event to wait for.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "waited 30 s in vain for: "+what)
		}
	}
}

// orderServer, userServer and productServer read a row and return who answered.
func orderServer(t *testing.T, db *gorm.DB) string {
	t.Helper()
	var o Order
	require.NoError(t, db.First(&o).Error)
	return o.Server
}

func userServer(t *testing.T, db *gorm.DB) string {
	t.Helper()
	var u User
	require.NoError(t, db.First(&u).Error)
	return u.Server
}

func productServer(t *testing.T, db *gorm.DB) string {
	t.Helper()
	var p Product
	require.NoError(t, db.First(&p).Error)
	return p.Server
}

var mainReplicas = []string{"main/replica1", "main/replica2"}
