package readsplit_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// From session.MonotonicReads on, what a session was shown binds its later reads, whatever kind
// of read has shown it.
func TestMonotonicWhateverKindOfReadHasShownIt(t *testing.T) {
	x := newTrap(t, configured(monotonic))
	x.stale(t)
	fresh, _ := x.session()
	require.Equal(t, 1, seesBooks(t, fresh), "a session that was shown nothing reads the old state")

	t.Run("a locking read", func(t *testing.T) {
		db, _ := x.session()
		var rows []struct{ ID int64 }
		require.NoError(t, db.Table("books_t").Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Find(&rows).Error)
		require.Len(t, rows, 2)
		assert.Equal(t, 2, seesBooks(t, db))
	})
	t.Run("FirstOrInit", func(t *testing.T) {
		db, _ := x.session()
		var b book
		require.NoError(t, db.Where("title = ?", "two").FirstOrInit(&b).Error)
		require.NotZero(t, b.ID)
		assert.Equal(t, 2, seesBooks(t, db))
	})
	t.Run("FirstOrCreate", func(t *testing.T) {
		db, _ := x.session()
		var b book
		require.NoError(t, db.Where("title = ?", "two").FirstOrCreate(&b).Error)
		require.NotZero(t, b.ID)
		assert.Equal(t, 2, seesBooks(t, db))
	})
	t.Run("a transaction that is still open", func(t *testing.T) {
		db, _ := x.session()
		tx := db.Begin()
		require.NoError(t, tx.Error)
		defer tx.Rollback()
		require.Equal(t, 2, seesBooks(t, tx))
		assert.Equal(t, 2, seesBooks(t, db))
	})
	t.Run("the primary, in a hook of a read on a replica", func(t *testing.T) {
		var first, then int
		ctx := readsplit.WithSession(withHooks(hooks{"AfterFind": func(tx *gorm.DB) error {
			ctx := tx.Statement.Context
			clean := tx.Session(&gorm.Session{NewDB: true})
			first = seesBooks(t, clean.WithContext(readsplit.Fresh(ctx)))
			then = seesBooks(t, clean.WithContext(ctx))
			return nil
		}}), readsplit.NewSession())
		var b hookedBook
		require.NoError(t, x.WithContext(ctx).First(&b).Error)
		onReplica(t, b.Server)
		require.Equal(t, 2, first)
		assert.Equal(t, 2, then)
	})
}

// A kill switch that was thrown before the plugin is in use holds.
func TestTrafficSetBeforeUse(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c)
	db, err := gorm.Open(postgres.Open(c.Primary().DSNFor(d.name)), &gorm.Config{Logger: d.log})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	p := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSNFor(d.name))},
	}})
	if err := p.SetTraffic(policy.Traffic{KillSwitch: true}); err != nil {
		return // to refuse it is as good
	}
	require.NoError(t, db.Use(p))
	defer func() { require.NoError(t, p.Close(limit(t))) }()
	assert.True(t, p.Status().Traffic.KillSwitch)
	for range 20 {
		require.Equal(t, "primary", served(t, db.WithContext(readsplit.AnyReplica(t.Context()))))
	}
}

// gated is a balancer that holds a decision back while it is armed.
type gated struct {
	armed    atomic.Bool
	entered  chan struct{}
	released chan struct{}
	name     string
}

func (*gated) Name() string { return "gated" }

func (g *gated) Pick(_ *policy.Query, c []policy.Candidate) int {
	for i := range c {
		if c[i].Replica.Name == g.name {
			if g.armed.CompareAndSwap(true, false) {
				close(g.entered)
				<-g.released
			}
			return c[i].Index
		}
	}
	return c[0].Index
}

