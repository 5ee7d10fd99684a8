package readsplit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// Writes that are easily lost on the way to their session. In each case replay is
// paused, so that a read which goes to a replica misses the write.

// visits counts the rows of the table visits, as a session sees them.
func visits(t testing.TB, db *gorm.DB) (n int) {
	t.Helper()
	require.NoError(t, db.Raw("SELECT count(*) FROM visits").Scan(&n).Error)
	return n
}

func visited(t *testing.T) *testDB {
	d := newDB(t, breakable(t), saidToRead("visit"))
	require.NoError(t, d.Exec("CREATE TABLE visits (n int)").Error)
	require.NoError(t, d.cluster.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	return d
}

// A read that a replica refuses as a write only after its first rows has run on
// the primary, and has written there.
func TestWriteRefusedInMidRow(t *testing.T) {
	d := visited(t)
	require.NoError(t, d.Exec("CREATE FUNCTION visit(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN IF i = 2 THEN INSERT INTO visits VALUES (i); END IF; RETURN i; END $$").Error)
	require.NoError(t, d.Exec("CREATE VIEW counted AS SELECT i, visit(i) AS seen FROM generate_series(1, 3) i").Error)
	known(t, d.plugin)
	require.NoError(t, d.cluster.WaitCaughtUp(t.Context()))
	ctx := nobody()
	eventually(t, "replicas to serve", func() bool { return served(t, d.WithContext(ctx)) != "primary" })
	defer still(t, d.cluster)()
	var rows []struct{ I, Seen int }
	tx := d.WithContext(ctx).Table("counted").Find(&rows)
	require.NoError(t, tx.Error)
	require.Len(t, rows, 3)
	decision, _ := readsplit.DecisionOf(tx)
	require.Equal(t, policy.ReasonRefusedByReplica, decision.Reason)
	require.Equal(t, 1, visits(t, d.WithContext(ctx)))
}

// A handle whose plugin was closed still writes: requests in flight while an
// application reloads its configuration.
func TestWriteThroughAClosedPlugin(t *testing.T) {
	d := visited(t)
	old := newDB(t, d.cluster, inDatabase(d.name))
	require.NoError(t, old.plugin.Close(t.Context()))
	ctx := nobody()
	defer still(t, d.cluster)()
	require.NoError(t, old.WithContext(ctx).Exec("INSERT INTO visits VALUES (1)").Error)
	require.Equal(t, 1, visits(t, d.WithContext(ctx)))
	require.Equal(t, 1, visits(t, d.DB), "the process")
}

// And what is committed out of its sight: when rows are closed, by the *sql.Tx.
func TestWriteThroughAClosedPluginThatEndsUnseen(t *testing.T) {
	const insert = "INSERT INTO visits VALUES (1)"
	handedOut := func(t *testing.T, db *gorm.DB) func() error {
		tx := db.Begin()
		require.NoError(t, tx.Exec(insert).Error)
		raw, ok := readsplit.SQLTx(tx)
		require.True(t, ok)
		return raw.Commit
	}
	rows := func(t *testing.T, db *gorm.DB) func() error {
		rows, err := db.Raw(insert + " RETURNING n").Rows()
		require.NoError(t, err)
		return rows.Close
	}
	for name, begin := range map[string]func(*testing.T, *gorm.DB) func() error{"rows": rows, "a transaction": handedOut} {
		for _, closedFirst := range []bool{true, false} {
			for who, ctx := range map[string]context.Context{"a session": nobody(), "the process": t.Context()} {
				t.Run(fmt.Sprintf("%s of %s, closed first %v", name, who, closedFirst), func(t *testing.T) {
					d := visited(t)
					old := newDB(t, d.cluster, inDatabase(d.name))
					replicasServe(t, d.WithContext(ctx))
					defer still(t, d.cluster)()
					var end func() error
					if !closedFirst {
						end = begin(t, old.WithContext(ctx))
					}
					require.NoError(t, old.plugin.Close(t.Context()))
					if closedFirst {
						end = begin(t, old.WithContext(ctx))
					}
					visits(t, d.WithContext(ctx)) // somebody looks while it is under way
					require.NoError(t, end())
					require.Equal(t, 1, visits(t, d.WithContext(ctx)))
					require.Equal(t, 1, visits(t, d.DB), "the process")
				})
			}
		}
	}
}

// What a session wrote through another plugin before this one was in use.
func TestWriteBeforeUse(t *testing.T) {
	first := visited(t)
	ctx := nobody()
	defer still(t, first.cluster)()
	require.NoError(t, first.WithContext(ctx).Exec("INSERT INTO visits VALUES (1)").Error)
	second := newDB(t, first.cluster, inDatabase(first.name), configured(boundless))
	require.Equal(t, 1, visits(t, second.WithContext(readsplit.Stale(ctx))), "a session's own write, however stale")
	require.Equal(t, 1, visits(t, second.WithContext(ctx)))
	require.Equal(t, 1, visits(t, second.DB))
}

// A restart of the primary makes an old position of the process incomparable, but
// not the write undone: also where no bound on staleness would show it.
func TestWriteFromBeforeARestart(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(boundless), configured(func(c *readsplit.Config) { c.StickyWindow = time.Second }))
	require.NoError(t, d.Exec("CREATE TABLE visits (n int)").Error)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	d.eligible(t, "replica1", "replica2")
	defer still(t, c)()
	require.NoError(t, d.Exec("INSERT INTO visits VALUES (1)").Error)
	wrote := time.Now()
	require.Equal(t, 1, visits(t, d.DB))
	eventually(t, "the window to pass", func() bool { return time.Since(wrote) > 1500*time.Millisecond })
	history := d.plugin.Status().Primary.Position.History
	undone(t, injected(t)(c.Primary().Kill(t.Context())))
	eventually(t, "the new run to be known", func() bool {
		st := d.plugin.Status()
		return st.Primary.Up && st.Primary.Position.History != history && !st.Replicas[0].Position.Zero()
	})
	for range 20 {
		require.Equal(t, 1, visits(t, d.DB))
		require.Equal(t, 1, visits(t, d.WithContext(nobody())), "written without a session: for everybody")
	}
	// And when the new run is lost in turn, an error is better than an older state.
	undo := injected(t)(c.Primary().Kill(t.Context()))
	eventually(t, "the primary to be given up", func() bool { return !d.plugin.Status().Primary.Up })
	for _, ctx := range []context.Context{context.Background(), nobody()} {
		require.Error(t, d.WithContext(ctx).Raw("SELECT count(*) FROM visits").Scan(new(int)).Error)
	}
	undone(t, undo)
}

