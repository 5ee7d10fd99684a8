package dbresolver_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	upstream "gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/dbresolver"
	"github.com/readsplit/readsplit/testenv"
)

// What dbresolver's own tests expect of transactions, queries, preloads and raw
// SQL, with the differences that readsplit is for: what was just written is read,
// and a transaction after Read reads only.
func TestT34AsDBResolver(t *testing.T) {
	for _, config := range []gorm.Config{{}, {PrepareStmt: true}, {SkipDefaultTransaction: true}} {
		t.Run(fmt.Sprintf("prepare=%v,skip=%v", config.PrepareStmt, config.SkipDefaultTransaction), func(t *testing.T) {
			e := newEnv(t)
			db := e.open(t, config, e.resolver().SetMaxOpenConns(5))
			eventually(t, "replicas to serve", func() bool {
				return orderServer(t, db) != "main/primary" && userServer(t, db) != "users/primary"
			})
			for range 5 {
				transactions(t, db)
				queries(t, db)
			}
			preloads(t, db)
			writes(t, db)
		})
	}
}

func transactions(t *testing.T, db *gorm.DB) {
	in := func(tx *gorm.DB) string {
		t.Helper()
		require.NoError(t, tx.Error)
		defer tx.Rollback()
		return orderServer(t, tx)
	}
	assert.Equal(t, "main/primary", in(db.Begin()))
	assert.Contains(t, mainReplicas, in(db.Clauses(dbresolver.Read).Begin()))
	assert.Equal(t, "main/primary", in(db.Clauses(dbresolver.Write).Begin()))
	assert.Equal(t, "users/primary", in(db.Clauses(dbresolver.Use("users"), dbresolver.Write).Begin()))
	assert.Equal(t, "users/primary", in(db.Clauses(dbresolver.Write, dbresolver.Use("users")).Begin()))
	// Begins on a replica in dbresolver, where whatever writes fails.
	assert.Equal(t, "users/primary", in(db.Clauses(dbresolver.Use("users")).Begin()))
	assert.Equal(t, "users/replica1", in(db.Clauses(dbresolver.Use("users"), dbresolver.Read).Begin()))
	assert.Equal(t, "users/primary", in(db.Clauses(dbresolver.Use("products")).Begin()), "a model's table names its resolver too")
	require.NoError(t, db.Clauses(dbresolver.Use("users")).Transaction(func(tx *gorm.DB) error {
		assert.Equal(t, "users/primary", orderServer(t, tx))
		return tx.Transaction(func(tx *gorm.DB) error {
			assert.Equal(t, "users/primary", orderServer(t, tx))
			return nil
		})
	}))
}

func queries(t *testing.T, db *gorm.DB) {
	write, users := dbresolver.Write, dbresolver.Use("users")
	assert.Contains(t, mainReplicas, orderServer(t, db))
	assert.Equal(t, "main/primary", orderServer(t, db.Clauses(write)))
	assert.Equal(t, "users/replica1", orderServer(t, db.Clauses(users)))
	assert.Equal(t, "users/primary", orderServer(t, db.Clauses(users, write)))
	assert.Equal(t, "users/primary", orderServer(t, db.Clauses(write).Clauses(users)))
	assert.Equal(t, "users/replica1", userServer(t, db))
	assert.Equal(t, "users/primary", userServer(t, db.Clauses(write)))
	assert.Equal(t, "users/replica1", productServer(t, db))
	assert.Equal(t, "users/primary", productServer(t, db.Clauses(write)))
	assert.Equal(t, "users/replica1", productServer(t, db.Clauses(write).Clauses(dbresolver.Read)), "the last one counts")
	prepared := &gorm.Session{PrepareStmt: true}
	assert.Equal(t, "users/primary", orderServer(t, db.Clauses(users, write).Session(prepared)), "a session of its own keeps it")
	kept := db.Clauses(users, write).Session(&gorm.Session{})
	for range 2 {
		assert.Equal(t, "users/primary", orderServer(t, kept), "a handle keeps it")
	}
	first := db.Clauses(users, write).Find(&[]Order{})
	var again []Order
	require.NoError(t, first.Find(&again).Error)
	assert.Equal(t, "users/primary", again[0].Server)
	assert.Equal(t, "main/primary", orderServer(t, db.Scopes(func(tx *gorm.DB) *gorm.DB { return tx.Clauses(write) })))
	var batch []Order
	require.NoError(t, db.Clauses(write).FindInBatches(&batch, 1, func(tx *gorm.DB, _ int) error {
		assert.Equal(t, "main/primary", batch[0].Server, "lost in dbresolver")
		return nil
	}).Error)
	// The values of dbresolver itself are the same ones.
	assert.Equal(t, "users/primary", orderServer(t, db.Clauses(upstream.Use("users"), upstream.Write)))

	for text, want := range map[string]string{
		"select server from users":                             "users/replica1",
		" select server from users":                            "users/replica1",
		"\nselect server\nfrom users where id > 0":             "users/replica1",
		"select server from public.users":                      "users/replica1",
		`select server from "users"`:                           "users/replica1",
		"select server from  users;":                           "users/replica1",
		"with u as (select * from users) select server from u": "users/replica1",
		"select server from users where 'from orders' <> ''":   "users/replica1",
		"select server from users_t, users limit 1":            "users/replica1",
	} {
		var got string
		require.NoError(t, db.Raw(text).Row().Scan(&got), text)
		assert.Equal(t, want, got, text)
		require.NoError(t, db.Clauses(write).Raw(text).Scan(&got).Error, text)
		assert.Equal(t, "users/primary", got, text)
	}
	var got string
	require.NoError(t, db.Raw("select server from orders").Scan(&got).Error)
	assert.Contains(t, mainReplicas, got)
	require.NoError(t, db.Table("users AS u").Select("server").Scan(&got).Error)
	assert.Equal(t, "users/replica1", got)
	require.NoError(t, db.Table("users").Select("server").Row().Scan(&got))
	assert.Equal(t, "users/replica1", got)
	require.NoError(t, db.Model(&Product{}).Select("server").Scan(&got).Error)
	assert.Equal(t, "users/replica1", got)
	require.NoError(t, db.Debug().Raw("select name from users_t where name = ? for update", "ann").Row().Scan(&got))
}