// A read that was decided when Drain was called and has not begun yet does not begin
// on the replica after Drain has returned.
func TestDrainWhileAReadIsDecided(t *testing.T) {
	c := cluster(t)
	g := &gated{entered: make(chan struct{}), released: make(chan struct{}), name: "replica1"}
	d := newDB(t, c, configured(func(c *readsplit.Config) { c.Balancer = g; c.Health.SlowStart = -1 }))
	eventually(t, "reads go to replica1", func() bool { return served(t, d.WithContext(readsplit.Stale(nobody()))) == "replica1" })
	eventually(t, "replica2 to be there too", func() bool {
		st := d.plugin.Status().Replicas
		return st[0].Up && st[1].Up && st[0].LagKnown && st[1].LagKnown
	})
	g.armed.Store(true)
	type answer struct {
		name string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		a.err = d.WithContext(readsplit.Stale(nobody())).Raw(whoSQL).Scan(&a.name).Error
		done <- a
	}()
	select {
	case <-g.entered:
	case a := <-done:
		require.FailNow(t, "the balancer was not asked", "%v", a)
	}
	require.NoError(t, d.plugin.Drain(limit(t), "replica1"))
	close(g.released)
	a := <-done
	require.NoError(t, a.err)
	assert.NotEqual(t, "replica1", a.name, "Drain has returned: nothing runs there any more")
	assert.Zero(t, d.plugin.Status().Replicas[0].Pool.OpenConnections, "no pooled connection to it is left")
}

// Close does not wait for what a RemoveReplica waits for: it breaks that off.
func TestCloseWhileAReplicaIsRemoved(t *testing.T) {
	d := newDB(t, cluster(t), configured(func(c *readsplit.Config) { c.Replicas = c.Replicas[:1] }))
	eventually(t, "reads go to the replica", func() bool { return isReplica(served(t, d.DB)) })
	rows, err := d.Raw("SELECT i, current_setting('cluster_name') FROM generate_series(1, 100000) i").Rows()
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	removed := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { removed <- d.plugin.RemoveReplica(ctx, "replica1") }()
	eventually(t, "it to be drained", func() bool { return d.plugin.Status().Replicas[0].Drained })
	closing, end := context.WithTimeout(context.Background(), 30*time.Second)
	defer end()
	assert.NoError(t, d.plugin.Close(closing))
	cancel()
	<-removed
}

// After Close everything goes to the primary, also what was prepared before it.
func TestPreparedStatementsAfterClose(t *testing.T) {
	for name, option := range map[string]dbOption{
		"no primary of its own": configured(func(*readsplit.Config) {}),
		"Config.Primary": func(o *dbOptions) {
			o.config.Primary = postgres.Open(cluster(t).Primary().DSNFor(o.database))
		},
		"FollowPrimary": configured(func(c *readsplit.Config) { c.FollowPrimary = true }),
	} {
		t.Run(name, func(t *testing.T) {
			d := newDB(t, cluster(t), option, gormConfigured(func(c *gorm.Config) { c.PrepareStmt = true }))
			counters(t, d, 1)
			write := func() error { return d.Exec("UPDATE counters SET n = n + 1 WHERE id = ?", 0).Error }
			read := func() error {
				var all []struct{ ID, N int64 }
				return d.WithContext(readsplit.Fresh(t.Context())).Table("counters").Find(&all).Error
			}
			require.NoError(t, write())
			require.NoError(t, read())
			require.NoError(t, d.plugin.Close(limit(t)))
			assert.NoError(t, write())
			assert.NoError(t, read())
		})
	}
}

// A context that ends while the rows of a write are open leaves its outcome unknown,
// and whoever closes them learns it, as they do without the plugin from rows.Err.
func TestRowsOfAWriteWhoseContextEnds(t *testing.T) {
	for _, with := range []string{"with the plugin", "without it"} {
		t.Run(with, func(t *testing.T) {
			x := newTrap(t)
			db := x.DB
			if with == "without it" {
				db = openGORM(t, x, false)
			}
			pool, err := db.DB()
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			before := pool.Stats().InUse
			rows, err := db.WithContext(ctx).Raw("INSERT INTO books_t (title) SELECT repeat('x', 1000) FROM generate_series(1, 10000) RETURNING title").Rows()
			require.NoError(t, err)
			require.True(t, rows.Next())
			cancel()
			eventually(t, "database/sql to close the rows", func() bool { return pool.Stats().InUse <= before })
			closing, after := rows.Close(), rows.Err()
			assert.True(t, closing != nil || after != nil, "Close and Err both say that all is well; %d of 10000 rows are there", len(x.titles(t))-1)
		})
	}
}
