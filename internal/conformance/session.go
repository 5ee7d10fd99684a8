package conformance

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// Whoever wrote sees it, in each of the ways in which a replica may prove that it shows it:
// while replicas stand still, and when they go on again, which is when they serve again.
func testProofs(t *testing.T, s *suite) {
	for _, p := range s.b.Proofs {
		t.Run(p.Name, func(t *testing.T) {
			s.begin(t)
			if p.Arrange != nil {
				undo, err := p.Arrange(limit(t))
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, undo()) })
			}
			var options []option
			if p.Configure != nil {
				options = append(options, config(p.Configure))
			}
			d := s.open(t, options...)
			goOn := func() {}
			if p.Position { // without one nobody can know that a replica stands still
				goOn = s.still(t)
			}
			db := d.session()
			began := time.Now()
			require.NoError(t, db.Create(&book{Title: "mine", AuthorID: s.ann}).Error)
			read := func() (why policy.Reason, onReplica bool) {
				t.Helper()
				var n int64
				tx := db.Model(&book{}).Where("title = ?", "mine").Count(&n)
				why = reason(t, tx)
				decided, _ := readsplit.DecisionOf(tx)
				if p.Position || time.Since(began) < window {
					require.EqualValues(t, 1, n, "%v", decided)
				}
				if p.Window && time.Since(began) < window {
					require.Equal(t, policy.ReasonStickyWindow, why)
				}
				return why, decided.Replica
			}
			if p.Position && s.b.Faults.has(pausing) {
				until(t, func() bool {
					why, onReplica := read()
					require.False(t, onReplica, "%v", why)
					return why == policy.ReasonBehindSession || why == policy.ReasonWaitExpired
				}, "the position to keep the session on the primary")
				require.True(t, s.isReplica(d.who(t, d.session())), "who wrote nothing reads from a replica")
				d.reads(t, d.session(), false, "one")
			}
			goOn()
			require.NoError(t, s.b.CaughtUp(limit(t)))
			until(t, func() bool { _, onReplica := read(); return onReplica }, "a replica to serve the session")
			if p.Window {
				require.GreaterOrEqual(t, time.Since(began), window)
			}
			var n int64
			require.NoError(t, db.Model(&book{}).Where("title = ?", "mine").Count(&n).Error)
			require.EqualValues(t, 1, n)
		})
	}
}

// What a context asks for is what its reads get.
func testMarks(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		wrote := d.session()
		require.NoError(t, wrote.Exec("UPDATE "+booksTable+" SET copies = 4 WHERE title = ?", "two").Error)
		did, not := wrote.Statement.Context, newSession()
		both := []string{"one", "two"}
		d.reads(t, d.WithContext(not), false, s.onReplicas()...)
		d.reads(t, d.WithContext(readsplit.Stale(not)), false, s.onReplicas()...)
		d.reads(t, d.WithContext(readsplit.AnyReplica(not)), false, s.onReplicas()...)
		d.reads(t, d.WithContext(readsplit.Fresh(not)), true, both...)
		d.reads(t, d.WithContext(readsplit.UseReplica(readsplit.Fresh(not))), false, s.onReplicas()...)
		d.reads(t, d.WithContext(readsplit.AtMost(not, 0)), true, both...)
		d.own(t, d.WithContext(did), both...)
		d.own(t, d.WithContext(readsplit.Stale(did)), both...)
		d.reads(t, d.WithContext(readsplit.AnyReplica(did)), false, s.onReplicas()...)
	})
	prefers := s.open(t, atOnce, config(func(c *readsplit.Config) { c.Default = readsplit.PreferPrimary }))
	require.Equal(t, s.primary(), prefers.who(t, prefers.session()))
	until(t, func() bool {
		return s.isReplica(prefers.who(t, prefers.WithContext(readsplit.UseReplica(newSession()))))
	}, "UseReplica to count")
}

// A bound on staleness holds while replicas stand still, whatever they say of themselves.
func testBounds(t *testing.T, s *suite) {
	const bound = 600 * time.Millisecond
	d := s.open(t, config(func(c *readsplit.Config) { c.MaxLag, c.StickyWindow = 5*bound, 30*time.Second }))
	s.behind(t)
	committed := time.Now()
	for _, how := range []struct {
		atMost time.Duration
		after  time.Duration
	}{{bound, bound}, {0, 5 * bound}} {
		until(t, func() bool { return time.Since(committed) > how.after+50*time.Millisecond }, "the bound to pass")
		ctx := newSession()
		if how.atMost > 0 {
			ctx = readsplit.AtMost(ctx, how.atMost)
		}
		d.own(t, d.WithContext(ctx), "one", "two")
	}
	d.reads(t, d.WithContext(readsplit.Stale(newSession())), false, s.onReplicas()...)
}

