package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/sqlclass"
)

// What Explain says is what happens, in every state that a session, an operator or
// the servers can be in.
func TestExplainForetells(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.usable(t)
		foretold(t, context.Background(), x.DB, onReplicas, policy.ReasonCaughtUp)
		foretold(t, nobody(), x.DB, onReplicas, policy.ReasonCaughtUp)
		foretold(t, readsplit.Fresh(nobody()), x.DB, onPrimary, policy.ReasonFresh)
		foretold(t, readsplit.Stale(nobody()), x.DB, onReplicas, policy.ReasonStale)
		foretold(t, readsplit.AnyReplica(nobody()), x.DB, onReplicas, policy.ReasonAnyReplica)

		t.Run("operators", func(t *testing.T) {
			defer func() { require.NoError(t, x.plugin.SetTraffic(policy.Traffic{})) }()
			require.NoError(t, x.plugin.SetTraffic(policy.Traffic{KillSwitch: true}))
			foretold(t, nobody(), x.DB, onPrimary, policy.ReasonKillSwitch)
			require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Percent: 50}))
			s := foretold(t, nobody(), x.DB, onWhichever, policy.ReasonCaughtUp)
			require.Contains(t, s.String(), "50 of 100 reads")
			require.NoError(t, x.plugin.SetTraffic(policy.Traffic{Shadow: true}))
			foretold(t, nobody(), x.DB, onPrimary, policy.ReasonShadow)
			require.Zero(t, x.plugin.Status().Shadow.Primary)
			require.EqualValues(t, 1, x.plugin.Status().Shadow.Replica, "the one that was run")
			require.NoError(t, x.plugin.SetTraffic(policy.Traffic{}))
			require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
			foretold(t, nobody(), x.DB, []string{"replica2"}, policy.ReasonCaughtUp)
			require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
			foretold(t, nobody(), x.DB, onPrimary, policy.ReasonDrained)
			require.NoError(t, x.plugin.Resume("replica1"))
			require.NoError(t, x.plugin.Resume("replica2"))
			eventually(t, "them to be back", func() bool { return isReplica(served(t, x.WithContext(nobody()))) })
		})
		t.Run("unknown group", func(t *testing.T) {
			ctx := readsplit.Group(nobody(), "gone")
			s := explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })
			require.ErrorIs(t, s[0].Err, readsplit.ErrUnknownGroup)
			require.Empty(t, s[0].Servers)
			require.ErrorIs(t, x.WithContext(ctx).Find(&[]book{}).Error, readsplit.ErrUnknownGroup)
		})
		t.Run("after a write", func(t *testing.T) {
			db, ctx := x.session()
			require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
			var s explain.Statement
			require.NotPanics(t, func() { s = explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })[0] })
			if len(s.Before) > 0 {
				require.Contains(t, s.Servers, "primary")
			}
			_, err := readsplit.SessionFrom(ctx).Token(limit(t)) // its position is known from here on
			require.NoError(t, err)
			require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
			eventually(t, "a replica to be known to have it", func() bool {
				s = explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })[0]
				return s.Replica() && len(s.Before) == 0
			})
			require.Equal(t, policy.ReasonCaughtUp, s.Reason)
			require.Contains(t, s.Session, "must see ")
			name := served(t, db)
			require.True(t, isReplica(name))
		})
		t.Run("replay paused", func(t *testing.T) {
			x.stale(t)
			db, ctx := x.session()
			require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
			_, err := readsplit.SessionFrom(ctx).Token(limit(t))
			require.NoError(t, err)
			eventually(t, "the pause to be known", func() bool {
				st := x.plugin.Status()
				return st.Replicas[0].Paused && st.Replicas[1].Paused
			})
			foretold(t, ctx, x.DB, onPrimary, policy.ReasonBehindSession)
			foretold(t, readsplit.AnyReplica(ctx), x.DB, onReplicas, policy.ReasonAnyReplica)
			foretold(t, nobody(), x.DB, onReplicas, policy.ReasonCaughtUp)
			text := explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })[0].String()
			require.Contains(t, text, "replay paused")
			require.Contains(t, text, policy.ReasonBehindSession.Sentence())
		})
	}, configured(longNews))
}