// The transaction that SQLTx gives away can be committed without its handle.
func TestWriteCommittedByTheSQLTx(t *testing.T) {
	for name, end := range map[string]func(tx *gorm.DB) error{
		"and by the handle": func(tx *gorm.DB) error { return tx.Commit().Error },
		"alone":             func(*gorm.DB) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			d := visited(t)
			ctx := nobody()
			defer still(t, d.cluster)()
			tx := d.WithContext(ctx).Begin()
			require.NoError(t, tx.Exec("INSERT INTO visits VALUES (1)").Error)
			raw, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			_, err := readsplit.SessionFrom(ctx).Token(ctx)
			require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)
			require.NoError(t, raw.Commit())
			_ = end(tx)
			require.Equal(t, 1, visits(t, d.WithContext(ctx)))
			_, err = readsplit.SessionFrom(ctx).Token(ctx)
			require.NoError(t, err, "the transaction is over")
		})
	}
}

// One bad token must not keep a user on the primary who comes again and again,
// each time with the token of the time before.
func TestDoubtDoesNotOutliveItself(t *testing.T) {
	const window = time.Second
	d := newDB(t, cluster(t), configured(func(c *readsplit.Config) {
		c.MaxLag, c.MaxSampleAge, c.StickyWindow = 400*time.Millisecond, 400*time.Millisecond, window
	}))
	ctx := nobody()
	require.NoError(t, d.WithContext(ctx).Exec("CREATE TABLE visits (n int)").Error)
	own, err := readsplit.Config{}.ParseToken(tokenOf(t, ctx))
	require.NoError(t, err)
	for name, token := range map[string]string{
		"rubbish": "rubbish",
		// A cluster that was replaced by another: each token carries the position on.
		"of a cluster that is gone": encoded(t, own, func(t *readsplit.Token) { t.Positions[0].System++ }),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			var last policy.Reason
			eventually(t, "the doubt to end", func() bool {
				s := readsplit.NewSession()
				s.Join(token)
				ctx := readsplit.WithSession(t.Context(), s)
				tx := d.WithContext(ctx).Raw("SELECT 1").Scan(new(int))
				require.NoError(t, tx.Error)
				decision, _ := readsplit.DecisionOf(tx)
				last = decision.Reason
				var err error
				token, err = s.Token(t.Context())
				require.NoError(t, err)
				if time.Since(began) < window-200*time.Millisecond {
					require.Equal(t, policy.ReasonUnsure, last, "within the window")
				}
				return decision.Replica
			})
			require.Less(t, time.Since(began), 30*window)
		})
	}
}

