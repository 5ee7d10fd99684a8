package readonlyguard_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/testenv"
)

// A bookshop with an association of every kind: a Book belongs to an Author, an Author has one Profile and many Books,
// a Book has many Tags, and a Tag many Books.
type (
	Author struct {
		ID      int64
		Name    string
		Profile *Profile
		Books   []Book
	}
	Profile struct {
		ID       int64
		AuthorID *int64
		Text     string
	}
	Book struct {
		ID        int64
		AuthorID  *int64
		Author    *Author
		Title     string
		Tags      []Tag `gorm:"many2many:book_tags"`
		DeletedAt gorm.DeletedAt
	}
	Tag struct {
		ID   int64
		Name string
	}
)

// writeHooks counts the hooks of writes that ran.
var writeHooks atomic.Int64

func hook() error { writeHooks.Add(1); return nil }

func (*Author) BeforeSave(*gorm.DB) error   { return hook() }
func (*Author) BeforeCreate(*gorm.DB) error { return hook() }
func (*Author) BeforeUpdate(*gorm.DB) error { return hook() }
func (*Author) BeforeDelete(*gorm.DB) error { return hook() }
func (*Book) BeforeSave(*gorm.DB) error     { return hook() }
func (*Book) BeforeDelete(*gorm.DB) error   { return hook() }
func (*Profile) BeforeSave(*gorm.DB) error  { return hook() }

// dsn is that of a real primary, which lives as long as the tests of this package.
var dsn string

func TestMain(m *testing.M) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cluster, err := testenv.New(ctx, testenv.Config{Replicas: -1})
	if err != nil {
		cancel()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer cancel()
	dsn = cluster.Primary().DSN()
	code := m.Run()
	if err := cluster.Close(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// shop is one bookshop database with a guard, on one connection: a connection or transaction that a panic leaked
// leaves none, and the next statement waits until the test fails.
type shop struct {
	*recorder
	db     *gorm.DB
	reads  *gorm.DB // db in a read session
	writes *gorm.DB // db in no read session
}

// mode is what the guard must not depend on.
type mode struct {
	prepareStmt, skipDefaultTx, returnErrors bool
}

func modes() (all []mode) {
	for i := range 8 {
		all = append(all, mode{i&1 != 0, i&2 != 0, i&4 != 0})
	}
	return all
}

func (m mode) String() string {
	return fmt.Sprintf("prepare=%t skiptx=%t return=%t", m.prepareStmt, m.skipDefaultTx, m.returnErrors)
}

var databases atomic.Int64

// open makes a database with two authors, three books and two tags.
func open(t *testing.T, m mode, options ...readonlyguard.Option) *shop {
	t.Helper()
	s := openUnguarded(t, m)
	if m.returnErrors {
		options = append(options, readonlyguard.ReturnErrors())
	}
	require.NoError(t, s.db.Use(readonlyguard.New(options...)))
	s.derive(t)
	return s
}

func openUnguarded(t *testing.T, m mode) *shop {
	t.Helper()
	name := fmt.Sprintf("shop%d", databases.Add(1))
	admin, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	_, err = admin.ExecContext(t.Context(), "CREATE DATABASE "+name)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		require.NoError(t, err)
		require.NoError(t, admin.Close())
	})

	cfg, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	cfg.Database = name
	s := &shop{recorder: &recorder{Connector: stdlib.GetConnector(*cfg)}}
	pool := sql.OpenDB(s.recorder)
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })

	s.db, err = gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{
		PrepareStmt: m.prepareStmt, SkipDefaultTransaction: m.skipDefaultTx, Logger: logger.Discard,
		DisableForeignKeyConstraintWhenMigrating: true, // any order of deleting will do
	})
	require.NoError(t, err)
	require.NoError(t, s.db.AutoMigrate(&Author{}, &Profile{}, &Book{}, &Tag{}))
	require.NoError(t, s.db.Create([]Tag{{Name: "classic"}, {Name: "crime"}}).Error)
	require.NoError(t, s.db.Create([]Author{
		{Name: "Woolf", Profile: &Profile{Text: "novelist"}, Books: []Book{{Title: "Orlando", Tags: []Tag{{ID: 1}}}, {Title: "The Waves"}}},
		{Name: "Sayers", Books: []Book{{Title: "Gaudy Night", Tags: []Tag{{ID: 1}, {ID: 2}}}}},
	}).Error)
	s.derive(t)
	return s
}

// derive makes the handles; a statement that hangs for want of a connection ends with the deadline.
func (s *shop) derive(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	s.writes = s.db.WithContext(ctx)
	s.reads = s.db.WithContext(readonlyguard.ReadOnly(ctx))
	writeHooks.Store(0)
	s.reset()
}

// attempt runs fn and returns what it ended with: the error it returned, or the one it panicked with.
func attempt(fn func() error) (err error, panicked bool) { //nolint:revive // the error comes first, as the callers ask for it
	defer func() {
		if v := recover(); v != nil {
			err, panicked = v.(error), true
		}
	}()
	return fn(), false
}

// usable proves that the pool's one connection is idle again and serves reads.
func (s *shop) usable(t *testing.T) {
	t.Helper()
	var n int64
	require.NoError(t, s.reads.Model(&Author{}).Count(&n).Error)
	require.Equal(t, int64(2), n)
}
