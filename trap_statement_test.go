package readsplit_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// rawStatements are texts that a router by prefixes gets wrong, and where they
// belong. A statement for the primary that were sent to a replica would also
// fail there; a read sees one book on a replica and two on the primary.
var rawStatements = []struct {
	sql     string
	primary bool
}{
	{"WITH b AS (SELECT * FROM books) SELECT title FROM b", false},
	{"(SELECT title FROM books) UNION ALL (SELECT title FROM books WHERE false)", false},
	{"((SELECT title FROM books))", false},
	{"-- a comment\nSELECT title FROM books", false},
	{"/* a /* nested */ comment; DELETE */ SELECT title FROM books", false},
	{"  \n SELECT title FROM books ;", false},
	{"SELECT  title  FROM\n books", false},
	{"SELECT title FROM ONLY books_t", false},
	{`SELECT title FROM "books"`, false},
	{"SELECT title FROM books WHERE title <> 'FOR UPDATE; DELETE FROM books'", false},
	{"SELECT title FROM books WHERE title <> E'it\\'s; DELETE' AND title <> $$;DELETE$$", false},
	{"SELECT title FROM books WHERE title NOT LIKE '%RETURNING%'", false},
	{"SELECT title /* FOR UPDATE */ FROM books -- FOR UPDATE", false},
	{"TABLE books_t", false},
	{"SELECT coalesce(max(title), '') FROM books", false},

	{"SELECT title FROM books FOR UPDATE", true},
	{"SELECT title FROM books FOR UPDATE;", true},
	{"SELECT title FROM books FOR UPDATE SKIP LOCKED", true},
	{"SELECT title FROM books FOR UPDATE NOWAIT", true},
	{"SELECT title FROM books FOR NO KEY UPDATE", true},
	{"SELECT title FROM books FOR SHARE", true},
	{"SELECT title FROM books FOR KEY SHARE", true},
	{"select title from books\n\tfor  update", true},
	{"SELECT title FROM (SELECT * FROM books FOR UPDATE) b", true},
	{"SELECT nextval('books_t_id_seq')::text", true},
	{"SELECT setval('books_t_id_seq', 50)::text", true},
	{"SELECT pg_advisory_lock(1)::text, pg_advisory_unlock(1)", true},
	{"SELECT pg_try_advisory_xact_lock(1)::text", true},
	{"SELECT set_config('work_mem', '8MB', false)", true},
	{"WITH gone AS (DELETE FROM books WHERE false RETURNING title) SELECT title FROM gone", true},
	{"WITH gone AS (DELETE FROM books WHERE false) SELECT title FROM books", true},
	{"EXPLAIN ANALYZE DELETE FROM books WHERE false", true},
	{"INSERT INTO books (title) SELECT title FROM books WHERE false RETURNING title", true},

	// Last, since a change of the schema concerns every session.
	{"SELECT title INTO TEMP copied FROM books", true},
	{"CREATE TEMP TABLE kept AS SELECT title FROM books", true},
}

// oneColumn are reads that need no table.
var oneColumn = []string{
	"SELECT 1", "SELECT 1;", "VALUES (1)", "VALUES (1), (2)", "TABLE authors_t", "EXPLAIN SELECT * FROM books", "EXPLAIN (COSTS off) SELECT 1",
	"SELECT current_setting('cluster_name')",
}

func TestRawStatements(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		for _, text := range oneColumn {
			t.Run(text, func(t *testing.T) {
				db, _ := x.session()
				tx := db.Raw(text).Scan(&[]map[string]any{})
				require.NoError(t, tx.Error)
				onReplica(t, func() string { d, _ := readsplit.DecisionOf(tx); return d.Server }())
			})
		}
		if !x.PrepareStmt { // the protocol prepares one statement at a time
			db, _ := x.session()
			tx := db.Exec("SELECT 1; DELETE FROM books WHERE title = 'two'")
			require.NoError(t, tx.Error)
			require.Equal(t, policy.ReasonWrite, reason(t, tx))
			require.Equal(t, []string{"one"}, x.titles(t))
			x.past(t, "INSERT INTO books_t VALUES (2, 'two', 1)")
		}
		for _, c := range rawStatements {
			t.Run(c.sql, func(t *testing.T) {
				db, _ := x.session()
				var rows []map[string]any
				tx := db.Raw(c.sql).Scan(&rows)
				require.NoError(t, tx.Error)
				d, ok := readsplit.DecisionOf(tx)
				require.True(t, ok)
				require.Equal(t, !c.primary, d.Replica, "%s: %s", c.sql, d.Reason)
				if !c.primary {
					require.Len(t, rows, 1, "a replica has one book")
				}
				require.Zero(t, x.plugin.Status().Refused, "no replica had to refuse it")
			})
		}
	})
}