// Beyond MaxLag, and with both replicas gone.
func TestExplainOfReplicasThatAreBehind(t *testing.T) {
	x := newTrap(t, configured(longNews), configured(func(c *readsplit.Config) { c.MaxLag = 500 * time.Millisecond }))
	x.fallBehind(t)
	foretold(t, nobody(), x.DB, onPrimary, policy.ReasonLagging)
	foretold(t, readsplit.Stale(nobody()), x.DB, onReplicas, policy.ReasonStale)
}

func TestExplainOfReplicasThatAreDown(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(longNews))
	d.eligible(t, "replica1", "replica2")
	injected(t)(c.Replica(0).Kill(limit(t)))
	eventually(t, "it to be known", func() bool { return !d.plugin.Status().Replicas[0].Up })
	foretold(t, nobody(), d.DB, []string{"replica2"}, policy.ReasonCaughtUp)
	injected(t)(c.Replica(1).Kill(limit(t)))
	eventually(t, "it to be known", func() bool { return !d.plugin.Status().Replicas[1].Up })
	foretold(t, nobody(), d.DB, onPrimary, policy.ReasonDown)
}

// What a statement is, and what it belongs to, decides before any policy.
func TestExplainOfStatements(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.past(t, "CREATE FUNCTION touch() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 1'")
		x.past(t, "CREATE FUNCTION calm() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'")
		x.plugin.Status()
		require.NoError(t, x.Exec("COMMENT ON TABLE books_t IS 'known'").Error)
		require.NoError(t, x.Exec("CREATE OR REPLACE FUNCTION calm() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1'").Error)
		known(t, x.plugin)
		require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
		x.usable(t)
		one := book{ID: 1, Title: "one"}
		for name, c := range map[string]struct {
			run     func(tx *gorm.DB) *gorm.DB
			class   sqlclass.Class
			servers []string
			why     policy.Reason
			text    string
		}{
			"find":     {func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }, sqlclass.Read, onReplicas, policy.ReasonCaughtUp, "nothing writes or locks"},
			"first":    {func(tx *gorm.DB) *gorm.DB { return tx.First(&book{}, "title = ?", "secret") }, sqlclass.Read, onReplicas, policy.ReasonCaughtUp, "title = $1"},
			"count":    {func(tx *gorm.DB) *gorm.DB { var n int64; return tx.Model(&book{}).Count(&n) }, sqlclass.Read, onReplicas, policy.ReasonCaughtUp, "count(*)"},
			"pluck":    {func(tx *gorm.DB) *gorm.DB { return tx.Model(&book{}).Pluck("title", &[]string{}) }, sqlclass.Read, onReplicas, policy.ReasonCaughtUp, ""},
			"stable":   {func(tx *gorm.DB) *gorm.DB { return tx.Raw("SELECT calm()").Scan(new(int)) }, sqlclass.Read, onReplicas, policy.ReasonCaughtUp, "calls only functions that read"},
			"volatile": {func(tx *gorm.DB) *gorm.DB { return tx.Raw("SELECT touch()").Scan(new(int)) }, sqlclass.Unknown, onPrimary, policy.ReasonUnknownStatement, "it calls touch, which may write"},
			"locks": {func(tx *gorm.DB) *gorm.DB {
				return tx.Clauses(clause.Locking{Strength: "UPDATE"}).Table("books_t").Find(&[]book{})
			}, sqlclass.LockingRead, onPrimary, policy.ReasonLockingRead, "takes locks"},
			"create":    {func(tx *gorm.DB) *gorm.DB { return tx.Table("books_t").Create(&book{Title: "new"}) }, sqlclass.Write, onPrimary, policy.ReasonWrite, "INSERT INTO"},
			"update":    {func(tx *gorm.DB) *gorm.DB { return tx.Table("books_t").Where("id = 1").Update("title", "x") }, sqlclass.Write, onPrimary, policy.ReasonWrite, "UPDATE"},
			"delete":    {func(tx *gorm.DB) *gorm.DB { return tx.Table("books_t").Where("id = 1").Delete(&book{}) }, sqlclass.Write, onPrimary, policy.ReasonWrite, "DELETE"},
			"exec":      {func(tx *gorm.DB) *gorm.DB { return tx.Exec("DELETE FROM books_t") }, sqlclass.Write, onPrimary, policy.ReasonWrite, "DELETE"},
			"reload":    {func(tx *gorm.DB) *gorm.DB { b := one; return tx.First(&b) }, sqlclass.Read, onPrimary, policy.ReasonReadToWrite, ""},
			"clause":    {func(tx *gorm.DB) *gorm.DB { return tx.Clauses(dbresolver.Write).Find(&[]book{}) }, sqlclass.Read, onPrimary, policy.ReasonFresh, ""},
			"savepoint": {func(tx *gorm.DB) *gorm.DB { return tx.Exec("SAVEPOINT a") }, sqlclass.Unknown, onPrimary, policy.ReasonUnknownStatement, "cannot be shown to be a read"},
		} {
			all := explained(t, nobody(), x.DB, c.run)
			require.Len(t, all, 1, name)
			s := all[0]
			require.NoError(t, s.Err, name)
			require.Equal(t, c.class, s.Class, name)
			require.Equal(t, c.servers, s.Servers, "%s: %v", name, s)
			require.Equal(t, c.why, s.Reason, name)
			require.Contains(t, s.String(), c.text, name)
			require.Contains(t, s.String(), c.why.Sentence(), name)
			require.NotContains(t, s.String(), "secret", "no bind value")
		}
		require.Equal(t, []string{"one"}, x.titles(t), "nothing was written")
	}, configured(longNews))
}

