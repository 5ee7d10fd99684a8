package readsplit_test

import (
	"context"
	"database/sql"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/schema"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// one is a budget of one place, which whoever keeps it shows at once.
var one = overload.Budget{Reads: 1, MaxWait: 20 * time.Second}

// Rows that are left open hold their place until they are closed, which nobody
// tells; those who wait find out.
func TestBudgetRowsLeftOpen(t *testing.T) {
	eachOverloaded(t, one, func(t *testing.T, x *trap) {
		for name, open := range map[string]func(db *gorm.DB) (release func()){
			"Raw().Rows()": func(db *gorm.DB) func() {
				rows, err := db.Raw("SELECT generate_series(1, 3)").Rows()
				require.NoError(t, err)
				return func() { closed(t, rows) }
			},
			"Rows() to the end": func(db *gorm.DB) func() {
				rows, err := db.Model(&book{}).Rows()
				require.NoError(t, err)
				return func() {
					for rows.Next() {
						require.NoError(t, db.ScanRows(rows, &book{}))
					}
					require.NoError(t, rows.Err()) // and no Close
				}
			},
			"Row()": func(db *gorm.DB) func() {
				row := db.Model(&book{}).Select("title").Row()
				require.NoError(t, row.Err())
				return func() {
					var title string
					require.NoError(t, row.Scan(&title))
				}
			},
			"a context that ends": func(db *gorm.DB) func() {
				ctx, cancel := context.WithCancel(db.Statement.Context)
				rows, err := db.WithContext(ctx).Raw("SELECT generate_series(1, 100000)").Rows()
				require.NoError(t, err)
				require.True(t, rows.Next())
				require.NoError(t, rows.Err())
				return cancel
			},
		} {
			t.Run(name, func(t *testing.T) {
				release := open(x.WithContext(nobody()))
				require.Equal(t, 1, x.budget().InUse)
				read := x.aside(nobody())
				x.waits(t, 1)
				release()
				r := <-read
				require.NoError(t, r.err)
				assert.Equal(t, "primary", r.Server)
				require.Zero(t, x.budget().InUse)
			})
		}
	})
}

// angry panics when it is scanned: as a serializer of GORM's, because a sql.Scanner
// that panics locks its rows for ever in database/sql itself (Go 1.26), without the
// plugin too.
type angry string

// Scan implements schema.SerializerInterface.
func (*angry) Scan(context.Context, *schema.Field, reflect.Value, any) error { panic("scanned") }

// Value implements schema.SerializerInterface.
func (*angry) Value(context.Context, *schema.Field, reflect.Value, any) (any, error) { return "", nil }

type angryBook struct {
	ID    int64
	Title angry
}

func (*angryBook) TableName() string { return "books" }

// Errors and panics give the place back, once.
func TestBudgetErrorsAndPanics(t *testing.T) {
	eachOverloaded(t, one, func(t *testing.T, x *trap) {
		inAfterFind := context.WithValue(nobody(), hooksKey{}, hooks{"AfterFind": func(*gorm.DB) error { panic("AfterFind") }})
		for name, run := range map[string]func(){
			"AfterFind": func() { x.WithContext(inAfterFind).Take(&hookedBook{}) },
			"Scanner":   func() { x.WithContext(nobody()).Take(&angryBook{}) },
			"Scanner of Raw": func() {
				x.WithContext(nobody()).Raw("SELECT id, title FROM books").Scan(&[]angryBook{})
			},
		} {
			require.Panics(t, run, name)
			assert.Zero(t, x.budget().InUse, name)
		}
		for name, err := range map[string]error{
			"syntax":     x.WithContext(nobody()).Raw("SELECT FROM WHERE").Scan(&book{}).Error,
			"in mid-row": x.WithContext(nobody()).Raw("SELECT 1 / (3 - i) FROM generate_series(1, 3) i").Scan(&[]int{}).Error,
			"by Exec":    x.WithContext(nobody()).Exec("SELECT 1 / 0").Error,
			"by Row":     x.WithContext(nobody()).Raw("SELECT 1 / 0").Row().Scan(new(int)),
		} {
			require.Error(t, err, name)
			require.NotErrorIs(t, err, overload.ErrPrimaryBusy, name)
			assert.Zero(t, x.budget().InUse, name)
		}
		require.NoError(t, x.WithContext(nobody()).Exec("SELECT 1").Error)
		assert.Zero(t, x.budget().InUse)
		x.occupy(t)
		assert.Equal(t, 1, x.budget().InUse, "none was given back twice")
	})
}

// A preload, and what AfterFind reads, needs a place of its own when its parent has
// ended: with a budget of one it gets it, before whoever is new.
func TestBudgetPreload(t *testing.T) {
	eachOverloaded(t, one, func(t *testing.T, x *trap) {
		afterFind := hooks{"AfterFind": func(tx *gorm.DB) error {
			var a author
			if err := tx.Session(&gorm.Session{NewDB: true}).Preload("Books").Take(&a).Error; err != nil {
				return err
			}
			assert.Equal(t, "primary", a.Server)
			assert.Equal(t, "primary", a.Books[0].Server)
			return nil
		}}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					var a author
					tx := x.WithContext(nobody()).Preload("Books").Take(&a)
					if assert.NoError(t, tx.Error) && assert.Len(t, a.Books, 1) {
						assert.Equal(t, "primary", a.Server)
						assert.Equal(t, "primary", a.Books[0].Server)
					}
					assert.NoError(t, x.WithContext(context.WithValue(nobody(), hooksKey{}, afterFind)).Take(&hookedBook{}).Error)
				}
			})
		}
		all.Wait()
		st := x.budget()
		assert.Equal(t, [3]int{0, 0, 0}, [3]int{st.InUse, st.Waiting, int(st.Refused)})
		assert.Positive(t, st.Waited)

		// One that began waits before nobody who is new, whatever their priority.
		ctx := context.WithValue(nobody(), hooksKey{}, hooks{"AfterFind": func(tx *gorm.DB) error {
			rows := x.full(t)
			urgent := x.aside(overload.WithPriority(nobody(), overload.High))
			x.waits(t, 1)
			own := make(chan result, 1)
			go func() {
				var r result
				r.err = tx.Session(&gorm.Session{NewDB: true}).Raw(spanSQL).Scan(&r.span).Error
				own <- r
			}()
			x.waits(t, 2)
			closed(t, rows...)
			first, second := <-own, <-urgent
			assert.NoError(t, first.err)
			assert.NoError(t, second.err)
			assert.False(t, first.Ended.After(second.Began), "%v %v", first, second)
			return nil
		}})
		require.NoError(t, x.WithContext(ctx).Take(&hookedBook{}).Error)
	})
}