// What the builder takes as text is looked at as text.
func TestBuiltStatements(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		for name, c := range map[string]struct {
			build   func(db *gorm.DB) *gorm.DB
			primary bool
		}{
			"plain":          {func(db *gorm.DB) *gorm.DB { return db.Where("title <> ?", "FOR UPDATE") }, false},
			"Group":          {func(db *gorm.DB) *gorm.DB { return db.Select("title").Group("title").Having("count(*) > 0") }, false},
			"Joins":          {func(db *gorm.DB) *gorm.DB { return db.Joins("JOIN authors a ON a.id = books.author_id") }, false},
			"Table":          {func(db *gorm.DB) *gorm.DB { return db.Table("(?) AS books", x.Model(&book{})) }, false},
			"Scopes":         {func(db *gorm.DB) *gorm.DB { return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("id > 0") }) }, false},
			"Select nextval": {func(db *gorm.DB) *gorm.DB { return db.Select("title, nextval('books_t_id_seq')") }, true},
			"Where for":      {func(db *gorm.DB) *gorm.DB { return db.Where("pg_try_advisory_xact_lock(id)") }, true},
			"Locking":        {func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}) }, true},
			"Locking in FROM": {func(db *gorm.DB) *gorm.DB {
				return db.Table("(?) AS books", x.Model(&book{}).Clauses(clause.Locking{Strength: "SHARE"}))
			}, true},
			"Fresh": {func(db *gorm.DB) *gorm.DB { return db.WithContext(readsplit.Fresh(db.Statement.Context)) }, true},
		} {
			t.Run(name, func(t *testing.T) {
				db, _ := x.session()
				tx := c.build(db.Model(&book{})).Find(&[]map[string]any{})
				require.NoError(t, tx.Error)
				d, ok := readsplit.DecisionOf(tx)
				require.True(t, ok)
				require.Equal(t, !c.primary, d.Replica, d.Reason)
				want := 1
				if c.primary {
					want = 2
				}
				require.EqualValues(t, want, tx.RowsAffected)
			})
		}
		t.Run("Count", func(t *testing.T) {
			db, _ := x.session()
			var n int64
			require.NoError(t, db.Model(&book{}).Count(&n).Error)
			require.EqualValues(t, 1, n)
		})
		t.Run("Rows and ScanRows", func(t *testing.T) {
			db, _ := x.session()
			rows, err := db.Model(&book{}).Rows()
			require.NoError(t, err)
			require.True(t, rows.Next())
			var b book
			require.NoError(t, db.ScanRows(rows, &b))
			onReplica(t, b.Server)
			require.False(t, rows.Next())
			require.NoError(t, rows.Close())
		})
		t.Run("Begin on a group", func(t *testing.T) {
			_, ctx := x.session()
			tx := x.WithContext(readsplit.Group(ctx, "any")).Begin()
			require.NoError(t, tx.Error)
			require.Equal(t, "primary", served(t, tx))
			require.NoError(t, tx.Create(&book{Title: "grouped"}).Error)
			require.NoError(t, tx.Rollback().Error)
		})
	}, configured(func(c *readsplit.Config) {
		for i := range c.Replicas {
			c.Replicas[i].Groups = []string{"any"}
		}
	}))
}

func TestT12RowOfWhatCannotBePrepared(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		var n int
		row := func(db *gorm.DB) error {
			return db.Raw("SELECT nothing FROM nowhere").Row().Scan(&n)
		}
		require.ErrorContains(t, row(x.DB), "42P01")
		require.ErrorContains(t, row(x.fresh()), "42P01")
		require.ErrorContains(t, x.Raw("INSERT INTO nowhere VALUES (1) RETURNING 1").Row().Scan(&n), "42P01")
		for _, opts := range []*sql.TxOptions{nil, {ReadOnly: true}} {
			tx := x.Begin(opts)
			require.NoError(t, tx.Error)
			require.NoError(t, tx.Raw("SELECT 1").Row().Scan(&n))
			require.ErrorContains(t, row(tx), "42P01")
			require.NoError(t, tx.Rollback().Error)
		}
		early := x.early.Begin()
		require.NoError(t, early.Error)
		require.ErrorContains(t, row(early), "42P01")
		require.NoError(t, early.Rollback().Error)

		// The handle still holds its transaction after Row.
		require.NoError(t, x.Transaction(func(tx *gorm.DB) error {
			chain := tx.Raw("INSERT INTO books (title) VALUES ('row') RETURNING id")
			require.NoError(t, chain.Row().Scan(&n))
			require.Equal(t, policy.ReasonInTransaction, reason(t, chain))
			return tx.Transaction(func(tx *gorm.DB) error {
				return tx.Model(&book{}).Select("id").Where("id = ?", n).Row().Scan(&n)
			})
		}))
		require.Equal(t, []string{"one", "row"}, x.titles(t))
	})
}
