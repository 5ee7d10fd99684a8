package readonlyguard_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit/readonlyguard"
)

func TestUseTwice(t *testing.T) {
	s := open(t, mode{})
	assert.ErrorIs(t, s.db.Use(readonlyguard.New()), gorm.ErrRegistered)
	assert.EqualError(t, readonlyguard.Register(s.db, readonlyguard.Options{}),
		"readsplit: this gorm.DB has a read-only guard already; readsplit.New brings one, and readonlyguard.New is for applications without it: keep one of the two")
	assert.True(t, readonlyguard.Registered(s.db))
	assert.False(t, readonlyguard.Registered(openUnguarded(t, mode{}).db))
}

// named is a dialector with another name.
type named struct {
	gorm.Dialector
	name string
}

func (n named) Name() string { return n.name }

func TestUnknownDialect(t *testing.T) {
	db, err := gorm.Open(named{postgres.New(postgres.Config{DSN: dsn}), "oracle"}, &gorm.Config{DisableAutomaticPing: true})
	require.NoError(t, err)
	defer closeDB(t, db)
	assert.EqualError(t, db.Use(readonlyguard.New()), `readsplit: the read-only guard cannot read the SQL of dialect "oracle": it knows postgres and sqlserver`)
	assert.False(t, readonlyguard.Registered(db))
}

func closeDB(t *testing.T, db *gorm.DB) {
	t.Helper()
	pool, err := db.DB()
	require.NoError(t, err)
	require.NoError(t, pool.Close())
}

// Register is for whoever owns the pool and the dialector: it leaves both alone.
func TestRegisterChangesNothingElse(t *testing.T) {
	s := openUnguarded(t, mode{})
	pool, dialector := s.db.ConnPool, s.db.Dialector
	require.NoError(t, readonlyguard.Register(s.db, readonlyguard.Options{}))
	assert.Same(t, pool, s.db.ConnPool)
	assert.Same(t, pool, s.db.Statement.ConnPool)
	assert.Same(t, dialector, s.db.Dialector)

	_, panicked := attempt(func() error { return s.reads.Create(&Tag{}).Error })
	assert.True(t, panicked)
	for _, processor := range []func(string) func(*gorm.DB){
		s.db.Callback().Create().Get, s.db.Callback().Query().Get, s.db.Callback().Update().Get,
		s.db.Callback().Delete().Get, s.db.Callback().Row().Get, s.db.Callback().Raw().Get,
	} {
		assert.NotNil(t, processor("readsplit:guard"))
	}
}

// Handles derived before Use share the callbacks: they are refused too, though CreateInBatches has begun by then.
func TestHandlesDerivedBeforeUse(t *testing.T) {
	s := openUnguarded(t, mode{})
	derived := s.reads
	require.NoError(t, s.db.Use(readonlyguard.New()))
	_, panicked := attempt(func() error { return derived.Save(woolf()).Error })
	assert.True(t, panicked)
	_, panicked = attempt(func() error { return derived.CreateInBatches([]Author{{}, {}, {}}, 2).Error })
	assert.True(t, panicked)
	assert.Equal(t, []string{"BEGIN", "ROLLBACK"}, s.log())
	s.usable(t)
}

// Prepared statements of a session, alone and over those of the configuration.
func TestNestedPreparedStatements(t *testing.T) {
	for _, m := range []mode{{}, {prepareStmt: true}} {
		s := open(t, m)
		db := s.reads.Session(&gorm.Session{PrepareStmt: true})
		_, panicked := attempt(func() error { return db.CreateInBatches([]Author{{}, {}, {}}, 2).Error })
		assert.True(t, panicked)
		assert.Empty(t, s.log())
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.First(&Author{}).Error }))
		assert.Equal(t, "BEGIN READ ONLY", s.log()[0])
		s.usable(t)
	}
}

// Use on a handle whose prepared statements lie over those of the configuration.
func TestUseOnNestedPreparedStatements(t *testing.T) {
	s := openUnguarded(t, mode{prepareStmt: true})
	s.db = s.db.Session(&gorm.Session{PrepareStmt: true})
	require.IsType(t, &gorm.PreparedStmtDB{}, s.db.ConnPool.(*gorm.PreparedStmtDB).ConnPool)
	require.NoError(t, s.db.Use(readonlyguard.New()))
	s.derive(t)
	_, panicked := attempt(func() error { return s.reads.CreateInBatches([]Author{{}, {}, {}}, 2).Error })
	assert.True(t, panicked)
	assert.Empty(t, s.log())
	s.usable(t)
}