// What code does with a handle beside its finishers.
func TestExplainOfPrograms(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.usable(t)
		where := func(all []explain.Statement) (servers [][]string, why []policy.Reason) {
			for _, s := range all {
				require.NoError(t, s.Err, "%v", s)
				servers, why = append(servers, s.Servers), append(why, s.Reason)
			}
			return servers, why
		}
		for name, c := range map[string]struct {
			run     func(tx *gorm.DB) *gorm.DB
			servers [][]string
			why     []policy.Reason
		}{
			"preload": {func(tx *gorm.DB) *gorm.DB { return tx.Preload("Books").Find(&[]author{}) },
				[][]string{onReplicas, onReplicas}, []policy.Reason{policy.ReasonCaughtUp, policy.ReasonCaughtUp}},
			"preload into a list that is in use": {func(tx *gorm.DB) *gorm.DB { return tx.Preload("Books").Find(&[]author{{ID: 1}}) },
				[][]string{onReplicas, onReplicas}, []policy.Reason{policy.ReasonCaughtUp, policy.ReasonCaughtUp}},
			"preload of a row that is in use": {func(tx *gorm.DB) *gorm.DB { return tx.Preload("Books").Find(&author{ID: 1}) },
				[][]string{onReplicas, onReplicas}, []policy.Reason{policy.ReasonCaughtUp, policy.ReasonCaughtUp}},
			"preload of a fresh read": {func(tx *gorm.DB) *gorm.DB {
				return tx.WithContext(readsplit.Fresh(nobody())).Preload(clause.Associations).Find(&[]author{})
			},
				[][]string{onPrimary, onPrimary}, []policy.Reason{policy.ReasonFresh, policy.ReasonParent}},
			"first or create": {func(tx *gorm.DB) *gorm.DB { return tx.Where(book{Title: "gone"}).FirstOrCreate(&book{}) },
				[][]string{onPrimary, onPrimary}, []policy.Reason{policy.ReasonReadToWrite, policy.ReasonWrite}},
			"associations": {func(tx *gorm.DB) *gorm.DB { return tx.Create(&author{Name: "Bob", Books: []book{{Title: "b"}}}) },
				[][]string{onPrimary, onPrimary}, []policy.Reason{policy.ReasonWrite, policy.ReasonWrite}},
			"batches": {func(tx *gorm.DB) *gorm.DB {
				tx.SkipDefaultTransaction = false
				return tx.CreateInBatches([]book{{Title: "a"}, {Title: "b"}}, 1)
			}, [][]string{onPrimary, onPrimary}, []policy.Reason{policy.ReasonInTransaction, policy.ReasonInTransaction}},
			"row": {func(tx *gorm.DB) *gorm.DB {
				var n int
				require.ErrorIs(t, tx.Raw("SELECT 1").Row().Scan(&n), sql.ErrNoRows)
				return tx
			}, [][]string{onReplicas}, []policy.Reason{policy.ReasonCaughtUp}},
			"rows": {func(tx *gorm.DB) *gorm.DB {
				rows, err := tx.Model(&book{}).Rows()
				require.NoError(t, err)
				require.False(t, rows.Next())
				require.NoError(t, rows.Close())
				return tx
			}, [][]string{onReplicas}, []policy.Reason{policy.ReasonCaughtUp}},
			"transaction": {func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, tx.Transaction(func(tx *gorm.DB) error {
					require.NoError(t, tx.Find(&[]book{}).Error)
					return tx.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "t"}).Error })
				}))
				return tx
			}, [][]string{onPrimary, onPrimary, onPrimary}, []policy.Reason{policy.ReasonInTransaction, policy.ReasonInTransaction, policy.ReasonInTransaction}},
			"read-only transaction": {func(tx *gorm.DB) *gorm.DB {
				ro := tx.Begin(&sql.TxOptions{ReadOnly: true})
				require.NoError(t, ro.Find(&[]book{}).Error)
				require.NoError(t, ro.Find(&[]author{}).Error)
				return ro.Commit()
			}, [][]string{onReplicas, onReplicas}, []policy.Reason{policy.ReasonCaughtUp, policy.ReasonCaughtUp}},
			"prepared": {func(tx *gorm.DB) *gorm.DB {
				tx = tx.Session(&gorm.Session{PrepareStmt: true})
				require.NoError(t, tx.Transaction(func(tx *gorm.DB) error { return tx.Find(&[]book{}).Error }))
				return tx.Find(&[]book{})
			}, [][]string{onPrimary, onReplicas}, []policy.Reason{policy.ReasonInTransaction, policy.ReasonCaughtUp}},
			"new sessions": {func(tx *gorm.DB) *gorm.DB {
				tx = tx.Session(&gorm.Session{NewDB: true}).WithContext(readsplit.Stale(nobody()))
				return tx.Find(&[]book{})
			}, [][]string{onReplicas}, []policy.Reason{policy.ReasonStale}},
			"migrator": {func(tx *gorm.DB) *gorm.DB { tx.Migrator().HasTable("books_t"); return tx },
				[][]string{onPrimary}, []policy.Reason{policy.ReasonPinned}},
			"the pool itself": {func(tx *gorm.DB) *gorm.DB {
				_, err := tx.Statement.ConnPool.ExecContext(nobody(), "DELETE FROM books_t")
				require.NoError(t, err)
				return tx
			}, [][]string{onPrimary}, []policy.Reason{policy.ReasonWrite}},
		} {
			report, err := readsplit.Explain(nobody(), x.DB, c.run)
			require.NoError(t, err, name)
			servers, why := where(report.Statements)
			require.Equal(t, c.why, why, "%s:\n%v", name, report)
			require.Equal(t, c.servers, servers, "%s:\n%v", name, report)
		}
		require.Equal(t, []string{"one"}, x.titles(t), "nothing was written")

		t.Run("a read after a write", func(t *testing.T) {
			db, ctx := x.session()
			all := explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB {
				require.NoError(t, tx.Table("books_t").Create(&book{Title: "new"}).Error)
				return tx.Find(&[]book{})
			})
			require.Len(t, all, 2)
			require.Contains(t, all[1].Servers, "primary")
			require.Contains(t, all[1].Before[0], "would ask the primary for the position")
			foretold(t, ctx, db, onReplicas, policy.ReasonCaughtUp) // the session itself has written nothing
		})
		t.Run("a connection of its own", func(t *testing.T) {
			report, err := readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
				require.Error(t, tx.Connection(func(tx *gorm.DB) error { return tx.Find(&[]book{}).Error }))
				return tx
			})
			require.NoError(t, err)
			require.Empty(t, report.Statements)
			require.Contains(t, report.String(), "is not explained")
		})
	}, configured(longNews))
}

