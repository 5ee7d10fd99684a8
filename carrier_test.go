package readsplit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/internal/heldup"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// A token from the application's own store needs no signature.
func TestJoinToken(t *testing.T) {
	x := newTrap(t, configured(steady), configured(signing))
	x.stale(t)
	content := x.token(t)
	for name, c := range map[string]struct {
		token  readsplit.Token
		sees   int
		reason policy.Reason
	}{
		"as it was exported":       {content, 2, policy.ReasonWaitExpired},
		"without times":            {readsplit.Token{Positions: content.Positions}, 2, policy.ReasonWaitExpired},
		"empty":                    {readsplit.Token{Issued: content.Issued, Expires: content.Expires}, 1, policy.ReasonCaughtUp},
		"unsure, without a place":  {readsplit.Token{Issued: content.Issued, Expires: content.Expires, Unsure: content.Expires}, 2, policy.ReasonUnsure},
		"from a clock far too far": {readsplit.Token{Issued: content.Issued.Add(time.Hour), Expires: content.Expires.Add(time.Hour), Positions: content.Positions}, 2, policy.ReasonWaitExpired},
	} {
		s := readsplit.NewSession()
		s.JoinToken(c.token)
		db := x.WithContext(readsplit.WithSession(t.Context(), s))
		require.Equal(t, c.sees, seesBooks(t, db), name)
		eventually(t, name, func() bool {
			tx := db.Raw(whoSQL).Scan(new(string))
			require.NoError(t, tx.Error)
			got := reason(t, tx)
			return got == c.reason || got == policy.ReasonBehindSession && c.reason == policy.ReasonWaitExpired
		})
	}
	assert.Zero(t, x.plugin.Status().Tokens)

	text := encoded(t, content, nil) // the same without a signature, as text
	s := joined(text)
	assert.Equal(t, 2, seesBooks(t, x.WithContext(readsplit.WithSession(t.Context(), s))))
	assert.Equal(t, readsplit.TokenCounts{Refused: 1}, x.plugin.Status().Tokens)
}

// Doubt is the primary for the window, and then what the primary had.
func TestDoubtOfACarrier(t *testing.T) {
	const window = 1500 * time.Millisecond
	x := newTrap(t, configured(steady), configured(func(c *readsplit.Config) { c.StickyWindow, c.MaxSampleAge = window, time.Second }))
	x.stale(t)
	db, ctx := x.session()
	began := time.Now()
	readsplit.SessionFrom(ctx).Doubt()
	require.True(t, readsplit.SessionFrom(ctx).Changed())
	for {
		tx := db.Raw(whoSQL).Scan(new(string))
		require.NoError(t, tx.Error)
		if reason(t, tx) != policy.ReasonUnsure {
			break
		}
	}
	require.GreaterOrEqual(t, time.Since(began), window)
	require.Less(t, time.Since(began), window+30*time.Second)
	require.Equal(t, 2, seesBooks(t, db), "the replicas still lack what the primary has")
	require.NoError(t, x.cluster.UndoAll())
	eventually(t, "the replicas to serve it", func() bool { return isReplica(served(t, db)) })
}

// What any client can bring about binds its own session, and no read without one.
func TestDoubtAlone(t *testing.T) {
	x := newTrap(t, configured(steady))
	for _, c := range []struct {
		doubt     func(*readsplit.Session)
		everybody bool
	}{{(*readsplit.Session).DoubtAlone, false}, {(*readsplit.Session).Doubt, true}} {
		db, ctx := x.session()
		c.doubt(readsplit.SessionFrom(ctx))
		require.Equal(t, "primary", served(t, db))
		for range 10 {
			require.Equal(t, c.everybody, !isReplica(served(t, x.WithContext(context.Background()))))
		}
	}
}

// A store need not keep when a token was issued: what it says counts until it ends.
func TestStoreThatDoesNotKeepWhenATokenWasIssued(t *testing.T) {
	x := newTrap(t, configured(steady))
	now := time.Now()
	s := readsplit.NewSession()
	s.JoinToken(readsplit.Token{Expires: now.Add(time.Minute), Unsure: now.Add(10 * time.Second)})
	tx := x.WithContext(readsplit.WithSession(t.Context(), s)).Raw(whoSQL).Scan(new(string))
	require.NoError(t, tx.Error)
	assert.Equal(t, policy.ReasonUnsure, reason(t, tx))
}