// A read-only transaction that falls back holds one place for its whole life,
// however it ends.
func TestBudgetTransactions(t *testing.T) {
	eachOverloaded(t, one, func(t *testing.T, x *trap) {
		begin := func(ctx context.Context) *gorm.DB {
			tx := x.WithContext(ctx).Begin(&sql.TxOptions{ReadOnly: true})
			require.NoError(t, tx.Error)
			require.Zero(t, x.budget().InUse, "it begins with its first statement")
			for range 3 {
				server, _ := servedBy(t, tx)
				require.Equal(t, "primary", server)
				require.Equal(t, 1, x.budget().InUse)
			}
			return tx
		}
		for name, end := range map[string]func(tx *gorm.DB, cancel context.CancelFunc) error{
			"commit":   func(tx *gorm.DB, _ context.CancelFunc) error { return tx.Commit().Error },
			"rollback": func(tx *gorm.DB, _ context.CancelFunc) error { return tx.Rollback().Error },
			"context":  func(_ *gorm.DB, cancel context.CancelFunc) error { cancel(); return nil },
			"by its *sql.Tx": func(tx *gorm.DB, _ context.CancelFunc) error {
				inner, ok := readsplit.SQLTx(tx)
				require.True(t, ok)
				return inner.Commit()
			},
		} {
			ctx, cancel := context.WithCancel(nobody())
			tx := begin(ctx)
			read := x.aside(nobody())
			x.waits(t, 1)
			require.NoError(t, end(tx, cancel), name)
			require.NoError(t, (<-read).err, name)
			cancel()
			_ = tx.Rollback()
			require.Zero(t, x.budget().InUse, name)
		}
		require.Panics(t, func() {
			_ = x.WithContext(nobody()).Transaction(func(tx *gorm.DB) error {
				servedBy(t, tx)
				panic("in the transaction")
			}, &sql.TxOptions{ReadOnly: true})
		})
		assert.Zero(t, x.budget().InUse)

		rows := x.full(t)
		ctx, cancel := context.WithTimeout(nobody(), 50*time.Millisecond)
		defer cancel()
		tx := x.WithContext(ctx).Begin(&sql.TxOptions{ReadOnly: true})
		busy(t, tx.Take(&book{}).Error)
		_ = tx.Rollback()
		closed(t, rows...)
		assert.Zero(t, x.budget().InUse)
	})
}