// Handles that hold something: a transaction, a hook of a write.
func TestExplainOfHandles(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.usable(t)
		find := func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }
		ctx := nobody()
		tx := x.WithContext(ctx).Begin()
		require.NoError(t, tx.Error)
		foretold(t, ctx, tx, onPrimary, policy.ReasonInTransaction)
		require.Equal(t, policy.ReasonInTransaction, explained(t, ctx, tx, func(tx *gorm.DB) *gorm.DB {
			require.NoError(t, tx.Transaction(func(tx *gorm.DB) error { return tx.Exec("DELETE FROM books_t").Error }))
			return tx
		})[1].Reason)
		require.NoError(t, tx.Commit().Error)
		require.Equal(t, []string{"one"}, x.titles(t))

		ro := x.WithContext(ctx).Begin(&sql.TxOptions{ReadOnly: true})
		require.NoError(t, ro.Error)
		require.True(t, explained(t, ctx, ro, find)[0].Replica())
		server := served(t, ro)
		onReplica(t, server)
		require.Equal(t, []string{server}, explained(t, ctx, ro, find)[0].Servers)
		write := explained(t, ctx, ro, func(tx *gorm.DB) *gorm.DB { return tx.Exec("DELETE FROM books_t") })[0]
		require.ErrorIs(t, write.Err, readsplit.ErrWriteInReadOnlyTransaction)
		require.Equal(t, server, served(t, ro), "the transaction is where it was")
		require.NoError(t, ro.Rollback().Error)

		var inHook []explain.Statement
		hooked := withHooks(hooks{"AfterSave": func(tx *gorm.DB) error {
			inHook = explained(t, tx.Statement.Context, tx, find)
			return nil
		}})
		require.NoError(t, x.WithContext(hooked).Create(&hookedBook{Title: "hooked"}).Error)
		require.Len(t, inHook, 1)
		require.Equal(t, onPrimary, inHook[0].Servers)

		report, err := readsplit.Explain(hooked, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Create(&hookedBook{Title: "hooked"}) })
		require.NoError(t, err)
		require.Len(t, report.Statements, 1)
		require.Equal(t, []string{"hooks are not called: BeforeSave, AfterCreate, AfterSave of hookedBook"}, report.Notes)
		require.Len(t, inHook, 1)
	}, configured(longNews))
}