// Conditions that another plugin adds right before the query are in the query, also where the guard looked at its
// text before they were added; and no condition is there twice.
func TestClausesOfOtherPlugins(t *testing.T) {
	s := open(t, mode{})
	require.NoError(t, s.db.Callback().Query().Before("gorm:query").Register("tenant", func(db *gorm.DB) {
		db.Statement.AddClause(clause.Where{Exprs: []clause.Expression{clause.Eq{Column: "author_id", Value: 2}}})
	}))
	var books []Book
	require.NoError(t, s.reads.Where("length(title) > ?", 1).Joins("Author").Find(&books).Error)
	require.Len(t, books, 1)
	assert.Equal(t, []string{`SELECT "books"."id","books"."author_id","books"."title","books"."deleted_at",` +
		`"Author"."id" AS "Author__id","Author"."name" AS "Author__name" FROM "books" LEFT JOIN "authors" "Author" ON "books"."author_id" = "Author"."id" ` +
		`WHERE length(title) > $1 AND "author_id" = $2 AND "books"."deleted_at" IS NULL`}, s.log())
}

// A callback of another plugin that is before all others too.
func TestOtherPluginBeforeAll(t *testing.T) {
	s := openUnguarded(t, mode{})
	var order []string
	require.NoError(t, s.db.Callback().Create().Before("*").Register("early", func(*gorm.DB) { order = append(order, "early") }))
	require.NoError(t, s.db.Use(readonlyguard.New()))
	s.derive(t)
	_, panicked := attempt(func() error { return s.reads.Create(&Tag{}).Error })
	assert.True(t, panicked)
	assert.Empty(t, order)
}

// Beside dbresolver, before or after it.
func TestBesideDBResolver(t *testing.T) {
	for _, guardFirst := range []bool{true, false} {
		s := openUnguarded(t, mode{})
		resolver := dbresolver.Register(dbresolver.Config{Replicas: []gorm.Dialector{postgres.New(postgres.Config{Conn: mustDB(t, s.db)})}})
		plugins := []gorm.Plugin{readonlyguard.New(), resolver}
		if !guardFirst {
			plugins[0], plugins[1] = plugins[1], plugins[0]
		}
		for _, plugin := range plugins {
			require.NoError(t, s.db.Use(plugin))
		}
		s.derive(t)
		for _, e := range []func(db *gorm.DB) error{
			func(db *gorm.DB) error { return db.Create(&Tag{}).Error },
			func(db *gorm.DB) error { return db.CreateInBatches([]Tag{{}, {}, {}}, 2).Error },
			func(db *gorm.DB) error { return db.Clauses(dbresolver.Write).Save(woolf()).Error },
			func(db *gorm.DB) error { return db.AutoMigrate(&Tag{}) },
			func(db *gorm.DB) error { return raw(db, "DELETE FROM tags RETURNING id") },
		} {
			_, panicked := attempt(func() error { return e(s.reads) })
			assert.True(t, panicked)
		}
		assert.Empty(t, s.log())
		s.usable(t)
		require.NoError(t, s.writes.Create(&Tag{Name: "x"}).Error)
	}
}

func mustDB(t *testing.T, db *gorm.DB) *sql.DB {
	t.Helper()
	pool, err := db.DB()
	require.NoError(t, err)
	return pool
}

