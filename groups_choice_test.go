package readsplit_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/plugin/dbresolver"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/policy"
)

// Reads of a group's tables go to the group, however the statement is made; nothing
// that must be current does.
func TestGroupByTable(t *testing.T) {
	for name, tables := range map[string][]any{"by a model": {&book{}}, "by a name": {"public.unused", `"books"`}} {
		t.Run(name, func(t *testing.T) {
			eachTableRead(t, []groups.Group{{Name: "reports", Tables: tables}})
		})
	}
}

func eachTableRead(t *testing.T, all []groups.Group) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.bothServe(t)
		db := x.WithContext(nobody())
		ask := func(tx *gorm.DB, server *string) string {
			t.Helper()
			require.NoError(t, tx.Error)
			return *server
		}
		var server string
		for what, read := range map[string]func() string{
			"Find": func() string { return booksFrom(t, db).server },
			"First": func() string {
				var b book
				require.NoError(t, db.First(&b).Error)
				return b.Server
			},
			"Table with an alias": func() string { return ask(db.Table("books AS b").Select("b.server").Limit(1).Scan(&server), &server) },
			"Joins": func() string {
				return ask(db.Table("authors").Joins("JOIN books ON books.author_id = authors.id").Select("authors.server").Limit(1).Scan(&server), &server)
			},
			"Raw": func() string {
				return ask(db.Raw("SELECT server FROM public.authors_x, books LIMIT 1").Scan(&server), &server)
			},
			"a subquery": func() string {
				return ask(db.Raw("SELECT server FROM authors WHERE id IN (SELECT author_id FROM books) LIMIT 1").Scan(&server), &server)
			},
			"Row": func() string {
				require.NoError(t, db.Model(&book{}).Select("server").Limit(1).Row().Scan(&server))
				return server
			},
		} {
			if what == "Raw" {
				x.past(t, "CREATE TABLE IF NOT EXISTS public.authors_x (id int); INSERT INTO public.authors_x VALUES (1)")
				require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
			}
			assert.Equal(t, "replica2", read(), what)
		}
		var a author
		require.NoError(t, db.First(&a).Error)
		assert.Equal(t, "replica1", a.Server, "a table without a group")
		a = author{}
		require.NoError(t, db.Preload("Books").First(&a).Error)
		assert.Equal(t, "replica1", a.Server)
		require.NotEmpty(t, a.Books)
		assert.Equal(t, "replica1", a.Books[0].Server, "a preload is read where its parent was")

		assert.Equal(t, answer{"primary", policy.ReasonFresh}, booksFrom(t, x.fresh()))
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			assert.Equal(t, answer{"primary", policy.ReasonInTransaction}, booksFrom(t, tx))
			return nil
		}))
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			assert.Equal(t, "replica1", booksFrom(t, tx).server, "a transaction is of many tables")
			return nil
		}, &sql.TxOptions{ReadOnly: true}))
		var b book
		require.NoError(t, db.Raw("SELECT * FROM books_t FOR UPDATE").Scan(&b).Error)
		require.NoError(t, db.Clauses(dbresolver.Write).First(&b).Error)
		assert.Equal(t, "primary", b.Server)
	}, configured(calmly), configured(func(c *readsplit.Config) {
		c.Groups = all
		c.Replicas[1].Groups = []string{"reports"}
	}))
}

// What a session wrote and the group does not have is never read there.
func TestGroupByTableOwnWrites(t *testing.T) {
	x := grouped(t, []groups.Group{{Name: "reports", Tables: []any{"books"}}})
	t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
	injected(t)(x.cluster.Replica(1).PauseReplay(limit(t)))
	db, ctx := x.session()
	require.NoError(t, db.Exec("INSERT INTO books_t (title, author_id) VALUES ('mine', 1)").Error)
	_, err := readsplit.SessionFrom(ctx).Token(limit(t))
	require.NoError(t, err)
	var books []book
	tx := db.Order("id").Find(&books)
	require.NoError(t, tx.Error)
	assert.Len(t, books, 2)
	assert.Equal(t, answer{"primary", policy.ReasonGroupOnPrimary}, answer{books[0].Server, reason(t, tx)})
	st := x.groupOf(t, "reports")
	assert.EqualValues(t, 1, st.OnPrimary)
	assert.EqualValues(t, 1, st.Because[policy.ReasonBehindSession]+st.Because[policy.ReasonWaitExpired], "%v", st.Because)
	assert.Equal(t, answer{"replica2", policy.ReasonStale}, booksFrom(t, x.WithContext(readsplit.Stale(nobody()))), "who wrote nothing")
}

