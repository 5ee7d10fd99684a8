package dbresolver_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	upstream "gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/dbresolver"
)

// Everything that is wrong is said at once, and what to do about it.
func TestProblems(t *testing.T) {
	e := newEnv(t)
	use := func(r gorm.Plugin) error {
		db, err := gorm.Open(e.on(mainCluster.Primary()), &gorm.Config{Logger: e.log})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		defer func() { require.NoError(t, pool.Close()) }()
		return db.Use(r)
	}
	main, users := e.on(mainCluster.Primary()), e.on(usersCluster.Primary())
	err := use(dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{main, users}}))
	require.ErrorContains(t, err, "Register call 1: entries 0 and 1 of Sources are two servers")
	require.ErrorContains(t, err, "keep the one primary")
	err = use(dbresolver.Register(dbresolver.Config{Sources: []gorm.Dialector{main, nil}}))
	require.ErrorContains(t, err, "entry 1 of Sources is nil")
	err = use(dbresolver.Register(dbresolver.Config{}).Register(dbresolver.Config{}))
	require.ErrorContains(t, err, "Register call 2 names no table, as one before does")
	err = use(dbresolver.Register(dbresolver.Config{}, "users").Register(dbresolver.Config{}, &User{}))
	require.ErrorContains(t, err, `Config.Resolvers[1].Tables[0] is table "users", which belongs to resolver "users" already`)
	err = use(dbresolver.Register(dbresolver.Config{}, 7))
	require.ErrorContains(t, err, "Config.Resolvers[0].Tables[0] is a int")
	err = use(dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{nil}}))
	require.ErrorContains(t, err, "Config.Replicas[0].Dialector is nil")
}

// Several addresses of one primary are one primary.
func TestSourcesOfOneServer(t *testing.T) {
	e := newEnv(t)
	main := e.on(mainCluster.Primary())
	db := e.open(t, gorm.Config{}, dbresolver.Register(dbresolver.Config{
		Sources: []gorm.Dialector{main, e.on(mainCluster.Primary())}, Replicas: e.replicas(),
	}))
	eventually(t, "replicas to serve", func() bool { return orderServer(t, db) != "main/primary" })
	assert.Equal(t, "main/primary", orderServer(t, db.Clauses(dbresolver.Write)))
	require.NoError(t, db.Create(&Order{OrderNo: "two"}).Error)
}

// Both plugins at once are refused, in either order, and so are two of ours.
func TestBothPlugins(t *testing.T) {
	e := newEnv(t)
	ours := func() gorm.Plugin { return dbresolver.Register(dbresolver.Config{Replicas: e.replicas()}) }
	theirs := func() gorm.Plugin { return upstream.Register(upstream.Config{Replicas: e.replicas()}) }
	plain := func() gorm.Plugin { return readsplit.New(readsplit.Config{}) }
	for _, x := range []struct {
		first, second func() gorm.Plugin
		want          string
	}{
		{theirs, plain, "remove its db.Use"},
		{plain, theirs, "use one of the two"},
		{ours, plain, "remove one of the two db.Use"},
		{plain, ours, "remove one of the two db.Use"},
		{ours, theirs, "use one of the two"},
		{theirs, ours, "remove its db.Use"},
		{ours, ours, "registered"}, // GORM's own word
	} {
		db, err := gorm.Open(e.on(mainCluster.Primary()), &gorm.Config{Logger: e.log})
		require.NoError(t, err)
		first := x.first()
		require.NoError(t, db.Use(first))
		require.ErrorContains(t, db.Use(x.second()), x.want)
		switch p := first.(type) {
		case *dbresolver.DBResolver:
			require.NoError(t, p.Plugin().Close(t.Context()))
		case *readsplit.Plugin:
			require.NoError(t, p.Close(t.Context()))
		}
		pool, err := db.DB()
		require.NoError(t, err)
		require.NoError(t, pool.Close())
	}
}

