package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

func causal(c *readsplit.Config) { c.Guarantee = session.Causal }

func (f fieldTest) guarantee(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Guarantee = session.MonotonicReads })
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Len(t, servers(t, changed, nobody(), 40), 1, "a session stays where it is")
}

func (f fieldTest) tokenLifetime(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.TokenLifetime = time.Hour })
	for d, want := range map[*testDB]time.Duration{base: 306 * time.Second, changed: time.Hour} {
		s := readsplit.NewSession()
		ctx := readsplit.WithSession(t.Context(), s)
		// A process has several plugins here, and a session's token lives as long as the
		// longest wants: these have none but d's.
		require.NoError(t, d.WithContext(ctx).Raw(whoSQL).Scan(new(string)).Error)
		s.Doubt()
		token, err := s.Export(ctx)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, token.Expires.Sub(token.Issued), want)
	}
}

// levels are what a session can ask for.
var levels = []session.Guarantee{session.ReadYourWrites, session.MonotonicReads, session.Causal}

// at returns a handle whose session has a level of its own.
func (x *trap) at(g session.Guarantee) (*gorm.DB, *readsplit.Session) {
	s := readsplit.NewSession()
	s.SetGuarantee(g)
	return x.WithContext(readsplit.WithSession(context.Background(), s)), s
}

// seesFresh counts the books on the primary, for the session of a handle.
func seesFresh(t testing.TB, db *gorm.DB) int {
	t.Helper()
	return seesBooks(t, db.WithContext(readsplit.Fresh(db.Statement.Context)))
}