// A table with replicas of its own, reached by its name, by Use and as a preload.
func TestExplainOfResolvers(t *testing.T) {
	x := newTrap(t, configured(longNews), configured(func(c *readsplit.Config) {
		second := c.Replicas[1]
		second.Dialector = postgres.Open(second.Dialector.(*postgres.Dialector).DSN)
		c.Resolvers = []readsplit.Resolver{{Name: "people", Tables: []any{"authors"}, Replicas: []readsplit.Replica{second}}}
	}))
	x.usable(t)
	only := []string{"replica2"}
	eventually(t, "what was written before to be known to be there, in the resolver too", func() bool {
		all := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Preload("Books").Find(&[]author{}) })
		return len(all) == 2 && len(all[0].Before) == 0 && len(all[0].Servers) == 1 && all[0].Replica() && len(all[1].Servers) == 2
	})
	all := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Preload("Books").Find(&[]author{}) })
	require.Len(t, all, 2)
	require.Equal(t, []string{"people", ""}, []string{all[0].Resolver, all[1].Resolver})
	require.Equal(t, only, all[0].Servers)
	require.Equal(t, onReplicas, all[1].Servers, "of another resolver, on whichever")
	require.Contains(t, all[0].String(), "people")
	var list []author
	require.NoError(t, x.WithContext(nobody()).Preload("Books").Find(&list).Error)
	require.Equal(t, "replica2", list[0].Server)

	all = explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Clauses(dbresolver.Use("people")).Find(&[]book{}) })
	require.Equal(t, only, all[0].Servers)
	all = explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Clauses(dbresolver.Use("gone")).Find(&[]book{}) })
	require.Len(t, all, 1)
	require.ErrorIs(t, all[0].Err, readsplit.ErrUnknownGroup)
}

// Reads that fall back take places of the budget, and beyond it are what Beyond says.
func TestExplainOfABudget(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.ServeStale}, configured(longNews), configured(func(c *readsplit.Config) { c.MaxLag = 500 * time.Millisecond }))
	who := func(tx *gorm.DB) *gorm.DB { return tx.Raw(whoSQL).Scan(new(string)) }
	s := explained(t, nobody(), x.DB, who)[0]
	require.Equal(t, onPrimary, s.Servers)
	require.Equal(t, policy.ReasonLagging, s.Reason)
	require.Equal(t, []string{"would take one of the 1 places for such reads on the primary, of which 0 are taken and 0 reads wait for one"}, s.Before)
	require.Zero(t, x.budget().InUse)
	x.full(t)
	s = explained(t, nobody(), x.DB, who)[0]
	require.Equal(t, onReplicas, s.Servers)
	require.Equal(t, policy.ReasonServedStale, s.Reason)
	require.Zero(t, x.budget().ServedStale)
	tx := who(x.WithContext(nobody()))
	require.NoError(t, tx.Error)
	require.Equal(t, policy.ReasonServedStale, reason(t, tx))
	s = explained(t, readsplit.AtMost(nobody(), 400*time.Millisecond), x.DB, who)[0]
	require.NotEqual(t, policy.ReasonServedStale, s.Reason)
}

