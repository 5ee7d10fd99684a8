package readsplit_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

func TestT03HandlesAfterAFinisher(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		pool, err := x.DB.DB()
		require.NoError(t, err)

		t.Run("one chain for Count and Find", func(t *testing.T) {
			db, _ := x.session()
			chain := db.Model(&book{}).Where("author_id = ?", 1)
			var n int64
			require.NoError(t, chain.Count(&n).Error)
			require.EqualValues(t, 1, n, "a replica has one")
			require.NoError(t, db.Create(&book{Title: "three", AuthorID: 1}).Error)
			require.NoError(t, chain.Count(&n).Error)
			require.EqualValues(t, 3, n, "the session has written")
			var books []book
			require.NoError(t, chain.Find(&books).Error)
			require.Len(t, books, 3)
			require.Equal(t, "primary", books[2].Server)
		})
		t.Run("DB", func(t *testing.T) {
			db, _ := x.session()
			for _, result := range []*gorm.DB{
				db.Find(&[]book{}),
				db.Exec("SELECT 1"),
				db.Create(&book{Title: "four"}),
			} {
				require.NoError(t, result.Error)
				got, err := result.DB()
				require.NoError(t, err)
				require.Same(t, pool, got)
				require.NoError(t, result.Session(&gorm.Session{NewDB: true}).Connection(func(tx *gorm.DB) error {
					require.Equal(t, "primary", served(t, tx))
					return nil
				}))
			}
		})
		t.Run("the pool of a handle", func(t *testing.T) {
			// Code that looks below GORM gets what a statement would get, and
			// does not change what the handle says of its own statement.
			db, ctx := x.session()
			result := db.Find(&[]book{})
			before := reason(t, result)
			ask := func() (server string) {
				require.NoError(t, result.Statement.ConnPool.QueryRowContext(ctx, whoSQL).Scan(&server))
				return server
			}
			onReplica(t, ask())
			_, err := result.Statement.ConnPool.ExecContext(ctx, "DELETE FROM books WHERE title = 'four'")
			require.NoError(t, err)
			require.Equal(t, "primary", ask())
			rows, err := result.Statement.ConnPool.QueryContext(ctx, "INSERT INTO books (title) VALUES ('five') RETURNING id")
			require.NoError(t, err)
			require.NoError(t, rows.Close())
			stmt, err := result.Statement.ConnPool.PrepareContext(ctx, whoSQL)
			require.NoError(t, err)
			var server string
			require.NoError(t, stmt.QueryRow().Scan(&server))
			require.Equal(t, "primary", server)
			require.NoError(t, stmt.Close())
			require.Equal(t, before, reason(t, result))
		})
		t.Run("by several goroutines", func(t *testing.T) {
			db, ctx := x.session()
			result := db.Find(&[]book{})
			var all sync.WaitGroup
			for range 8 {
				all.Go(func() {
					var n int
					if err := result.Statement.ConnPool.QueryRowContext(ctx, "SELECT 1").Scan(&n); err != nil {
						t.Error(err)
					}
					if err := result.Session(&gorm.Session{NewDB: true}).First(&book{}).Error; err != nil {
						t.Error(err)
					}
					if d, _ := readsplit.DecisionOf(result); !d.Replica {
						t.Error(d)
					}
				})
			}
			all.Wait()
		})
	})
}

func TestT11NestedPreparedStatements(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		nested := func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{PrepareStmt: true}) }
		db, _ := x.session()
		db = nested(nested(db))
		for range 3 {
			reads(t, db, false, "one")
		}
		require.NoError(t, db.Create(&book{Title: "three"}).Error)
		reads(t, db, true, "one", "two", "three")
		other, _ := x.session()
		require.NoError(t, nested(other).Transaction(func(tx *gorm.DB) error {
			tx = nested(tx)
			require.Equal(t, "primary", served(t, tx))
			return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "four"}).Error })
		}))
		reads(t, nested(other), true, "one", "two", "three", "four")

		// What is prepared lives on the server where it runs.
		last, _ := x.session()
		reads(t, nested(last), false, "one")
		prepared := 0
		for _, s := range x.cluster.Replicas() {
			prepared += ask[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND query LIKE 'SELECT%books%'", x.schema)
		}
		require.Positive(t, prepared)
	})
}

