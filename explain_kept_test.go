package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
)

// Whoever keeps the handle of an explanation writes nothing with it, and is told so
// each time: a write that is lost without a word is the worst that can happen.
func TestExplainHandleThatIsKept(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		var kept, begun, reads, prepared, preparedElsewhere *gorm.DB
		report, err := readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
			kept = tx
			begun = tx.Begin()
			reads = tx.Begin(&sql.TxOptions{ReadOnly: true})
			prepared = tx.Session(&gorm.Session{PrepareStmt: true})
			preparedElsewhere = prepared.Session(&gorm.Session{NewDB: true, Context: nobody()})
			return tx
		})
		require.NoError(t, err)
		for name, db := range map[string]*gorm.DB{
			"kept": kept, "begun": begun, "reads": reads, "prepared": prepared, "prepared elsewhere": preparedElsewhere,
			"a session of it": kept.Session(&gorm.Session{NewDB: true, Context: nobody()}),
		} {
			for what, do := range map[string]func(db *gorm.DB) error{
				"create":  func(db *gorm.DB) error { return db.Create(&book{Title: "lost"}).Error },
				"update":  func(db *gorm.DB) error { return db.Model(&book{ID: 1}).Update("title", "lost").Error },
				"delete":  func(db *gorm.DB) error { return db.Delete(&book{ID: 1}).Error },
				"exec":    func(db *gorm.DB) error { return db.Exec("DELETE FROM books_t").Error },
				"find":    func(db *gorm.DB) error { return db.Find(&[]book{}).Error },
				"row":     func(db *gorm.DB) error { return db.Raw("SELECT 1").Row().Scan(new(int)) },
				"scan":    func(db *gorm.DB) error { return db.Raw("SELECT 1").Scan(new(int)).Error },
				"migrate": func(db *gorm.DB) error { return db.Migrator().CreateTable(&struct{ ID int }{}) },
				"itself": func(db *gorm.DB) error {
					_, err := db.Statement.ConnPool.ExecContext(nobody(), "DELETE FROM books_t")
					return err
				},
				"transaction": func(db *gorm.DB) error {
					return db.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "lost"}).Error })
				},
			} {
				require.ErrorContains(t, do(db), "Explain", "%s: %s", name, what)
			}
		}
		require.ErrorContains(t, begun.Commit().Error, "Explain")
		require.NoError(t, reads.Rollback().Error)
		require.Empty(t, report.Statements, "what comes later is not in it")
		require.Equal(t, []string{"one"}, x.titles(t))

		again := explained(t, nobody(), kept, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })
		require.Len(t, again, 1)
		require.NoError(t, again[0].Err)
	}, configured(longNews))
}

// What run does with another handle is done, whatever the context.
func TestExplainLeavesOtherHandlesAlone(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		var ctx context.Context
		write := func(title string) {
			other := x.WithContext(ctx)
			other.SkipDefaultTransaction = false
			require.NoError(t, other.Create(&book{Title: title}).Error)
			require.NoError(t, other.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: title + "-in-a-transaction"}).Error }))
		}
		report, err := readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
			ctx = tx.Statement.Context
			write("during")
			return tx
		})
		require.NoError(t, err)
		require.Empty(t, report.Statements)
		_, err = readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
			write("later") // while somebody else explains
			return tx
		})
		require.NoError(t, err)
		require.Equal(t, []string{"one", "during", "during-in-a-transaction", "later", "later-in-a-transaction"}, x.titles(t))
	})
}