// Register after db.Use takes effect while statements run.
func TestRegisterLater(t *testing.T) {
	e := newEnv(t)
	r := dbresolver.Register(dbresolver.Config{Replicas: e.replicas(), Policy: dbresolver.RoundRobinPolicy()}).SetMaxOpenConns(5)
	db := e.open(t, gorm.Config{}, r)
	assert.Contains(t, append(mainReplicas, "main/primary"), userServer(t, db))
	stop := make(chan struct{})
	var reads sync.WaitGroup
	for range 4 {
		reads.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					assert.NoError(t, db.First(&Order{}).Error)
					assert.NoError(t, db.First(&User{}).Error)
				}
			}
		})
	}
	r.Register(dbresolver.Config{
		Sources:  []gorm.Dialector{e.on(usersCluster.Primary())},
		Replicas: []gorm.Dialector{e.on(usersCluster.Replica(0))},
		Policy:   dbresolver.StrictRoundRobinPolicy(),
	}, &User{}, "products")
	eventually(t, "the new replica to serve", func() bool { return userServer(t, db) == "users/replica1" })
	assert.Equal(t, "users/replica1", productServer(t, db))
	r.Register(dbresolver.Config{}, "products")
	close(stop)
	reads.Wait()
	assert.Contains(t, e.log.messages()[len(e.log.messages())-1], `which belongs to resolver "products" already`)
	assert.Equal(t, "users/primary", productServer(t, db.Clauses(dbresolver.Write)))
	seen := map[string]int{}
	for range 40 {
		seen[orderServer(t, db)]++
	}
	assert.Len(t, seen, 2, "both replicas get their turn: %v", seen)
}

// A Use that names nothing is an error of the statement, which lists the names.
func TestUseOfNothing(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, e.resolver().With(func(c *readsplit.Config) { c.Replicas[0].Groups = []string{"reports"} }))
	for _, err := range []error{
		db.Clauses(dbresolver.Use("user")).First(&Order{}).Error,
		db.Clauses(dbresolver.Use("user")).Create(&Order{}).Error,
		db.Clauses(dbresolver.Use("user")).Begin().Error,
		db.Clauses(dbresolver.Use("user")).Exec("UPDATE orders SET order_no = '' WHERE false").Error,
	} {
		require.ErrorIs(t, err, readsplit.ErrUnknownGroup)
		require.ErrorContains(t, err, `"user" in Clauses(dbresolver.Use): the resolvers, tables of resolvers and groups are products, reports, users`)
	}
	_, err := db.Clauses(dbresolver.Use("user")).DB()
	require.ErrorIs(t, err, readsplit.ErrUnknownGroup, "and of the pool that is asked for")
	eventually(t, "the group to serve", func() bool {
		return orderServer(t, db.Clauses(dbresolver.Use("reports"))) == "main/replica1"
	})
	for range 20 {
		assert.Equal(t, "main/replica1", orderServer(t, db.Clauses(dbresolver.Use("reports"))))
		// A transaction that was asked of a group, with a session and without.
		for _, ctx := range []context.Context{t.Context(), readsplit.WithSession(t.Context(), readsplit.NewSession())} {
			tx := db.WithContext(ctx).Clauses(dbresolver.Use("reports"), dbresolver.Read).Begin()
			assert.Equal(t, "main/replica1", orderServer(t, tx))
			require.NoError(t, tx.Commit().Error)
		}
	}
}

// Looking at several sources closes no pool of the application's.
func TestSourcesOfTheApplication(t *testing.T) {
	e := newEnv(t)
	pool, err := sql.Open("pgx", mainCluster.Primary().DSNFor(e.name))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	e.open(t, gorm.Config{}, dbresolver.Register(dbresolver.Config{
		Sources: []gorm.Dialector{postgres.New(postgres.Config{Conn: pool}), e.on(mainCluster.Primary())},
	}))
	require.NoError(t, pool.Ping())
}