// Text is what Token would have said when Export was called: what happened since does
// not make it unsure.
func TestText(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) { // no sample settles what was written
		// Nor does a capture that is asked for with the write, as of a primary that is far.
		c.SampleEvery, c.MaxSampleAge, c.StickyWindow, c.MaxWait = time.Hour, time.Hour, 2*time.Hour, time.Minute
	}))
	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	assert.Empty(t, s.Text(readsplit.Token{}), "it has nothing to see")
	s.CoverUnscoped()
	require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	exported, err := s.Export(t.Context())
	require.NoError(t, err)
	// The primary may be asked where it is between a write and the look at it, for
	// instance of a replica's new connection: then another write is looked at.
	eventually(t, "a write of somebody else's that is not settled when it is looked at", func() bool {
		require.NoError(t, x.Exec("INSERT INTO books_t (title) VALUES ('of somebody else')").Error)
		ofNone := content(t, s.Text(readsplit.Token{Positions: exported.Positions})) // that it has made
		return !ofNone.Unsure.IsZero() && !content(t, s.TokenNow()).Unsure.IsZero()
	})
	text := content(t, s.Text(exported))
	assert.Zero(t, text.Unsure)
	assert.Equal(t, exported.Positions, text.Positions)
}

// content is what a token's text says; without keys.
func content(t testing.TB, text string) readsplit.Token {
	t.Helper()
	require.NotEmpty(t, text)
	token, err := readsplit.Config{}.ParseToken(text)
	require.NoError(t, err)
	return token
}

// TokenNow waits for nothing: what it does not know makes it unsure.
func TestTokenNow(t *testing.T) {
	x := newTrap(t, configured(steady))
	none := readsplit.NewSession()
	assert.Empty(t, none.TokenNow(), "nothing has run through it")

	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	require.Equal(t, 1, seesBooks(t, db))
	assert.Empty(t, s.TokenNow(), "it has nothing to see")

	require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	eventually(t, "a capture", func() bool { return content(t, s.TokenNow()).Unsure.IsZero() })
	settled := content(t, s.TokenNow())
	require.Len(t, settled.Positions, 1)

	tx := db.Begin()
	require.NoError(t, tx.Error)
	const window, rounded = 20 * time.Second, time.Second
	asked := time.Now()
	open := content(t, s.TokenNow())
	assert.Equal(t, settled.Positions, open.Positions)
	assert.False(t, open.Unsure.Before(asked.Add(window-rounded)), "what the transaction may write")
	assert.False(t, open.Unsure.After(time.Now().Add(window+rounded)), "what the transaction may write")
	require.NoError(t, tx.Exec("INSERT INTO books_t (title) VALUES ('inside')").Error)
	require.False(t, content(t, s.TokenNow()).Unsure.IsZero())
	require.NoError(t, tx.Commit().Error)
	eventually(t, "a capture", func() bool { return content(t, s.TokenNow()).Unsure.IsZero() })
	assert.Greater(t, content(t, s.TokenNow()).Positions[0].LSN, settled.Positions[0].LSN)

	rolled := x.WithContext(nobody())
	tx = rolled.Begin()
	unsure := readsplit.SessionFrom(rolled.Statement.Context)
	require.False(t, content(t, unsure.TokenNow()).Unsure.IsZero())
	require.NoError(t, tx.Rollback().Error)
	assert.Empty(t, unsure.TokenNow(), "nothing was written")

	// The primary cannot answer, and nobody waits for it.
	hung := newTrap(t, configured(func(c *readsplit.Config) {
		c.SampleEvery, c.MaxSampleAge = time.Hour, time.Hour
		c.StickyWindow = 2 * time.Hour
	}))
	db, ctx = hung.session()
	require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	slow := heldup.Watch(t)
	began := time.Now()
	text := readsplit.SessionFrom(ctx).TokenNow()
	assert.Less(t, time.Since(began), 900*time.Millisecond+10*slow(), "Token would wait for a second")
	late := content(t, text)
	assert.False(t, late.Unsure.IsZero())
	assert.False(t, late.Unsure.After(late.Expires))
	assert.Less(t, len(text), 200)
}