// A read-only transaction that is on a replica when that falls behind asks for a
// place too, or stays there, stale.
func TestBudgetTransactionThatMoves(t *testing.T) {
	for name, beyond := range map[string]overload.Beyond{"wait": overload.Wait, "stale": overload.ServeStale} {
		t.Run(name, func(t *testing.T) {
			x := newTrap(t, configured(quick), configured(func(c *readsplit.Config) {
				c.PrimaryBudget = overload.Budget{Reads: 1, Beyond: beyond, MaxWait: 50 * time.Millisecond}
			}))
			var tx *gorm.DB
			eventually(t, "a transaction to begin on a replica", func() bool {
				if tx != nil {
					tx.Rollback()
				}
				tx = x.WithContext(nobody()).Begin(&sql.TxOptions{ReadOnly: true})
				server, _ := servedBy(t, tx)
				return isReplica(server)
			})
			x.fallBehind(t)
			rows := x.full(t)
			if beyond == overload.ServeStale {
				server, d := servedBy(t, tx)
				onReplica(t, server)
				assert.Equal(t, policy.ReasonServedStale, d.Reason)
			} else {
				busy(t, tx.Take(&book{}).Error)
			}
			closed(t, rows...)
			server, d := servedBy(t, tx)
			assert.Equal(t, "primary", server)
			assert.Equal(t, policy.ReasonLagging, d.Reason)
			assert.Equal(t, 1, x.budget().InUse)
			require.NoError(t, tx.Commit().Error)
			assert.Zero(t, x.budget().InUse)
		})
	}
}

// dbresolver's clauses: Write belongs on the primary, Read wanted a replica.
func TestBudgetClauses(t *testing.T) {
	eachOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.Fail}, func(t *testing.T, x *trap) {
		x.full(t)
		db := x.WithContext(nobody())
		require.NoError(t, db.Clauses(dbresolver.Write).Take(&book{}).Error)
		require.NoError(t, db.Clauses(dbresolver.Write).Raw(whoSQL).Scan(new(string)).Error)
		busy(t, db.Clauses(dbresolver.Read).Take(&book{}).Error)
		tx := db.Clauses(dbresolver.Read).Begin()
		require.NoError(t, tx.Error)
		busy(t, tx.Take(&book{}).Error)
		require.NoError(t, tx.Rollback().Error)
		assert.Equal(t, 1, x.budget().InUse)
	})
}

// Resolvers over one primary share its budget; one with a primary of its own has
// its own.
func TestBudgetOfResolvers(t *testing.T) {
	var shared, own string
	x := newTrap(t, configured(quick), configured(func(c *readsplit.Config) {
		c.PrimaryBudget = overload.Budget{Reads: 1, Beyond: overload.Fail}
		shared, own = "shared", "own"
		c.Resolvers = []readsplit.Resolver{
			{Name: shared, Tables: []any{"authors"}, Replicas: c.Replicas},
			{Name: own, Tables: []any{"books"}, Replicas: c.Replicas, Primary: postgres.Open(cluster(t).Primary().DSNFor("traps") + " search_path=$user")},
		}
	}))
	x.fallBehind(t)
	eventually(t, "all of them to fall behind", func() bool {
		for _, st := range x.plugin.Status().Resolvers {
			for _, r := range st.Replicas {
				if r.LagKnown && r.Lag <= 500*time.Millisecond {
					return false
				}
			}
		}
		return true
	})
	rows := x.full(t)
	var id int64
	busy(t, x.WithContext(nobody()).Table("authors").Select("id").Take(&id).Error)
	err := x.WithContext(nobody()).Table("books").Select("id").Take(&id).Error
	require.NotErrorIs(t, err, overload.ErrPrimaryBusy)
	st := x.plugin.Status()
	assert.Equal(t, [3]int{1, 1, 0}, [3]int{st.Budget.InUse, st.Resolvers[0].Budget.InUse, st.Resolvers[1].Budget.InUse})
	closed(t, rows...)
}

// The field of the configuration has an effect of its own.
func testPrimaryBudget(t *testing.T) {
	assert.Zero(t, newTrap(t).budget().Reads)
	assert.Equal(t, 3, newTrap(t, configured(func(c *readsplit.Config) { c.PrimaryBudget.Reads = 3 })).budget().Reads)
}