func TestT29Locking(t *testing.T) {
	lock := clause.Locking{Strength: "UPDATE"}
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()

		t.Run("Clauses", func(t *testing.T) {
			var books []book
			tx := db.Clauses(lock).Order("id").Find(&books)
			require.NoError(t, tx.Error)
			require.Len(t, books, 2)
			require.Equal(t, "primary", books[0].Server)
			require.Equal(t, policy.ReasonLockingRead, reason(t, tx))
		})
		t.Run("Scopes", func(t *testing.T) {
			var b book
			require.NoError(t, db.Scopes(func(db *gorm.DB) *gorm.DB {
				return db.Clauses(clause.Locking{Strength: "SHARE", Options: "SKIP LOCKED"})
			}).First(&b).Error)
			require.Equal(t, "primary", b.Server)
		})
		t.Run("with Preload", func(t *testing.T) {
			var a author
			require.NoError(t, db.Clauses(lock).Preload("Books").First(&a).Error)
			require.Equal(t, "primary", a.Server)
			require.Len(t, a.Books, 2)
			require.Equal(t, "primary", a.Books[0].Server)
		})
		t.Run("of a Preload", func(t *testing.T) {
			var a author
			require.NoError(t, db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Clauses(lock) }).First(&a).Error)
			onReplica(t, a.Server)
			require.Len(t, a.Books, 2)
			require.Equal(t, "primary", a.Books[0].Server)
		})
		t.Run("leaves the session where it was", func(t *testing.T) { reads(t, db, false, "one") })
	})
}

func TestT04PreloadFollowsItsParent(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		require.NoError(t, x.Create(&[]author{{Name: "Bob", Books: []book{{Title: "b1"}}}, {Name: "Cid", Books: []book{{Title: "c1"}}}}).Error)
		x.usable(t)
		x.stale(t)
		db, ctx := x.session()
		used := map[string]int{}
		for range 30 {
			var all []author
			require.NoError(t, db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Order("id") }).Order("id").Find(&all).Error)
			require.Len(t, all, 3)
			for _, a := range all {
				require.Len(t, a.Books, 1, "Ann's second book is on the primary alone")
				require.Equal(t, all[0].Server, a.Books[0].Server)
			}
			used[all[0].Server]++
		}
		require.Len(t, used, 2, "both replicas serve: %v", used)
		require.NotContains(t, used, "primary")

		var a author
		require.NoError(t, x.fresh().Preload("Books").First(&a).Error)
		require.Equal(t, "primary", a.Server)
		require.Len(t, a.Books, 2)
		require.Equal(t, "primary", a.Books[0].Server)

		// A child that must see more than its parent did goes where that is.
		a = author{} // one that is loaded already would be read again on the primary
		require.NoError(t, db.Preload("Books", func(child *gorm.DB) *gorm.DB {
			return child.WithContext(readsplit.Fresh(ctx))
		}).First(&a).Error)
		onReplica(t, a.Server)
		require.Equal(t, "primary", a.Books[0].Server)

		// The association mode asks as any other read does.
		var books []book
		require.NoError(t, db.Model(&author{ID: 1}).Association("Books").Find(&books))
		require.Len(t, books, 1)
		onReplica(t, books[0].Server)
		require.NoError(t, db.Model(&author{ID: 1}).Association("Books").Append(&book{Title: "three"}))
		require.EqualValues(t, 3, db.Model(&author{ID: 1}).Association("Books").Count())
	})
}