// The guarded dialector can what the application's can, and nothing that it cannot.
func TestDialectorKeepsItsAbilities(t *testing.T) {
	type savePoints = gorm.SavePointerDialectorInterface
	type translator = gorm.ErrorTranslator
	full := postgres.New(postgres.Config{DSN: dsn})
	for name, dialector := range map[string]gorm.Dialector{
		"both":    full,
		"neither": struct{ gorm.Dialector }{full},
		"save points": struct {
			gorm.Dialector
			savePoints
		}{full, full.(savePoints)},
		"translation": struct {
			gorm.Dialector
			translator
		}{full, full.(translator)},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := gorm.Open(dialector, &gorm.Config{Logger: logger.Discard})
			require.NoError(t, err)
			defer closeDB(t, db)
			_, wantPoints := dialector.(savePoints)
			_, wantTranslator := dialector.(translator)
			require.NoError(t, db.Use(readonlyguard.New(readonlyguard.ReturnErrors())))
			_, gotPoints := db.Dialector.(savePoints)
			_, gotTranslator := db.Dialector.(translator)
			assert.Equal(t, []bool{wantPoints, wantTranslator}, []bool{gotPoints, gotTranslator})
			assert.Equal(t, dialector, db.Dialector.(interface{ Unwrap() gorm.Dialector }).Unwrap())
			assert.Equal(t, "postgres", db.Dialector.Name())
			assert.True(t, db.Migrator().HasTable("pg_class") || !db.Migrator().HasTable("no_such_table"))
			assert.ErrorIs(t, db.WithContext(readonlyguard.ReadOnly(t.Context())).AutoMigrate(&Tag{}), readonlyguard.ErrReadOnly)
		})
	}
}

// Every method of a refused migrator that can return an error returns the refusal, and none does anything.
func TestRefusingMigrator(t *testing.T) {
	refusal := errors.New("refused")
	migrator := reflect.ValueOf(readonlyguard.RefusingMigrator(refusal))
	api := reflect.TypeFor[gorm.Migrator]()
	for i := range api.NumMethod() {
		method := migrator.MethodByName(api.Method(i).Name)
		in := make([]reflect.Value, 0, method.Type().NumIn())
		for j := range method.Type().NumIn() {
			if method.Type().IsVariadic() {
				break
			}
			in = append(in, reflect.Zero(method.Type().In(j)))
		}
		for _, out := range method.Call(in) {
			if out.Type() == reflect.TypeFor[error]() {
				assert.Equal(t, refusal, out.Interface(), api.Method(i).Name)
			} else {
				assert.True(t, out.IsZero(), api.Method(i).Name)
			}
		}
	}
}

// A transaction that does not exist sends nothing and does nothing, whatever it is asked.
func TestUnsentTransaction(t *testing.T) {
	s := open(t, mode{})
	var caught gorm.Tx
	require.NoError(t, s.db.Callback().Create().Before("*").Register("catch", func(db *gorm.DB) { caught = db.Statement.ConnPool.(gorm.Tx) }))
	_, panicked := attempt(func() error { return s.reads.CreateInBatches([]Tag{{}, {}, {}}, 2).Error })
	require.True(t, panicked)
	require.NotNil(t, caught)

	ctx := context.Background()
	_, err := caught.ExecContext(ctx, "DELETE FROM tags")
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	var refusal *readonlyguard.Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, "CreateInBatches", refusal.Operation)
	_, err = caught.QueryContext(ctx, "SELECT 1")
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	_, err = caught.PrepareContext(ctx, "SELECT 1")
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	require.ErrorIs(t, caught.QueryRowContext(ctx, "SELECT 1").Scan(new(int)), readonlyguard.ErrReadOnly)
	assert.Panics(t, func() { caught.StmtContext(ctx, nil) })
	require.NoError(t, caught.Commit())
	require.NoError(t, caught.Rollback())
	assert.Empty(t, s.log())

	_, ok := readonlyguard.UnsentTx(readonlyguard.ReadOnly(ctx))
	assert.False(t, ok, "the application's own BEGIN")
	_, ok = readonlyguard.UnsentTx(ctx)
	assert.False(t, ok, "no read session")
}

// Outside of a read session the guard costs a look into the context.
func TestCostOutsideOfAReadSession(t *testing.T) {
	s, bare := open(t, mode{}), openUnguarded(t, mode{})
	allocations := func(db *gorm.DB) float64 {
		dry := db.Session(&gorm.Session{DryRun: true})
		least := math.Inf(1)
		for range 10 { // the race detector empties pools at random
			least = min(least, testing.AllocsPerRun(100, func() { dry.First(&Author{}, 1) }))
		}
		return least
	}
	assert.InDelta(t, allocations(bare.writes), allocations(s.writes), 0.5)
}