// A policy that panics fails its statement, not every later one.
func TestPolicyThatPanics(t *testing.T) {
	e := newEnv(t)
	var bad atomic.Bool
	db := e.open(t, gorm.Config{}, dbresolver.Register(dbresolver.Config{
		Replicas: e.replicas(),
		Policy: dbresolver.PolicyFunc(func(pools []gorm.ConnPool) gorm.ConnPool {
			if bad.Load() {
				panic("bad policy")
			}
			return pools[0]
		}),
	}))
	eventually(t, "both replicas to serve", func() (panicked bool) {
		defer func() { panicked = recover() != nil; bad.Store(false) }()
		bad.Store(true)
		return orderServer(t, db) == ""
	})
	done := make(chan error, 1)
	var o Order
	go func() { done <- db.First(&o).Error }()
	select {
	case err := <-done:
		require.NoError(t, err)
		assert.Contains(t, mainReplicas, o.Server)
	case <-time.After(10 * time.Second):
		require.FailNow(t, "reads wait for a policy that has panicked")
	}
}

// The migrator looks and acts where a table lives, also while replicas stand still.
func TestMigrator(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, e.resolver().Register(dbresolver.Config{
		Sources: []gorm.Dialector{e.on(usersCluster.Primary())},
	}, &Invoice{}))
	_, err := usersCluster.Replica(0).PauseReplay(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, usersCluster.UndoAll()) })
	for range 2 {
		require.NoError(t, db.AutoMigrate(&Invoice{}, &Receipt{}))
	}
	assert.True(t, db.Migrator().HasTable(&Invoice{}))
	assert.True(t, db.Migrator().HasTable("receipts"))
	assert.True(t, db.Migrator().HasColumn(&Invoice{}, "Total"))
	assert.False(t, db.Clauses(dbresolver.Use("users")).Migrator().HasTable("receipts"))
	assert.True(t, db.Clauses(dbresolver.Use("users")).Migrator().HasTable("invoices"))
	require.NoError(t, db.Create(&Invoice{Total: 5}).Error)
	var n int
	row := usersCluster.Primary()
	pool, err := gorm.Open(e.on(row), &gorm.Config{Logger: e.log})
	require.NoError(t, err)
	require.NoError(t, pool.Raw("SELECT count(*) FROM invoices").Scan(&n).Error)
	assert.Equal(t, 1, n)
	inner, err := pool.DB()
	require.NoError(t, err)
	require.NoError(t, inner.Close())
	require.NoError(t, db.Migrator().DropTable(&Invoice{}, &Receipt{}))
	assert.False(t, db.Migrator().HasTable(&Invoice{}))
}

type Invoice struct {
	ID    uint
	Total int
}

type Receipt struct {
	ID    uint
	Total int
}

// GORM makes the tables that a foreign key needs where it makes the key. Between
// two primaries that would be a second table of the same name.
func TestMigratorRefusesForeignKeysBetweenPrimaries(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, dbresolver.Register(dbresolver.Config{}).Register(dbresolver.Config{
		Sources: []gorm.Dialector{e.on(usersCluster.Primary())},
	}, &Payment{}))
	err := db.AutoMigrate(&Payer{}, &Payment{})
	require.ErrorContains(t, err, "migrate payments: Payment.Payer is a foreign key from payments to payers, which are on different primaries")
	require.ErrorContains(t, err, `gorm:"constraint:-"`)
	for _, table := range []string{"payers", "payments"} {
		assert.False(t, db.Migrator().HasTable(table), "nothing was made")
		assert.False(t, db.Clauses(dbresolver.Use("payments")).Migrator().HasTable(table))
	}
	require.NoError(t, db.AutoMigrate(&Payer{}, &FreePayment{}))
	assert.True(t, db.Migrator().HasTable("payers"))
	assert.True(t, db.Clauses(dbresolver.Use("payments")).Migrator().HasTable("payments"))
	assert.False(t, db.Clauses(dbresolver.Use("payments")).Migrator().HasTable("payers"))
}

type Payer struct {
	ID   uint
	Name string
}

type FreePayment struct {
	ID      uint
	PayerID uint
	Payer   Payer `gorm:"constraint:-"`
}

func (FreePayment) TableName() string { return "payments" }

type Payment struct {
	ID      uint
	PayerID uint
	Payer   Payer
}