// A replica that gets nothing any more serves nobody who asks for a bound, and serves again.
func testSuspended(t *testing.T, s *suite) {
	d := s.open(t, config(func(c *readsplit.Config) { c.MaxLag, c.StickyWindow = 2*time.Second, 30*time.Second }))
	var undos []Undo
	for _, name := range s.replicas() {
		undo, err := s.b.Faults.Suspend(limit(t), name)
		require.NoError(t, err)
		t.Cleanup(func() { _ = undo() })
		undos = append(undos, undo)
	}
	s.add(t, "two")
	reader := d.session()
	until(t, func() bool { return d.who(t, reader) == s.primary() }, "the primary to serve")
	d.own(t, reader, "one", "two")
	for _, undo := range undos {
		require.NoError(t, undo())
	}
	require.NoError(t, s.b.CaughtUp(limit(t)))
	d.replicasServe(t)
}

// A token carries to another process what its session wrote; one that says what is not so
// leads to the primary, and is counted.
func testTokens(t *testing.T, s *suite) {
	keys := [][]byte{[]byte("the key of the conformance suite")}
	signed := config(func(c *readsplit.Config) { c.TokenKeys = keys })
	a, b := s.open(t, signed), s.open(t, signed)
	goOn := s.still(t)
	wrote := a.session()
	require.NoError(t, wrote.Create(&book{Title: "two", AuthorID: s.ann}).Error)
	token, err := readsplit.SessionFrom(wrote.Statement.Context).Token(wrote.Statement.Context)
	require.NoError(t, err)
	require.NotEmpty(t, token)
	joined := func(token string) *gorm.DB {
		session := readsplit.NewSession()
		session.Join(token)
		return b.WithContext(readsplit.WithSession(context.Background(), session))
	}
	titles := func(db *gorm.DB) (titles []string) {
		require.NoError(t, db.Model(&book{}).Order("id").Pluck("title", &titles).Error)
		return titles
	}
	for range 3 {
		require.Equal(t, []string{"one", "two"}, titles(joined(token)))
	}
	require.Zero(t, b.plugin.Status().Tokens)

	// Where there is a window, a token says nothing else until that is over; one that is made
	// at its very end says both, of the plugin that was asked before and of the other one.
	var content readsplit.Token
	until(t, func() bool {
		token, err = readsplit.SessionFrom(wrote.Statement.Context).Token(wrote.Statement.Context)
		require.NoError(t, err)
		content, err = readsplit.Config{TokenKeys: keys}.ParseToken(token)
		require.NoError(t, err)
		return len(content.Positions) == 1 && content.Unsure.IsZero()
	}, "a token with a position and no doubt")
	k, err := session.NewKeys(keys...)
	require.NoError(t, err)
	content.Positions = slices.Clone(content.Positions)
	content.Positions[0].System++
	foreign, err := k.Encode(content)
	require.NoError(t, err)
	for i, untrue := range []string{foreign, token[:len(token)-4], "nothing"} {
		var n int64
		tx := joined(untrue).Model(&book{}).Count(&n)
		require.Equal(t, policy.ReasonUnsure, reason(t, tx), untrue)
		require.EqualValues(t, 2, n)
		counts := b.plugin.Status().Tokens
		require.Equal(t, readsplit.TokenCounts{Foreign: 1, Refused: uint64(i)}, counts)
	}

	goOn()
	require.NoError(t, s.b.CaughtUp(limit(t)))
	there := joined(token)
	until(t, func() bool {
		require.Equal(t, []string{"one", "two"}, titles(there))
		return b.who(t, there) != s.primary()
	}, "a replica to serve whoever brings the token")
	tx := wrote.Begin()
	require.NoError(t, tx.Exec("UPDATE "+booksTable+" SET copies = 5").Error)
	_, err = readsplit.SessionFrom(wrote.Statement.Context).Token(wrote.Statement.Context)
	require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)
	require.NoError(t, tx.Rollback().Error)
}