// With prepared statements nothing is sent either, wherever the handle's context came
// from, and what is asked of the handle before counts.
func TestExplainOfPreparedSessions(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.usable(t)
		report, err := readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
			p := tx.Session(&gorm.Session{PrepareStmt: true}).WithContext(nobody())
			require.NoError(t, p.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "p"}).Error }))
			_, err := p.Statement.ConnPool.ExecContext(nobody(), "DELETE FROM books_t")
			require.ErrorContains(t, err, "Explain")
			return p.Find(&[]author{})
		})
		require.NoError(t, err)
		require.Len(t, report.Statements, 2, "%v", report)
		require.Equal(t, policy.ReasonInTransaction, report.Statements[0].Reason)
		require.Equal(t, []string{"one"}, x.titles(t))

		for _, run := range []func(tx *gorm.DB) *gorm.DB{
			func(tx *gorm.DB) *gorm.DB {
				return tx.Clauses(dbresolver.Write).Session(&gorm.Session{PrepareStmt: true}).Find(&[]book{})
			},
			func(tx *gorm.DB) *gorm.DB {
				return tx.Session(&gorm.Session{PrepareStmt: true}).Clauses(dbresolver.Write).Find(&[]book{})
			},
		} {
			s := explained(t, nobody(), x.DB, run)[0]
			require.Equal(t, policy.ReasonFresh, s.Reason)
			require.Equal(t, policy.ReasonFresh, reason(t, run(x.WithContext(nobody()))), "as it is")
		}
		s := explained(t, nobody(), x.Clauses(dbresolver.Write), func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })[0]
		require.Equal(t, policy.ReasonFresh, s.Reason)
		// What GORM keeps for prepared sessions is not the explanation's.
		tx := x.WithContext(nobody()).Session(&gorm.Session{PrepareStmt: true}).Begin()
		_, err = tx.DB()
		require.NoError(t, err)
		require.NoError(t, tx.Find(&[]book{}).Error)
		require.NoError(t, tx.Rollback().Error)
		tx = x.WithContext(nobody()).Begin()
		_, err = tx.Session(&gorm.Session{PrepareStmt: true}).DB()
		require.NoError(t, err)
		require.NoError(t, tx.Rollback().Error)
	}, configured(longNews))
}

// panicking is a policy that panics while it is told to.
type panicking struct{ now *atomic.Bool }

func (panicking) Name() string { return "panicking" }

func (p panicking) Judge(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
	if p.now.Load() {
		panic("a policy")
	}
	return policy.ReasonNone
}

// A panic, of run or of a policy, passes through and leaves nothing behind.
func TestExplainPanics(t *testing.T) {
	var now atomic.Bool
	x := newTrap(t, configured(longNews), configured(func(c *readsplit.Config) { c.Policies = []policy.Policy{panicking{&now}} }))
	x.usable(t)
	find := func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }
	all := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
		now.Store(true)
		require.PanicsWithValue(t, "a policy", func() { find(tx) })
		require.PanicsWithValue(t, "a policy", func() { _, _ = tx.Statement.ConnPool.QueryContext(nobody(), "SELECT 1") })
		now.Store(false)
		return find(tx)
	})
	require.Equal(t, onReplicas, all[len(all)-1].Servers)
	var kept *gorm.DB
	require.PanicsWithValue(t, "run", func() {
		_, _ = readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { kept = tx; panic("run") })
	})
	require.ErrorContains(t, kept.Create(&book{Title: "lost"}).Error, "Explain")
	require.NoError(t, x.WithContext(nobody()).Create(&book{Title: "two"}).Error)
	require.Equal(t, []string{"one", "two"}, x.titles(t))
}

// An explanation within one does not move the other's transaction, nor the statement
// in whose hook it is asked for.
func TestExplainInside(t *testing.T) {
	x := newTrap(t, configured(longNews))
	x.usable(t)
	all := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
		ro := tx.Begin(&sql.TxOptions{ReadOnly: true})
		inner := explained(t, nobody(), ro, func(tx *gorm.DB) *gorm.DB { return tx.Exec("SET LOCAL work_mem = '1MB'") })
		require.Len(t, inner, 1)
		inner = explained(t, nobody(), ro, func(tx *gorm.DB) *gorm.DB { return tx.Exec("DELETE FROM books_t") })
		require.Len(t, inner, 1)
		ro = ro.Find(&[]book{})
		inner = explained(t, nobody(), ro, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]author{}) })
		require.Equal(t, onReplicas, inner[0].Servers, "%v", inner[0])
		return ro
	})
	require.Len(t, all, 1)
	require.Equal(t, onReplicas, all[0].Servers, "%v", all[0])

	var inHook []explain.Statement
	ctx := readsplit.WithSession(withHooks(hooks{"AfterFind": func(tx *gorm.DB) error {
		d, _ := readsplit.DecisionOf(tx)
		report, err := readsplit.Explain(readsplit.Fresh(nobody()), tx, func(tx *gorm.DB) *gorm.DB {
			rows, err := tx.Statement.ConnPool.QueryContext(readsplit.Fresh(nobody()), "SELECT 1")
			require.NoError(t, err)
			require.NoError(t, rows.Close())
			return tx
		})
		require.NoError(t, err)
		inHook = append(inHook, report.Statements...)
		after, _ := readsplit.DecisionOf(tx)
		require.Equal(t, d, after, "the statement under way")
		return nil
	}}), readsplit.NewSession())
	tx := x.WithContext(ctx).Find(&[]hookedBook{})
	require.NoError(t, tx.Error)
	require.Len(t, inHook, 1)
	d, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	require.True(t, isReplica(d.Server), "%+v", d)
}