// Errors have the words of the reason that led to them.
func TestErrorsSayTheirReason(t *testing.T) {
	x := newOverloaded(t, overload.Budget{Reads: 1, Beyond: overload.Fail})
	x.full(t)
	err := x.WithContext(nobody()).Find(&[]book{}).Error
	require.ErrorIs(t, err, overload.ErrPrimaryBusy)
	require.ErrorContains(t, err, "(lagging: the replica may be further behind than the bound on lag)")
	var busy *overload.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, 1, busy.Reads)
}

// A token that came, and what a session's reads have shown, are weighed as by a read,
// and by each explanation anew.
func TestExplainOfWhatASessionHasLearned(t *testing.T) {
	x := newTrap(t, configured(longNews))
	x.usable(t)
	ctx := nobody()
	s := readsplit.SessionFrom(ctx)
	s.Join("forged")
	before := x.plugin.Status()
	for range 3 {
		got := explained(t, ctx, x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })[0]
		require.Equal(t, onPrimary, got.Servers)
		require.Equal(t, policy.ReasonUnsure, got.Reason)
		require.Equal(t, policy.ReasonUnsure.Sentence(), got.Session)
	}
	require.Equal(t, before.Tokens, x.plugin.Status().Tokens)
	require.Equal(t, before.Unsure, x.plugin.Status().Unsure)
	foretold(t, ctx, x.DB, onPrimary, policy.ReasonUnsure)

	ctx = nobody()
	readsplit.SessionFrom(ctx).SetGuarantee(session.MonotonicReads)
	shown := served(t, x.WithContext(ctx))
	onReplica(t, shown)
	foretold(t, ctx, x.DB, []string{shown}, policy.ReasonCaughtUp)

	ctx = nobody()
	readsplit.SessionFrom(ctx).KeepServer()
	held := served(t, x.WithContext(ctx))
	foretold(t, ctx, x.DB, []string{held}, policy.ReasonCaughtUp)
}

// A read session is told what the guard would say, in the words of reasons.
func TestExplainOfRefusals(t *testing.T) {
	x := newTrap(t)
	ctx := readsplit.ReadOnly(nobody())
	for why, run := range map[policy.Reason]func(tx *gorm.DB) *gorm.DB{
		policy.ReasonWrite:            func(tx *gorm.DB) *gorm.DB { return tx.Create(&book{Title: "x"}) },
		policy.ReasonLockingRead:      func(tx *gorm.DB) *gorm.DB { return tx.Raw("SELECT 1 FROM books_t FOR UPDATE").Scan(new(int)) },
		policy.ReasonUnknownStatement: func(tx *gorm.DB) *gorm.DB { return tx.Exec("CALL nothing()") },
	} {
		s := explained(t, ctx, x.DB, run)[0]
		require.ErrorIs(t, s.Err, readonlyguard.ErrReadOnly)
		require.Empty(t, s.Servers)
		sentence := why.Sentence()
		require.Contains(t, s.Err.Error(), ": it "+sentence[len("The statement "):len(sentence)-1], "the guard and the reason say the same")
	}
	_, err := readsplit.Explain(ctx, &gorm.DB{Config: &gorm.Config{}}, func(tx *gorm.DB) *gorm.DB { return tx })
	require.ErrorContains(t, err, "call db.Use(readsplit.New(...)) first")
	_, err = readsplit.Explain(ctx, x.DB, nil)
	require.ErrorContains(t, err, "one of them is nil")
	all := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Delete(&book{}) })
	require.Len(t, all, 1)
	require.ErrorIs(t, all[0].Err, gorm.ErrMissingWhereClause)
	report, err := readsplit.Explain(nobody(), x.DB, func(tx *gorm.DB) *gorm.DB {
		_ = tx.Find(&[]book{}).AddError(sql.ErrConnDone)
		tx.Error = sql.ErrTxDone
		return tx
	})
	require.ErrorIs(t, err, sql.ErrTxDone)
	require.Len(t, report.Statements, 1)
}