// What each level binds, one by one: the same steps at each, on replicas that stand
// still and lack the book "two".
func TestGuaranteeLevels(t *testing.T) {
	x := newTrap(t, configured(steady))
	x.past(t, "CREATE UNIQUE INDEX ON books_t (title)")
	x.stale(t)
	readCommitted := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelReadCommitted}
	repeatable := &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}
	none, read, all := []int{1, 1, 1}, []int{1, 2, 2}, []int{1, 1, 2}
	tests := map[string]struct {
		see  func(t *testing.T, db *gorm.DB)
		want []int // books that a later read sees, by level
	}{
		"nothing":             {func(*testing.T, *gorm.DB) {}, none},
		"a read on a replica": {func(t *testing.T, db *gorm.DB) { require.Equal(t, 1, seesBooks(t, db)) }, none},
		"a read on the primary": {func(t *testing.T, db *gorm.DB) {
			require.Equal(t, 2, seesFresh(t, db))
		}, read},
		"a transaction that was rolled back": {func(t *testing.T, db *gorm.DB) {
			tx := db.Begin()
			require.Equal(t, 2, seesBooks(t, tx))
			require.NoError(t, tx.Rollback().Error)
		}, read},
		"a transaction that is still open": {func(t *testing.T, db *gorm.DB) {
			tx := db.Begin()
			require.Equal(t, 2, seesBooks(t, tx))
			t.Cleanup(func() { require.NoError(t, tx.Rollback().Error) })
		}, read},
		"a write that failed: there is such a book": {func(t *testing.T, db *gorm.DB) {
			require.ErrorContains(t, db.Exec("INSERT INTO books_t (title) VALUES ('two')").Error, "23505")
		}, all},
		"a write that failed, and returns rows": {func(t *testing.T, db *gorm.DB) {
			var id int
			require.ErrorContains(t, db.Raw("INSERT INTO books_t (title) VALUES ('two') RETURNING id").Scan(&id).Error, "23505")
		}, all},
		"a read on the primary that failed": {func(t *testing.T, db *gorm.DB) {
			err := db.WithContext(readsplit.Fresh(db.Statement.Context)).Raw("SELECT 1/(count(*)-2) FROM books_t").Scan(new(int)).Error
			require.ErrorContains(t, err, "22012")
		}, all},
		"a failed write inside a transaction": {func(t *testing.T, db *gorm.DB) {
			err := db.Transaction(func(tx *gorm.DB) error {
				return tx.Exec("INSERT INTO books_t (title) VALUES ('two')").Error
			})
			require.ErrorContains(t, err, "23505")
		}, read},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			for i, g := range levels {
				db, s := x.at(g)
				c.see(t, db)
				assert.Equal(t, c.want[i], seesBooks(t, db), "%s: its own reads", g)
				assert.Equal(t, c.want[i], seesBooks(t, db.WithContext(readsplit.Stale(db.Statement.Context))), "%s: Stale lifts MaxLag", g)
				assert.Equal(t, 1, seesBooks(t, db.WithContext(readsplit.AnyReplica(db.Statement.Context))), "%s: AnyReplica lifts it", g)
				if s.InTransaction() {
					continue // no token
				}
				text := tokenOf(t, db.Statement.Context)
				heir := joined(text)
				got := seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), heir)))
				if g > session.ReadYourWrites {
					// What a replica shows is in the primary: its position then is safe to say.
					assert.GreaterOrEqual(t, got, c.want[i], "%s: whoever joins its token", g)
				} else {
					assert.Equal(t, c.want[i], got, "%s: whoever joins its token", g)
				}
				if text != "" {
					// And whoever joins theirs, at whatever level they are.
					next := joined(tokenOf(t, readsplit.WithSession(t.Context(), heir)))
					assert.GreaterOrEqual(t, seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), next))), c.want[i], "%s: and so on", g)
				}
			}
		})
	}

	// Inside a read-only transaction, when its session sees more elsewhere meanwhile: at
	// READ COMMITTED the next statement is held to it; a snapshot stays what it is.
	for _, g := range levels {
		for name, c := range map[string]struct {
			opts *sql.TxOptions
			want map[session.Guarantee]int
		}{
			"read committed":  {readCommitted, map[session.Guarantee]int{session.ReadYourWrites: 1, session.MonotonicReads: 2, session.Causal: 2}},
			"repeatable read": {repeatable, map[session.Guarantee]int{session.ReadYourWrites: 1, session.MonotonicReads: 1, session.Causal: 1}},
		} {
			t.Run(g.String()+" inside of "+name, func(t *testing.T) {
				db, _ := x.at(g)
				tx := db.Begin(c.opts)
				require.NoError(t, tx.Error)
				require.Equal(t, 1, seesBooks(t, tx))
				require.Equal(t, 2, seesFresh(t, db))
				assert.Equal(t, c.want[g], seesBooks(t, tx))
				require.NoError(t, tx.Commit().Error)
			})
		}
	}
	t.Run("a transaction begins where its session has been", func(t *testing.T) {
		for i, g := range levels {
			db, _ := x.at(g)
			require.Equal(t, 2, seesFresh(t, db))
			tx := db.Begin(repeatable)
			assert.Equal(t, read[i], seesBooks(t, tx), g.String())
			require.NoError(t, tx.Commit().Error)
		}
	})
	t.Run("a level that is not known asks for the most", func(t *testing.T) {
		db, _ := x.at(session.Guarantee(77))
		require.Error(t, db.Exec("INSERT INTO books_t (title) VALUES ('two')").Error)
		assert.Equal(t, 2, seesBooks(t, db))
	})
}

// A session can ask for less than the configuration, too.
func TestSessionAsksForLess(t *testing.T) {
	x := newTrap(t, configured(causal))
	x.stale(t)
	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	require.Equal(t, 2, seesFresh(t, db))
	require.Equal(t, 2, seesBooks(t, db))
	s.SetGuarantee(session.ReadYourWrites)
	assert.Equal(t, 1, seesBooks(t, db))
	s.SetGuarantee(session.Causal)
	assert.Equal(t, 2, seesBooks(t, db))
}

// A process without replicas of its own has nothing to go back to; whoever gets its
// tokens has.
func TestReadsOfAProcessWithoutReplicasTravel(t *testing.T) {
	x := newTrap(t, configured(steady))
	x.stale(t)
	for i, g := range levels {
		alone := openWithout(t, x, g)
		ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
		require.Equal(t, 2, seesBooks(t, alone.WithContext(ctx)))
		heir := joined(tokenOf(t, ctx))
		assert.Equal(t, []int{1, 2, 2}[i], seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), heir))), g.String())
	}
}