// Preloads go to the resolver of their own table; Write goes with them.
func preloads(t *testing.T, db *gorm.DB) {
	var u User
	require.NoError(t, db.Clauses(dbresolver.Write).Preload("Orders").First(&u).Error)
	require.Len(t, u.Orders, 1)
	assert.Equal(t, []string{"users/primary", "main/primary"}, []string{u.Server, u.Orders[0].Server})

	u = User{}
	require.NoError(t, db.Preload("Orders", func(tx *gorm.DB) *gorm.DB { return tx.Clauses(dbresolver.Write) }).First(&u).Error)
	assert.Equal(t, []string{"users/replica1", "main/primary"}, []string{u.Server, u.Orders[0].Server})

	u = User{}
	require.NoError(t, db.Preload("Orders").First(&u).Error)
	assert.Equal(t, "users/replica1", u.Server)
	assert.Contains(t, mainReplicas, u.Orders[0].Server)
}

// A write goes to the primary of its table, and whoever wrote reads it.
func writes(t *testing.T, db *gorm.DB) {
	count := func(tx *gorm.DB, name string) (n int64) {
		t.Helper()
		require.NoError(t, tx.Model(&User{}).Where("name = ?", name).Count(&n).Error)
		return n
	}
	onUsers := func(name string) (n int) {
		t.Helper()
		e, err := sql.Open("pgx", usersCluster.Primary().DSNFor(databaseOf(t, db)))
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		require.NoError(t, e.QueryRow("SELECT count(*) FROM users_t WHERE name = $1", name).Scan(&n))
		return n
	}
	require.NoError(t, db.Create(&User{Name: "create"}).Error)
	assert.Equal(t, 1, onUsers("create"))
	assert.EqualValues(t, 1, count(db, "create"), "a user reads what they wrote, which dbresolver's test says they cannot")
	assert.EqualValues(t, 1, count(db.Clauses(dbresolver.Write), "create"))
	require.NoError(t, db.Model(&User{}).Where("name = ?", "create").Update("name", "update").Error)
	assert.Equal(t, 1, onUsers("update"))
	assert.EqualValues(t, 1, count(db, "update"))
	require.NoError(t, db.Exec("UPDATE users SET name = ? WHERE name = ?", "exec", "update").Error)
	assert.Equal(t, 1, onUsers("exec"))
	require.NoError(t, db.Exec("INSERT INTO public.users (name) VALUES (?)", "exec").Error)
	assert.EqualValues(t, 2, count(db, "exec"))
	require.NoError(t, db.Where("name = ?", "exec").Delete(&User{}).Error)
	assert.EqualValues(t, 0, count(db, "exec"))
	assert.Equal(t, 0, onUsers("exec"))
}

func databaseOf(t *testing.T, db *gorm.DB) (name string) {
	t.Helper()
	require.NoError(t, db.Raw("SELECT current_database()").Scan(&name).Error)
	return name
}