// Export is Token as a value.
func TestExport(t *testing.T) {
	x := newTrap(t)
	db, ctx := x.session()
	s := readsplit.SessionFrom(ctx)
	empty, err := s.Export(ctx)
	require.NoError(t, err)
	assert.Equal(t, readsplit.Token{}, empty)
	require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
	exported, err := s.Export(ctx)
	require.NoError(t, err)
	assert.Equal(t, exported.Positions, content(t, tokenOf(t, ctx)).Positions)
	require.Len(t, exported.Positions, 1)
	assert.Equal(t, x.plugin.Status().Primary.Position.History, exported.Positions[0].History)
	assert.WithinDuration(t, time.Now(), exported.Issued, 5*time.Second)
	assert.Equal(t, session.MaxTokenLifetime, exported.Expires.Sub(exported.Issued), "MaxLag is off here: no time proves anything")
	tx := db.Begin()
	require.NoError(t, tx.Error)
	_, err = s.Export(ctx)
	require.ErrorIs(t, err, readsplit.ErrTokenInTransaction)
	assert.True(t, s.InTransaction())
	require.NoError(t, tx.Rollback().Error)
	assert.False(t, s.InTransaction())
	back, err := s.Export(ctx)
	require.NoError(t, err)
	assert.Equal(t, exported.Positions, back.Positions)
}

// InTransaction follows the transactions of the session, however they end.
func TestInTransaction(t *testing.T) {
	x := newTrap(t)
	for name, end := range map[string]func(t *testing.T, tx *gorm.DB, cancel func()){
		"commit":               func(t *testing.T, tx *gorm.DB, _ func()) { require.NoError(t, tx.Commit().Error) },
		"rollback":             func(t *testing.T, tx *gorm.DB, _ func()) { require.NoError(t, tx.Rollback().Error) },
		"its context is ended": func(_ *testing.T, _ *gorm.DB, cancel func()) { cancel() },
	} {
		ctx, cancel := context.WithCancel(nobody())
		defer cancel()
		s := readsplit.SessionFrom(ctx)
		tx := x.WithContext(ctx).Begin()
		require.NoError(t, tx.Error)
		require.True(t, s.InTransaction(), name)
		other, _ := x.session()
		require.NoError(t, other.Exec("SELECT 1").Error)
		end(t, tx, cancel)
		eventually(t, name, func() bool { return !s.InTransaction() })
	}
	ctx := nobody()
	require.NoError(t, x.Transaction(func(tx *gorm.DB) error { // begun without a session
		require.NoError(t, tx.WithContext(ctx).Exec("INSERT INTO books_t (title) VALUES ('mine')").Error)
		assert.True(t, readsplit.SessionFrom(ctx).InTransaction())
		return nil
	}))
	assert.False(t, readsplit.SessionFrom(ctx).InTransaction())
}