// openWithout opens the trap's schema with a plugin that has no replicas.
func openWithout(t *testing.T, x *trap, g session.Guarantee) *gorm.DB {
	t.Helper()
	db := openGORM(t, x, false)
	p := readsplit.New(readsplit.Config{Guarantee: g})
	require.NoError(t, db.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(limit(t))) })
	return db
}

// The reads of a request stay where the first one was, and see what their session
// writes all the same.
func TestKeepServer(t *testing.T) {
	x := newTrap(t, configured(steady))
	by := map[string]bool{}
	for range 20 {
		db, ctx := x.session()
		readsplit.SessionFrom(ctx).KeepServer()
		first := served(t, db)
		by[first] = true
		for range 10 {
			require.Equal(t, first, served(t, db))
		}
	}
	assert.Len(t, by, 2, "each request has a server of its own")

	db, ctx := x.session()
	readsplit.SessionFrom(ctx).KeepServer()
	onReplica(t, served(t, db))
	require.Equal(t, "primary", served(t, db.WithContext(readsplit.Fresh(ctx))), "what belongs on the primary goes there")
	other, _ := x.session()
	free := map[string]bool{}
	for range 40 {
		free[served(t, other)] = true
	}
	assert.Len(t, free, 2, "another session is not held")

	_, err := x.cluster.Server(served(t, db)).PauseReplay(limit(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
	require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	for range 10 {
		require.Equal(t, 2, seesBooks(t, db), "its own write, on the primary: not on the other replica")
		tx := db.Raw(whoSQL).Scan(new(string))
		require.False(t, isReplica(served(t, db)))
		require.Contains(t, []policy.Reason{policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonHeldElsewhere, policy.ReasonPositionPending}, reason(t, tx))
	}
	again := readsplit.WithSession(ctx, readsplit.SessionFrom(ctx))
	eventually(t, "another request of the session on the other replica", func() bool { return isReplica(served(t, x.WithContext(again))) })

	primary, ctx := x.session()
	readsplit.SessionFrom(ctx).KeepServer()
	readsplit.SessionFrom(ctx).Doubt()
	for range 10 {
		require.Equal(t, "primary", served(t, primary))
	}
}

// Users that a key leads to a replica stay there, request after request and process
// after process; those of one that is away move, and nobody else.
func TestSessionsPreferOneReplica(t *testing.T) {
	x, other := newTrap(t, configured(steady)), newTrap(t, configured(steady))
	home := func(x *trap, key string) string {
		s := readsplit.NewSession()
		s.Prefer(key)
		return served(t, x.WithContext(readsplit.WithSession(t.Context(), s)))
	}
	const users = 60
	homes := map[string]string{}
	spread := map[string]int{}
	for u := range users {
		key := "user-" + string(rune('A'+u))
		homes[key] = home(x, key)
		spread[homes[key]]++
		for range 3 {
			require.Equal(t, homes[key], home(x, key))
			require.Equal(t, homes[key], home(other, key), "in another process")
		}
	}
	assert.InDelta(t, users/2, spread["replica1"], users/5)
	assert.Equal(t, users, spread["replica1"]+spread["replica2"])

	require.NoError(t, x.plugin.Drain(limit(t), "replica1"))
	for key := range homes {
		require.Equal(t, "replica2", home(x, key))
	}
	require.NoError(t, x.plugin.Resume("replica1"))

	// It is a preference: a replica that lacks the session's write does not serve it.
	_, err := x.cluster.Server("replica1").PauseReplay(limit(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
	for key, at := range homes {
		if at != "replica1" {
			continue
		}
		s := readsplit.NewSession()
		s.Prefer(key)
		db := x.WithContext(readsplit.WithSession(t.Context(), s))
		require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
		require.Equal(t, 2, seesBooks(t, db))
		eventually(t, "the other replica to serve it", func() bool { return served(t, db) == "replica2" })
		s.Prefer("")
		break
	}
}