func TestGenericsAPI(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		_, ctx := x.session()
		books, err := gorm.G[book](x.DB).Where("author_id = ?", 1).Find(ctx)
		require.NoError(t, err)
		require.Len(t, books, 1)
		onReplica(t, books[0].Server)
		n, err := gorm.G[book](x.DB).Count(ctx, "id")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		locked, err := gorm.G[book](x.DB, clause.Locking{Strength: "UPDATE"}).First(ctx)
		require.NoError(t, err)
		require.Equal(t, "primary", locked.Server)
		a, err := gorm.G[author](x.DB).Preload("Books", nil).First(ctx)
		require.NoError(t, err)
		require.Equal(t, a.Server, a.Books[0].Server)
		onReplica(t, a.Server)
		var batches []string
		require.NoError(t, gorm.G[book](x.DB).FindInBatches(ctx, 10, func(data []book, _ int) error {
			batches = append(batches, data[0].Server)
			return nil
		}))
		require.Len(t, batches, 1)
		onReplica(t, batches[0])
		var server string
		require.NoError(t, gorm.G[book](x.DB).Raw(whoSQL).Row(ctx).Scan(&server))
		onReplica(t, server)
		reads(t, x.WithContext(ctx), false, "one")

		result := gorm.WithResult()
		require.NoError(t, gorm.G[book](x.DB, result).Create(ctx, &book{Title: "three", AuthorID: 1}))
		require.EqualValues(t, 1, result.RowsAffected)
		reads(t, x.WithContext(ctx), true, "one", "two", "three")

		_, ctx = x.session()
		changed, err := gorm.G[book](x.DB).Where("title = ?", "three").Update(ctx, "title", "tres")
		require.NoError(t, err)
		require.Equal(t, 1, changed)
		reads(t, x.WithContext(ctx), true, "one", "two", "tres")

		// The owners of an association are read to be written to.
		_, ctx = x.session()
		x.past(t, "INSERT INTO authors_t (name) VALUES ('Bob')")
		_, err = gorm.G[author](x.DB).Where("name = ?", "Bob").
			Set(clause.Association{Association: "Books", Type: clause.OpCreate, Values: []any{&book{Title: "bobs"}}}).Update(ctx)
		require.NoError(t, err)
		require.Contains(t, x.titles(t), "bobs")
	})
}

func TestStatsPerServer(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		before := x.plugin.Status()
		db, _ := x.session()
		by := map[string]uint64{}
		for range 20 {
			by[served(t, db)]++
		}
		for range 3 {
			by[served(t, db.WithContext(readsplit.Fresh(context.Background())))]++
		}
		require.NoError(t, db.Create(&book{Title: "three"}).Error)
		require.NoError(t, db.Exec("DELETE FROM books WHERE title = 'three'").Error)
		after := x.plugin.Status()
		for i, r := range after.Replicas {
			require.Equal(t, by[r.Name], r.Reads-before.Replicas[i].Reads)
			require.Zero(t, r.InFlight)
			require.Positive(t, r.Pool.OpenConnections)
			require.Zero(t, r.Pool.InUse)
			require.Equal(t, 64, r.Pool.MaxOpenConnections)
		}
		require.EqualValues(t, 20, after.ReplicaReads-before.ReplicaReads)
		require.EqualValues(t, 3, after.PrimaryReads-before.PrimaryReads)
		require.EqualValues(t, 3, after.Reasons[policy.ReasonFresh]-before.Reasons[policy.ReasonFresh])
		require.EqualValues(t, 1, after.Reasons[policy.ReasonWrite]-before.Reasons[policy.ReasonWrite])

		pool, err := x.DB.DB()
		require.NoError(t, err)
		require.NoError(t, x.plugin.Close(limit(t)))
		for _, r := range x.plugin.Status().Replicas {
			require.Zero(t, r.Pool.OpenConnections, "the plugin closes the pools that it opened")
		}
		require.NoError(t, pool.Ping(), "the primary's pool is the application's")
		reads(t, db, true, "one", "two")
		require.NoError(t, db.Create(&book{Title: "late"}).Error, "everything goes to the primary then")
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "later"}).Error }))
		reads(t, db, true, "one", "two", "late", "later")
	})
}
