package readsplit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// backend returns who answers a handle: the server and the process of it.
func backend(t testing.TB, db *gorm.DB) (server string, pid int) {
	t.Helper()
	var who struct {
		Server string
		Pid    int
	}
	require.NoError(t, db.Raw("SELECT current_setting('cluster_name') AS server, pg_backend_pid() AS pid").Scan(&who).Error)
	return who.Server, who.Pid
}

func TestT02Connection(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)

		t.Run("reads and settings stay", func(t *testing.T) {
			db, _ := x.session()
			require.NoError(t, db.Connection(func(tx *gorm.DB) error {
				server, pid := backend(t, tx)
				require.Equal(t, "primary", server)
				require.NoError(t, tx.Exec("SET extra_float_digits = 2").Error)
				var digits string
				require.NoError(t, tx.Raw("SHOW extra_float_digits").Scan(&digits).Error)
				require.Equal(t, "2", digits)
				var books []book
				found := tx.Session(&gorm.Session{NewDB: true}).Find(&books)
				require.NoError(t, found.Error)
				require.Len(t, books, 2)
				require.Equal(t, "primary", books[0].Server)
				_, ok := readsplit.DecisionOf(found)
				require.False(t, ok, "nothing was decided")
				_, again := backend(t, tx)
				require.Equal(t, pid, again)
				return nil
			}))
			reads(t, db, false, "one")
		})
		t.Run("a write", func(t *testing.T) {
			db, ctx := x.session()
			require.NoError(t, db.Connection(func(tx *gorm.DB) error {
				_, pid := backend(t, tx)
				// GORM's default transaction leaves the configured pool behind.
				require.NoError(t, tx.Create(&book{Title: "three"}).Error)
				_, again := backend(t, tx)
				require.Equal(t, pid, again)
				return nil
			}))
			reads(t, db, true, "one", "two", "three")
			require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
			tok, err := readsplit.SessionFrom(ctx).Token(ctx)
			require.NoError(t, err)
			token, err := readsplit.Config{}.ParseToken(tok)
			require.NoError(t, err)
			require.False(t, token.Unsure.IsZero())
		})
		t.Run("only a write", func(t *testing.T) {
			db, _ := x.session()
			require.NoError(t, db.Connection(func(tx *gorm.DB) error {
				return tx.Create(&book{Title: "four"}).Error
			}))
			reads(t, db, true, "one", "two", "three", "four")
		})
		t.Run("a transaction", func(t *testing.T) {
			db, _ := x.session()
			require.NoError(t, db.Connection(func(tx *gorm.DB) error {
				return tx.Transaction(func(tx *gorm.DB) error {
					require.NoError(t, tx.Create(&book{Title: "five"}).Error)
					require.Equal(t, "primary", served(t, db), "it may commit at any time")
					return nil
				})
			}))
			reads(t, db, true, "one", "two", "three", "four", "five")
		})
		t.Run("of another session", func(t *testing.T) {
			db, _ := x.session()
			reads(t, db, false, "one")
		})
	})
}

// A write that the plugin cannot see is told to it.
func TestMarkWrite(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, ctx := x.session()
		pool, err := db.DB()
		require.NoError(t, err)
		var server string
		require.NoError(t, pool.QueryRow(whoSQL).Scan(&server))
		require.Equal(t, "primary", server)
		_, err = pool.Exec("INSERT INTO books (title) VALUES ('three')")
		require.NoError(t, err)
		reads(t, db, false, "one")
		readsplit.MarkWrite(ctx)
		reads(t, db, true, "one", "two", "three")
		other, _ := x.session()
		reads(t, other, false, "one")
		readsplit.MarkWrite(context.Background())
		reads(t, other, true, "one", "two", "three")
	})
}

func TestT09HandlesFromBefore(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db := func() *gorm.DB {
			return x.early.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
		}

		t.Run("reads", func(t *testing.T) { reads(t, db(), false, "one") })
		t.Run("Create", func(t *testing.T) {
			db := db()
			unsure := x.plugin.Status().Unsure
			tx := db.Create(&book{Title: "three"})
			require.NoError(t, tx.Error)
			require.Equal(t, policy.ReasonWrite, reason(t, tx))
			reads(t, db, true, "one", "two", "three")
			require.Equal(t, unsure, x.plugin.Status().Unsure, "its commit was seen")
		})
		t.Run("Exec", func(t *testing.T) {
			db := db()
			require.NoError(t, db.Exec("DELETE FROM books WHERE title = 'three'").Error)
			reads(t, db, true, "one", "two")
		})
		t.Run("Transaction", func(t *testing.T) {
			db := db()
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				require.Equal(t, "primary", served(t, tx))
				return tx.Create(&book{Title: "four"}).Error
			}))
			reads(t, db, true, "one", "two", "four")
		})
		t.Run("rolled back", func(t *testing.T) {
			db := db()
			require.Error(t, db.Transaction(func(tx *gorm.DB) error {
				require.Equal(t, "primary", served(t, tx))
				return errors.New("no")
			}))
			reads(t, db, false, "one")
		})
		t.Run("Migrator", func(t *testing.T) {
			x.past(t, "CREATE TABLE late (id bigserial PRIMARY KEY)")
			type late struct{ ID int64 }
			db := db().Table("late")
			require.True(t, db.Migrator().HasTable("late"))
			require.NoError(t, db.AutoMigrate(&late{}))
			types, err := db.Migrator().ColumnTypes(&late{})
			require.NoError(t, err)
			require.Len(t, types, 1)
		})
	})
}

// A transaction that the plugin did not begin says that it is over before its
// COMMIT is: what is captured then does not cover it.
func TestT09CommitUnderWay(t *testing.T) {
	x := newTrap(t)
	x.slowCommit(t, 1)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	db := x.early.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
	tx := db.Begin()
	require.NoError(t, tx.Create(&book{Title: "slow"}).Error)
	committed := make(chan error, 1)
	go func() { committed <- tx.Commit().Error }()
	x.sleeping(t)
	require.Equal(t, "primary", served(t, db))
	// Something that is captured, and that the replicas have.
	x.past(t, "INSERT INTO authors_t (name) VALUES ('Bob')")
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	served(t, db)
	for _, s := range x.cluster.Replicas() {
		_, err := s.PauseReplay(limit(t))
		require.NoError(t, err)
	}
	require.NoError(t, <-committed)
	reads(t, db, true, "one", "slow")
}

func TestT09UseOnADerivedHandle(t *testing.T) {
	x := newTrap(t)
	base := openGORM(t, x, false)
	p := readsplit.New(readsplit.Config{MaxLag: readsplit.Off, MaxSampleAge: longNewsAge, SampleTimeout: 10 * time.Second, Replicas: x.replicas()})
	derived := base.WithContext(context.Background())
	require.NoError(t, derived.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	eventually(t, "reads go to a replica", func() bool { return isReplica(served(t, base)) })
	x.stale(t)
	for _, db := range []*gorm.DB{base, derived} {
		db = db.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
		reads(t, db, false, "one")
		require.NoError(t, db.Create(&book{Title: "more"}).Error)
		require.Equal(t, "primary", served(t, db))
		require.Error(t, db.Use(p), "once is enough")
	}
	tx := base.Begin()
	require.NoError(t, tx.Error)
	defer tx.Rollback()
	require.ErrorContains(t, tx.Use(readsplit.New(readsplit.Config{})), "registered")
}