// A context wins over tables, and tables over an estimate.
func TestGroupPrecedence(t *testing.T) {
	x := newTrap(t, configured(calmly), configured(func(c *readsplit.Config) {
		c.Replicas[0].Groups, c.Replicas[1].Groups = []string{"search"}, []string{"reports"}
		c.Groups = []groups.Group{
			{Name: "search", Tables: []any{"authors"}},
			{Name: "reports", From: groups.Estimate{Takes: 10 * time.Second, Rows: 1000}},
		}
	}))
	x.bothServe(t)
	long := func(ctx context.Context) context.Context {
		return groups.WithEstimate(ctx, groups.Estimate{Takes: 10 * time.Second})
	}
	who := func(ctx context.Context) string {
		var a author
		require.NoError(t, x.WithContext(ctx).First(&a).Error)
		return a.Server
	}
	assert.Equal(t, "replica1", who(nobody()))
	assert.Equal(t, "replica1", who(long(nobody())), "the table wins over the estimate")
	assert.Equal(t, "replica2", who(reports(nobody())), "the context wins over the table")

	books := func(ctx context.Context) string { return booksFrom(t, x.WithContext(ctx)).server }
	assert.Equal(t, "replica1", books(nobody()))
	assert.Equal(t, "replica2", books(long(nobody())))
	assert.Equal(t, "replica2", books(groups.WithEstimate(nobody(), groups.Estimate{Rows: 1000})))
	assert.Equal(t, "replica1", books(groups.WithEstimate(nobody(), groups.Estimate{Takes: 10*time.Second - 1, Rows: 999})), "short of both bounds")
	assert.Equal(t, "replica1", books(groups.WithEstimate(long(nobody()), groups.Estimate{})), "taken back")
	assert.Equal(t, "replica1", books(readsplit.Group(long(nobody()), "search")), "the context wins over the estimate")
	assert.Equal(t, "primary", books(readsplit.Fresh(long(nobody()))))

	// An estimate is of a transaction too.
	require.NoError(t, x.WithContext(long(nobody())).Transaction(func(tx *gorm.DB) error {
		assert.Equal(t, "replica2", booksFrom(t, tx).server)
		assert.Equal(t, "replica2", booksFrom(t, tx.WithContext(nobody())).server, "it stays where it began")
		return nil
	}, &sql.TxOptions{ReadOnly: true}))
}

// Explain tells which group a read is meant for, and why.
func TestGroupExplained(t *testing.T) {
	x := grouped(t, []groups.Group{
		{Name: "reports", Tables: []any{"books"}, From: groups.Estimate{Rows: 1000}, Otherwise: groups.Refuse},
	})
	for why, tt := range map[string]struct {
		ctx  context.Context
		read func(tx *gorm.DB) *gorm.DB
	}{
		"the context names it":                        {reports(nobody()), func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]author{}) }},
		"a clause names it":                           {nobody(), func(tx *gorm.DB) *gorm.DB { return tx.Clauses(dbresolver.Use("reports")).Find(&[]author{}) }},
		"table books is of it":                        {nobody(), func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) }},
		"the estimate of 2000 rows reaches 1000 rows": {groups.WithEstimate(nobody(), groups.Estimate{Rows: 2000}), func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]author{}) }},
	} {
		s := explained(t, tt.ctx, x.DB, tt.read)
		require.Len(t, s, 1)
		assert.Equal(t, []string{"reports", why}, []string{s[0].Group, s[0].GroupWhy})
		assert.Equal(t, []string{"replica2"}, s[0].Servers)
		assert.Contains(t, s[0].String(), "group    reports: "+why)
	}
	s := explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]author{}) })
	assert.Empty(t, s[0].Group)

	require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
	s = explained(t, nobody(), x.DB, func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]book{}) })
	require.ErrorIs(t, s[0].Err, groups.ErrRefused)
	assert.Equal(t, policy.ReasonGroupRefused, s[0].Reason)
	assert.Empty(t, s[0].Servers)
	assert.Zero(t, x.groupOf(t, "reports").Refused, "an explanation is not counted")
}