// Changed is true for each event after which a carrier must be told, and for none
// that it knows of.
func TestChanged(t *testing.T) {
	x := newTrap(t, configured(steady), configured(func(c *readsplit.Config) { c.StickyWindow = time.Minute }), saidToRead("touch"))
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	mine := x.token(t)
	text := encoded(t, mine, nil)
	write := func(t *testing.T, db *gorm.DB) {
		require.NoError(t, db.Exec("INSERT INTO books_t (title) VALUES ('x')").Error)
	}
	changed := func(change func(*readsplit.Token)) func(*testing.T, *readsplit.Session, *gorm.DB) {
		return func(t *testing.T, s *readsplit.Session, _ *gorm.DB) { s.Join(encoded(t, mine, change)) }
	}
	become := map[string]func(t *testing.T, s *readsplit.Session, db *gorm.DB){
		"a write": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) { write(t, db) },
		"a write in a transaction": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error { write(t, tx); return nil }))
		},
		"MarkWrite": func(_ *testing.T, _ *readsplit.Session, db *gorm.DB) { readsplit.MarkWrite(db.Statement.Context) },
		"a read, from MonotonicReads": func(t *testing.T, s *readsplit.Session, db *gorm.DB) {
			s.SetGuarantee(session.MonotonicReads)
			seesBooks(t, db)
		},
		"a failed write, at Causal": func(t *testing.T, s *readsplit.Session, db *gorm.DB) {
			s.SetGuarantee(session.Causal)
			require.Error(t, db.Exec("INSERT INTO books_t (id) VALUES ('no number')").Error)
		},
		"a write on a connection of the application's own": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			require.NoError(t, db.Connection(func(tx *gorm.DB) error { write(t, tx); return nil }))
		},
		"a write on a handle from before": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			tx := x.early.WithContext(db.Statement.Context).Begin()
			write(t, tx)
			require.NoError(t, tx.Commit().Error)
		},
		"a write that is under way, on a handle from before": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			tx := x.early.WithContext(db.Statement.Context).Begin()
			write(t, tx)
			t.Cleanup(func() { require.NoError(t, tx.Rollback().Error) })
		},
		"a write whose rows are open": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			rows, err := db.Raw("INSERT INTO books_t (title) VALUES ('x'), ('y') RETURNING id").Rows()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, rows.Close()) })
		},
		"a write whose rows were closed": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			rows, err := db.Raw("INSERT INTO books_t (title) VALUES ('x'), ('y') RETURNING id").Rows()
			require.NoError(t, err)
			require.NoError(t, rows.Close())
			require.NoError(t, rows.Err())
		},
		"a refused token":            func(_ *testing.T, s *readsplit.Session, _ *gorm.DB) { s.Join("r1.rubbish") },
		"a token of another cluster": changed(func(t *readsplit.Token) { t.Positions[0].System++ }),
		"a token of another start":   changed(func(t *readsplit.Token) { t.Positions[0].Incarnation++ }),
		"a token of another start, too old": changed(func(t *readsplit.Token) {
			t.Positions[0].Incarnation++
			t.Issued, t.Expires = t.Issued.Add(-time.Hour), t.Expires.Add(-time.Hour)
		}),
		"a token in doubt":                   changed(func(t *readsplit.Token) { t.Unsure = t.Expires }),
		"a token in doubt until a while ago": changed(func(t *readsplit.Token) { t.Unsure = t.Issued.Add(-time.Second) }),
		"a doubt":                            func(_ *testing.T, s *readsplit.Session, _ *gorm.DB) { s.Doubt() },
		"two tokens that differ": func(t *testing.T, s *readsplit.Session, _ *gorm.DB) {
			s.Join(text)
			s.Join(encoded(t, mine, func(t *readsplit.Token) { t.Positions[0].LSN -= 8 }))
		},
		"a forged position, once it is found out": func(t *testing.T, s *readsplit.Session, db *gorm.DB) {
			s.Join(encoded(t, mine, func(t *readsplit.Token) { t.Positions[0].LSN += 1 << 40 }))
			eventually(t, "it to be found out", func() bool {
				tx := db.Raw(whoSQL).Scan(new(string))
				require.NoError(t, tx.Error)
				return reason(t, tx) == policy.ReasonUnsure
			})
		},
		"somebody else's write, once that counts": func(t *testing.T, s *readsplit.Session, _ *gorm.DB) {
			s.CoverUnscoped()
			require.False(t, s.Changed())
			write(t, x.WithContext(context.Background()))
		},
	}
	for name, event := range become {
		t.Run(name, func(t *testing.T) {
			db, ctx := x.session()
			s := readsplit.SessionFrom(ctx)
			require.False(t, s.Changed())
			event(t, s, db)
			assert.True(t, s.Changed())
		})
	}
	stay := map[string]func(t *testing.T, s *readsplit.Session, db *gorm.DB){
		"reads":          func(t *testing.T, _ *readsplit.Session, db *gorm.DB) { seesBooks(t, db); seesFresh(t, db) },
		"an empty token": func(_ *testing.T, s *readsplit.Session, _ *gorm.DB) { s.Join("") },
		"a token, and reads": func(t *testing.T, s *readsplit.Session, db *gorm.DB) {
			s.Join(text)
			seesBooks(t, db)
			seesBooks(t, db)
		},
		"the same token twice": func(_ *testing.T, s *readsplit.Session, _ *gorm.DB) { s.Join(text); s.Join(text) },
		"an old token":         changed(func(t *readsplit.Token) { t.Issued, t.Expires = t.Issued.Add(-time.Hour), t.Expires.Add(-time.Hour) }),
		"a failed write": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			require.Error(t, db.Exec("INSERT INTO books_t (id) VALUES ('no number')").Error)
		},
		"a rolled back transaction": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			tx := db.Begin()
			write(t, tx)
			require.NoError(t, tx.Rollback().Error)
		},
		"a read-only transaction": func(t *testing.T, _ *readsplit.Session, db *gorm.DB) {
			tx := db.Begin()
			seesBooks(t, tx)
			require.NoError(t, tx.Commit().Error)
		},
		"writes of others": func(t *testing.T, _ *readsplit.Session, _ *gorm.DB) {
			other, _ := x.session()
			write(t, other)
			write(t, x.WithContext(context.Background()))
		},
		"a write of others that is under way": func(t *testing.T, _ *readsplit.Session, _ *gorm.DB) {
			rows, err := x.WithContext(nobody()).Raw("INSERT INTO books_t (title) VALUES ('x') RETURNING id").Rows()
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, rows.Close()) })
		},
		"a token taken": func(t *testing.T, s *readsplit.Session, db *gorm.DB) {
			_, err := s.Token(db.Statement.Context)
			require.NoError(t, err)
			s.TokenNow()
		},
	}
	for name, event := range stay {
		t.Run("not by "+name, func(t *testing.T) {
			db, ctx := x.session()
			s := readsplit.SessionFrom(ctx)
			event(t, s, db)
			assert.False(t, s.Changed())
			assert.False(t, s.Changed())
		})
	}
}

