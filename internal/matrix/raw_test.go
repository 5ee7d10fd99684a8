package matrix

import (
	"strings"

	"github.com/stretchr/testify/require"
)

// rawReads change nothing, and their texts have traps for who goes by the first word.
var rawReads = []string{
	"SELECT 1",
	"SELECT title FROM books;",
	"  \n SELECT  title\nFROM   books",
	"select title from public.books",
	`SELECT "title" FROM "books"`,
	"SELECT title FROM ONLY books",
	"WITH b AS (SELECT * FROM books) SELECT title FROM b",
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
	"(SELECT title FROM books) UNION ALL (SELECT name FROM tags)",
	"SELECT title FROM books EXCEPT SELECT 'one'",
	"-- DELETE FROM books\nSELECT title FROM books",
	"/* a /* nested */ UPDATE; */ SELECT title FROM books",
	"SELECT title /* FOR UPDATE */ FROM books -- FOR UPDATE",
	"SELECT title FROM books WHERE title <> 'FOR UPDATE; DELETE FROM books'",
	"SELECT title FROM books WHERE title <> E'it\\'s; DELETE' AND title <> $$; DROP TABLE books$$",
	"SELECT title FROM books WHERE title NOT LIKE '%RETURNING%'",
	"SELECT title FROM books WHERE price > (SELECT avg(price) FROM books)",
	"SELECT rank() OVER (ORDER BY price) FROM books",
	"SELECT b.title, t.name FROM books b, LATERAL (SELECT name FROM tags LIMIT 1) t",
	"SELECT now(), current_setting('TimeZone')",
	"SELECT * FROM generate_series(1, 3)",
	"VALUES (1), (2)",
	"TABLE books",
	"EXPLAIN SELECT * FROM books",
	"EXPLAIN (COSTS off) SELECT * FROM books",
}

// rawWrites are the primary's: they write, lock, count, or nobody knows. A replica refuses most of them.
var rawWrites = []string{
	"SELECT title FROM books FOR UPDATE",
	"SELECT title FROM books FOR UPDATE;",
	"SELECT title FROM books FOR UPDATE SKIP LOCKED",
	"SELECT title FROM books FOR NO KEY UPDATE NOWAIT",
	"SELECT title FROM books FOR SHARE",
	"select title from books\n\tfor  key share",
	"SELECT title FROM (SELECT * FROM books FOR UPDATE) b",
	"WITH b AS (SELECT * FROM books FOR UPDATE) SELECT title FROM b",
	"SELECT nextval('ticks')",
	"SELECT setval('ticks', 500)",
	"SELECT pg_advisory_lock(7), pg_advisory_unlock(7)",
	"SELECT pg_try_advisory_xact_lock(7)",
	"SELECT set_config('work_mem', '8MB', true)",
	"SELECT pg_notify('news', 'x')",
	"SELECT txid_current()",
	"SELECT note_visit('x')",
	"SELECT * FROM note_visit('x')",
	"INSERT INTO tags (name) VALUES ('raw') RETURNING id",
	"UPDATE books SET price = price + 1 WHERE id = 1 RETURNING price",
	"DELETE FROM books WHERE id = 3 RETURNING title",
	"WITH gone AS (DELETE FROM books WHERE id = 3 RETURNING title) SELECT title FROM gone",
	"WITH gone AS (DELETE FROM books WHERE id = 3) SELECT count(*) FROM books",
	"WITH a AS (SELECT 1), b AS (INSERT INTO tags (name) VALUES ('raw') RETURNING id) SELECT id FROM b",
	"EXPLAIN ANALYZE DELETE FROM books WHERE id = 3",
	"EXPLAIN ANALYZE SELECT note_visit('x')",
	"INSERT INTO books (title) SELECT title FROM books WHERE id = 1 RETURNING id",
}

// raws are texts through Raw: by Scan, all of them, and by the other finishers.
func raws() []*cell {
	var all []*cell
	for _, text := range rawReads {
		all = append(all, read(titled(text), func(p *probe) { p.ok(p.db.Raw(text).Scan(&[]map[string]any{}).Error) }))
	}
	for _, text := range rawWrites {
		c := write(titled(text), func(p *probe) { p.ok(p.db.Raw(text).Scan(&[]map[string]any{}).Error) })
		if strings.Contains(text, "set_config") {
			c.readSession = writes // it manages the session, as SET does
		}
		all = append(all, c)
	}
	// What only its definition shows to write: the replica refuses it, or the catalogue knows.
	all = append(all,
		mixed("a view that counts", `r?P`, func(p *probe) { p.ok(p.db.Raw("SELECT tick FROM ticking").Scan(new(int64)).Error) }),
		write("SELECT title INTO copied FROM books", func(p *probe) {
			p.ok(p.db.Raw("SELECT title INTO copied FROM books").Scan(&[]map[string]any{}).Error)
		}).with(drops("DROP TABLE IF EXISTS copied")),
		mixed("SHOW", `P|R`, func(p *probe) { p.ok(p.db.Raw("SHOW server_version").Scan(new(string)).Error) }),
	)
	const insert = "INSERT INTO tags (name) VALUES ('raw') RETURNING id"
	return append(area("Raw by Scan", all...), area("Raw by other finishers",
		read("Find", func(p *probe) { p.rows(3, p.db.Raw("SELECT * FROM books").Find(&[]book{})) }),
		read("First", func(p *probe) { p.rows(1, p.db.Raw("SELECT * FROM books WHERE id = ?", 1).First(&book{})) }),
		read("Pluck", func(p *probe) { p.ok(p.db.Raw("SELECT title FROM books").Pluck("title", &[]string{}).Error) }),
		read("Row", func(p *probe) { p.ok(p.db.Raw("SELECT title FROM books WHERE id = ?", 1).Row().Scan(new(string))) }),
		read("Rows", func(p *probe) { p.drain(p.db.Raw("SELECT title FROM books").Rows()) }),
		read("Scan with arguments", func(p *probe) {
			p.rows(2, p.db.Raw("SELECT * FROM books WHERE id IN ? AND price > @least", []int64{1, 2}, map[string]any{"least": 0}).Scan(&[]book{}))
		}),
		read("a Raw in Where", func(p *probe) {
			p.rows(1, p.db.Where("id = (?)", p.db.Raw("SELECT max(id) FROM books")).Find(&[]book{}))
		}),
		write("Find of RETURNING", func(p *probe) { p.rows(1, p.db.Raw(insert).Find(&[]tag{})) }),
		write("Row of RETURNING", func(p *probe) { p.ok(p.db.Raw(insert).Row().Scan(new(int64))) }),
		write("Rows of RETURNING", func(p *probe) { p.drain(p.db.Raw(insert).Rows()) }),
		write("Row of FOR UPDATE", func(p *probe) { p.ok(p.db.Raw("SELECT id FROM books LIMIT 1 FOR UPDATE").Row().Scan(new(int64))) }),
		write("Rows of a sequence", func(p *probe) { p.drain(p.db.Raw("SELECT nextval('ticks')").Rows()) }),
		mixed("a read after RETURNING", `PR`, func(p *probe) {
			p.rows(1, p.db.Raw(insert).Scan(new(int64)))
			p.rows(4, p.db.Find(&[]tag{}))
		}),
	)...)
}