// A process that knows one database hands on the positions of the others.
func TestTokenKeepsWhatOthersKnow(t *testing.T) {
	c := cluster(t)
	d := newDB(t, c)
	ctx := nobody()
	require.NoError(t, d.WithContext(ctx).Exec("CREATE TABLE visits (n int)").Error)
	both, err := readsplit.Config{}.ParseToken(tokenOf(t, ctx))
	require.NoError(t, err)
	elsewhere := both.Positions[0]
	elsewhere.System++
	both.Positions = append(both.Positions, elsewhere)
	s := readsplit.NewSession()
	var unsigned session.Keys
	text, err := unsigned.Encode(both)
	require.NoError(t, err)
	s.Join(text)
	next, err := s.Token(t.Context())
	require.NoError(t, err)
	out, err := readsplit.Config{}.ParseToken(next)
	require.NoError(t, err)
	assert.ElementsMatch(t, both.Positions, out.Positions)
}

// AtMost only ever tightens.
func TestAtMostTightens(t *testing.T) {
	d := newDB(t, cluster(t))
	ctx := nobody()
	eventually(t, "replicas to serve", func() bool { return served(t, d.WithContext(ctx)) != "primary" })
	why := func(ctx context.Context) policy.Reason {
		tx := d.WithContext(ctx).Raw("SELECT 1").Scan(new(int))
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		return decision.Reason
	}
	assert.Equal(t, policy.ReasonFresh, why(readsplit.AtMost(readsplit.Fresh(ctx), time.Minute)))
	assert.Equal(t, policy.ReasonStale, why(readsplit.Stale(readsplit.AtMost(ctx, time.Millisecond))))
}

// A plugin over another kind of database costs a token nothing.
func TestTokenBesideAnotherDialect(t *testing.T) {
	d := visited(t)
	other, err := gorm.Open(dummy{}, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
	require.NoError(t, err)
	p := readsplit.New(readsplit.Config{})
	require.NoError(t, other.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	ctx := nobody()
	require.NoError(t, d.WithContext(ctx).Exec("INSERT INTO visits VALUES (1)").Error)
	token, err := readsplit.Config{}.ParseToken(tokenOf(t, ctx))
	require.NoError(t, err)
	assert.True(t, token.Unsure.IsZero())
	assert.Len(t, token.Positions, 1)
}

// dummy is a dialector of a database that the plugin does not know.
type dummy struct{ postgres.Dialector }

func (dummy) Name() string { return "dummy" }

func (dummy) Initialize(db *gorm.DB) error {
	return postgres.New(postgres.Config{Conn: db.ConnPool, DSN: "host=127.0.0.1"}).Initialize(db)
}