// What a user wrote on either cluster they read there, and it binds nobody on the
// other.
func TestOwnWritesOfBothClusters(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, e.resolver())
	eventually(t, "replicas to serve", func() bool {
		return orderServer(t, db) != "main/primary" && userServer(t, db) != "users/primary"
	})
	for _, c := range []*testenv.Cluster{mainCluster, usersCluster} {
		for _, r := range c.Replicas() {
			_, err := r.PauseReplay(t.Context())
			require.NoError(t, err)
		}
		t.Cleanup(func() { require.NoError(t, c.UndoAll()) })
	}
	session := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), session)
	require.NoError(t, db.WithContext(ctx).Create(&User{Name: "own"}).Error)
	var own User
	require.NoError(t, db.WithContext(ctx).First(&own, "name = ?", "own").Error)
	assert.Equal(t, "users/primary", own.Server)
	assert.Contains(t, mainReplicas, orderServer(t, db.WithContext(ctx)))
	require.NoError(t, db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		return tx.Create(&Order{OrderNo: "own"}).Error
	}))
	var order Order
	require.NoError(t, db.WithContext(ctx).First(&order, "order_no = ?", "own").Error)
	assert.Equal(t, "main/primary", order.Server)

	// A token carries both.
	token, err := session.Token(t.Context())
	require.NoError(t, err)
	next := readsplit.NewSession()
	next.Join(token)
	ctx = readsplit.WithSession(t.Context(), next)
	require.NoError(t, db.WithContext(ctx).First(&Order{}, "order_no = ?", "own").Error)
	require.NoError(t, db.WithContext(ctx).First(&User{}, "name = ?", "own").Error)
	other := readsplit.Stale(readsplit.WithSession(t.Context(), readsplit.NewSession()))
	require.ErrorIs(t, db.WithContext(other).First(&User{}, "name = ?", "own").Error, gorm.ErrRecordNotFound)
}

// DB() of a handle gives the pool that its clauses ask for, as in dbresolver's own
// test.
func TestDBOfAHandle(t *testing.T) {
	for _, prepare := range []bool{false, true} {
		e := newEnv(t)
		db := e.open(t, gorm.Config{PrepareStmt: prepare}, e.resolver())
		eventually(t, "replicas to serve", func() bool {
			return orderServer(t, db) != "main/primary" && userServer(t, db) != "users/primary"
		})
		read, write, users := dbresolver.Read, dbresolver.Write, dbresolver.Use("users")
		for _, x := range []struct {
			db   *gorm.DB
			want []string
		}{
			{db, []string{"main/primary"}},
			{db.Clauses(write), []string{"main/primary"}},
			{db.Clauses(read), mainReplicas},
			{db.Table("users"), []string{"main/primary"}},
			{db.Clauses(users), []string{"users/primary"}},
			{db.Table("users").Clauses(users, write), []string{"users/primary"}},
			{db.Table("users").Clauses(users, read), []string{"users/replica1"}},
		} {
			pool, err := x.db.DB()
			require.NoError(t, err)
			var got string
			require.NoError(t, pool.QueryRow("SELECT server FROM orders").Scan(&got))
			assert.Contains(t, x.want, got)
		}
	}
}

// A connection is held for long, and on a replica it would soon be behind whoever
// holds it.
func TestConnectionOfAHandle(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, e.resolver())
	eventually(t, "replicas to serve", func() bool { return orderServer(t, db) != "main/primary" })
	for want, tx := range map[string]*gorm.DB{
		"main/primary":  db.Clauses(dbresolver.Read),
		"users/primary": db.Clauses(dbresolver.Read, dbresolver.Use("users")),
	} {
		require.NoError(t, tx.Connection(func(tx *gorm.DB) error {
			assert.Equal(t, want, orderServer(t, tx))
			return nil
		}))
	}
}

func TestPoolSettings(t *testing.T) {
	e := newEnv(t)
	r := e.resolver().SetMaxOpenConns(7).SetMaxIdleConns(3).SetConnMaxLifetime(time.Hour).SetConnMaxIdleTime(time.Minute)
	db := e.open(t, gorm.Config{}, r)
	limits := func() (open []int) {
		require.NoError(t, r.Call(func(pool gorm.ConnPool) error {
			open = append(open, pool.(*sql.DB).Stats().MaxOpenConnections)
			return nil
		}))
		return open
	}
	assert.Equal(t, []int{7, 7, 7, 7, 7}, limits(), "a primary and two replicas, a primary and one replica")
	r.SetMaxOpenConns(9)
	assert.Equal(t, []int{9, 9, 9, 9, 9}, limits())
	pool, err := db.DB()
	require.NoError(t, err)
	assert.Equal(t, 9, pool.Stats().MaxOpenConnections)
}

// The mode stands before each statement that dbresolver's logger gets.
func TestTraceResolverMode(t *testing.T) {
	e := newEnv(t)
	db := e.open(t, gorm.Config{}, e.resolver())
	eventually(t, "replicas to serve", func() bool { return orderServer(t, db) != "main/primary" })
	e.log.traced()
	require.NoError(t, db.First(&Order{}).Error)
	require.NoError(t, db.Clauses(dbresolver.Write).First(&Order{}).Error)
	require.NoError(t, db.Create(&Order{OrderNo: "two"}).Error)
	require.NoError(t, db.Exec("UPDATE orders SET order_no = 'three' WHERE id = -1").Error)
	var modes []string
	for _, line := range e.log.traced() {
		modes = append(modes, line[:9])
	}
	assert.Equal(t, []string{"[replica]", "[source] ", "[source] ", "[source] "}, modes)
}