// drain reads rows to their end.
func (p *probe) drain(rows interface {
	Next() bool
	Err() error
	Close() error
}, err error,
) {
	p.ok(err)
	for rows.Next() {
	}
	p.ok(rows.Err())
	p.ok(rows.Close())
}

// execs are texts through Exec, where a read is a read too.
func execs() []*cell {
	var all []*cell
	for i, text := range rawReads {
		if i%4 == 0 {
			all = append(all, read(titled(text), func(p *probe) { p.ok(p.db.Exec(text).Error) }))
		}
	}
	for i, text := range rawWrites {
		if i%3 == 2 || strings.HasPrefix(text, "WITH") {
			all = append(all, write(titled(text), func(p *probe) { p.ok(p.db.Exec(text).Error) }))
		}
	}
	exec := func(text string, args ...any) *cell {
		return write(titled(text), func(p *probe) { p.ok(p.db.Exec(text, args...).Error) })
	}
	// managing: a read session lets pass what manages the session and changes no data.
	managing := func(c *cell) { c.readSession = writes }
	plain := func(c *cell) { c.plainOnly = true }
	return area("Exec", append(all,
		exec("INSERT INTO tags (name) VALUES (?)", "exec"),
		exec("UPDATE books SET price = ? WHERE id = ?", 5, 1),
		exec("DELETE FROM books WHERE id = ?", 1),
		exec("TRUNCATE covers"),
		exec("MERGE INTO tags t USING (VALUES ('red')) v(n) ON t.name = v.n WHEN MATCHED THEN UPDATE SET name = 'crimson'"),
		exec("SELECT title INTO copied FROM books").with(drops("DROP TABLE IF EXISTS copied")),
		exec("CREATE TABLE copied AS SELECT title FROM books").with(drops("DROP TABLE IF EXISTS copied")),
		exec("CREATE TEMP TABLE mine (id int) ON COMMIT DROP"),
		exec("CREATE INDEX by_title ON books (title)").with(drops("DROP INDEX IF EXISTS by_title")),
		exec("COMMENT ON TABLE books IS 'books'"),
		exec("GRANT SELECT ON books TO PUBLIC"),
		exec("ANALYZE books"),
		exec("CALL note_call('x')"),
		exec("DO $$ BEGIN PERFORM 1; END $$"),
		exec("NOTIFY news, 'x'"),
		exec("LISTEN news"),
		exec("UNLISTEN *"),
		exec("DISCARD PLANS").with(managing),
		exec("SET work_mem = '8MB'").with(managing),
		exec("RESET work_mem").with(managing),
		exec("SELECT 1; DELETE FROM books WHERE id = 3").with(plain),
		exec("INSERT INTO tags (name) VALUES ('a'); INSERT INTO tags (name) VALUES ('b')").with(plain),
		write("LOCK TABLE in a transaction", func(p *probe) {
			tx := p.db.Begin()
			p.ok(tx.Error)
			p.ok(tx.Exec("LOCK TABLE books IN SHARE MODE").Error)
			p.ok(tx.Rollback().Error)
		}),
		write("a cursor in a transaction", func(p *probe) {
			tx := p.db.Begin()
			p.ok(tx.Error)
			p.ok(tx.Exec("DECLARE c CURSOR FOR SELECT title FROM books").Error)
			p.rows(1, tx.Raw("FETCH 1 FROM c").Scan(new(string)))
			p.ok(tx.Rollback().Error)
		}),
		mixed("a read after Exec", `PR`, func(p *probe) {
			p.rows(1, p.db.Exec("INSERT INTO tags (name) VALUES ('exec')"))
			var n int64
			p.ok(p.db.Model(&tag{}).Count(&n).Error)
			require.EqualValues(p, 4, n)
		}),
	)...)
}

// drops removes what a cell has made.
func drops(text string) func(c *cell) { return func(c *cell) { c.remove = text } }

// titled is a text as the title of its cell.
func titled(text string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text) }