// Goroutines of run, real reads and writes, and other explanations at the same time.
func TestExplainConcurrently(t *testing.T) {
	x := newTrap(t, configured(longNews))
	x.usable(t)
	shared := nobody()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				var inner sync.WaitGroup
				report, err := readsplit.Explain(shared, x.DB, func(tx *gorm.DB) *gorm.DB {
					for range 2 {
						inner.Go(func() {
							tx.Create(&book{Title: "lost"})
							tx.Preload("Books").Find(&[]author{})
						})
					}
					return tx.Find(&[]book{})
				})
				_ = report.String()
				inner.Wait()
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 10 {
				if err := x.WithContext(shared).Create(&book{Title: "real"}).Error; err != nil {
					t.Error(err)
				}
				if err := x.WithContext(shared).Find(&[]book{}).Error; err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Len(t, x.titles(t), 41)
}

type explainedTable struct{ ID int64 }

// Whatever GORM can do with a handle sends nothing.
func TestExplainOfEverything(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.usable(t)
		ann := author{ID: 1, Name: "Ann"}
		for name, run := range map[string]func(tx *gorm.DB) *gorm.DB{
			"save": func(tx *gorm.DB) *gorm.DB { return tx.Save(&book{ID: 1, Title: "lost"}) },
			"append": func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, tx.Model(&ann).Association("Books").Append(&book{Title: "lost"}))
				return tx
			},
			"replace": func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, tx.Model(&ann).Association("Books").Replace(&book{Title: "lost"}))
				return tx
			},
			"clear": func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, tx.Model(&ann).Association("Books").Clear())
				return tx
			},
			"count": func(tx *gorm.DB) *gorm.DB {
				require.Zero(t, tx.Model(&ann).Association("Books").Count())
				return tx
			},
			"batches": func(tx *gorm.DB) *gorm.DB {
				return tx.FindInBatches(&[]book{}, 1, func(tx *gorm.DB, _ int) error { return nil })
			},
			"generics": func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, gorm.G[book](tx).Create(nobody(), &book{Title: "lost"}))
				_, err := gorm.G[book](tx).Where("id = 1").Delete(nobody())
				require.NoError(t, err)
				return tx
			},
			"migrate": func(tx *gorm.DB) *gorm.DB {
				_ = tx.AutoMigrate(&explainedTable{})
				return tx
			},
			"conflict": func(tx *gorm.DB) *gorm.DB {
				return tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&book{ID: 1, Title: "lost"})
			},
			"nested": func(tx *gorm.DB) *gorm.DB {
				_ = tx.Transaction(func(tx *gorm.DB) error {
					tx.SavePoint("a").Create(&book{Title: "lost"}).RollbackTo("a")
					return tx.Transaction(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM books_t").Error })
				})
				return tx
			},
		} {
			report, err := readsplit.Explain(nobody(), x.DB, run)
			require.NoError(t, err, name)
			require.NotEmpty(t, report.Statements, name)
		}
		require.Equal(t, []string{"one"}, x.titles(t))
		require.False(t, x.Migrator().HasTable(&explainedTable{}))
	}, configured(longNews))
}

// Replicas that come and go while something is explained.
func TestExplainWhileReplicasChange(t *testing.T) {
	x := newTrap(t, configured(longNews))
	x.usable(t)
	third := x.replicas()[0]
	third.Name = "replica3"
	find := func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }
	explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
		find(tx)
		require.NoError(t, x.plugin.AddReplica("", third))
		eventually(t, "it to be there", func() bool {
			all := explained(t, nobody(), x.DB, find)
			return all[0].MayRunOn("replica3")
		})
		return find(tx)
	})
	done := make(chan struct{})
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := readsplit.Explain(nobody(), x.DB, find); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	defer close(done)
	for range 5 {
		require.NoError(t, x.plugin.RemoveReplica(limit(t), "replica3"))
		require.NoError(t, x.plugin.AddReplica("", third))
	}
}

// A plugin that is closed explains what it does then.
func TestExplainOfAClosedPlugin(t *testing.T) {
	x := newTrap(t)
	require.NoError(t, x.plugin.Close(limit(t)))
	foretold(t, nobody(), x.DB, onPrimary, policy.ReasonNoReplicas)
	ctx, cancel := context.WithCancel(nobody())
	cancel()
	require.Len(t, explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Create(&book{Title: "lost"}) }), 1)
	require.Equal(t, []string{"one"}, x.titles(t))
}