// CoverUnscoped is for services that lose the context: what they write is in the
// token of the request, from then on.
func TestCoverUnscoped(t *testing.T) {
	x := newTrap(t, configured(steady))
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	service := x.WithContext(context.Background())
	write := func() { require.NoError(t, service.Exec("INSERT INTO books_t (title) VALUES ('x')").Error) }
	ctx := nobody()
	s := readsplit.SessionFrom(ctx)
	write()
	s.CoverUnscoped()
	empty, err := s.Token(ctx)
	require.NoError(t, err)
	require.Empty(t, empty, "written before")
	require.Empty(t, s.TokenNow())

	before := x.written(t)
	write()
	after := content(t, tokenOf(t, ctx))
	require.Len(t, after.Positions, 1)
	assert.True(t, after.Unsure.IsZero())
	assert.Equal(t, lsn.After, lsn.Compare(after.Positions[0], before))
	assert.Equal(t, after.Positions, content(t, s.TokenNow()).Positions)

	other := nobody()
	empty, err = readsplit.SessionFrom(other).Token(other)
	require.NoError(t, err)
	assert.Empty(t, empty, "who has not asked for it")
}

// Of two tokens the further counts, whichever comes first: two tabs, and a slow
// response in one of them.
func TestTokensMerge(t *testing.T) {
	x := newTrap(t, configured(steady), configured(signing))
	early := x.token(t)
	x.past(t, "INSERT INTO books_t (title) VALUES ('between')")
	late := x.token(t)
	require.Equal(t, lsn.Before, lsn.Compare(early.Positions[0], late.Positions[0]))
	another := func(t *readsplit.Token) { // and one of another service's database
		p := t.Positions[0]
		p.System++
		t.Positions = append(t.Positions, p)
	}
	first, second := encoded(t, early, another, signingKey), encoded(t, late, another, signingKey)
	for name, texts := range map[string][]string{"in order": {first, second}, "the other way": {second, first}} {
		s := readsplit.NewSession()
		for _, text := range texts {
			s.Join(text)
		}
		ctx := readsplit.WithSession(t.Context(), s)
		text := tokenOf(t, ctx)
		assert.Less(t, len(text), 200)
		assert.NotContains(t, text, "=")
		got, err := readsplit.Config{TokenKeys: [][]byte{[]byte("a newer key of these"), signingKey}}.ParseToken(text)
		require.NoError(t, err, "%s: by a process that has a newer key already", name)
		require.Len(t, got.Positions, 2, name)
		assert.Contains(t, got.Positions, late.Positions[0], name)
		assert.Zero(t, got.Unsure, name)
	}
}
