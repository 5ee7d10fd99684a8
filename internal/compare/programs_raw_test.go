package compare

import (
	"database/sql"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// raw runs a statement with Exec and, where it returns rows, with Scan.
func raw(text string, values ...any) func(*run) {
	return func(r *run) {
		r.did(r.db.Exec(text, values...))
		var m []map[string]any
		r.did(r.db.Raw(text, values...).Scan(&m), m)
	}
}

var rawPrograms = []program{
	{"raw select", raw("SELECT id, name FROM users ORDER BY id")},
	{"raw values", raw("VALUES (1, 'a'), (2, 'b')")},
	{"raw table", raw("TABLE languages")},
	{"raw union", raw("(SELECT name FROM users ORDER BY id LIMIT 1) UNION ALL (SELECT name FROM companies ORDER BY id LIMIT 1)")},
	{"raw with values", raw("SELECT name FROM users WHERE age > ? AND name IN ? ORDER BY id", 20, []string{"ann", "bob"})},
	{"raw with names", raw("SELECT name FROM users WHERE age > @age ORDER BY id", sql.Named("age", 20))},
	{"raw with a name twice", raw("SELECT name FROM users WHERE age > @a OR score > @a ORDER BY id", map[string]any{"a": 8})},
	{"raw with numbers", raw("SELECT $1::int + $2::int AS n", 1, 2)},
	{"raw with a comment first", raw("/* who asks */ SELECT 1 AS n")},
	{"raw with a question mark in a literal", raw("SELECT '?' AS q, ? AS v", "x")},
	{"raw explain", raw("EXPLAIN (COSTS OFF) SELECT * FROM users WHERE id = 1")},
	{"raw explain of a write", raw("EXPLAIN (COSTS OFF) DELETE FROM notes")},
	{"raw explain that writes", raw("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) DELETE FROM notes")},
	{"raw show", raw("SHOW search_path")},
	{"raw insert", raw("INSERT INTO notes (text) VALUES (?)", "raw")},
	{"raw insert that returns", raw("INSERT INTO notes (text) VALUES (?) RETURNING text", "raw")},
	{"raw insert from a select", raw("INSERT INTO notes (text) SELECT name FROM languages")},
	{"raw update", raw("UPDATE users SET age = age + 1 WHERE id = ?", 1)},
	{"raw delete", raw("DELETE FROM notes WHERE text = ?", "first")},
	{"raw merge", raw("MERGE INTO languages l USING (VALUES ('de', 'x'), ('xx', 'y')) v (code, name) ON l.code = v.code WHEN MATCHED THEN UPDATE SET name = v.name WHEN NOT MATCHED THEN INSERT VALUES (v.code, v.name)")},
	{"raw truncate", raw("TRUNCATE notes")},
	{"raw with a writing common table", raw("WITH w AS (INSERT INTO notes (text) VALUES ('w') RETURNING text) SELECT count(*) FROM w")},
	{"raw nextval", raw("SELECT nextval('hookeds_id_seq') AS n")},
	{"raw select into", func(r *run) {
		r.did(r.db.Exec("SELECT id, name INTO raw_copy FROM users WHERE age < 30"))
		var m []map[string]any
		r.did(r.db.Table("raw_copy").Order("id").Find(&m), m)
	}},
	{"raw create table as", func(r *run) {
		r.did(r.db.Exec("CREATE TABLE raw_made AS SELECT code FROM languages"))
		var n int64
		r.did(r.db.Table("raw_made").Count(&n), n)
		r.did(r.db.Exec("INSERT INTO raw_made VALUES ('xx')"))
		r.did(r.db.Table("raw_made").Count(&n), n)
	}},
	{"raw create view", func(r *run) {
		r.did(r.db.Exec("CREATE VIEW raw_view AS SELECT name FROM users WHERE age = 30"))
		var n []string
		r.did(r.db.Table("raw_view").Order("name").Pluck("name", &n), n)
	}},
	{"raw materialized view", func(r *run) {
		r.did(r.db.Exec("CREATE MATERIALIZED VIEW raw_mat AS SELECT count(*) AS n FROM notes"))
		r.did(r.db.Exec("INSERT INTO notes (text) VALUES ('x')"))
		var n int64
		r.did(r.db.Raw("SELECT n FROM raw_mat").Scan(&n), n)
		r.did(r.db.Exec("REFRESH MATERIALIZED VIEW raw_mat"))
		r.did(r.db.Raw("SELECT n FROM raw_mat").Scan(&n), n)
	}},
	{"raw do", func(r *run) {
		r.did(r.db.Exec("DO $$ BEGIN INSERT INTO notes (text) VALUES ('done'); END $$"))
		var n int64
		r.did(r.db.Model(&Note{}).Count(&n), n)
	}},
	{"raw call", func(r *run) {
		r.did(r.db.Exec("CREATE PROCEDURE raw_proc(t text) LANGUAGE sql AS 'INSERT INTO notes (text) VALUES (t)'"))
		r.did(r.db.Exec("CALL raw_proc(?)", "called"))
		var n int64
		r.did(r.db.Model(&Note{}).Where("text = 'called'").Count(&n), n)
		r.did(r.db.Exec("DROP PROCEDURE raw_proc"))
	}},
	{"raw listen and notify", raw("NOTIFY somebody, 'x'")},
	{"raw lock", func(r *run) {
		r.did(r.db.Exec("LOCK TABLE notes"))
		r.saw(r.db.Transaction(func(tx *gorm.DB) error { return tx.Exec("LOCK TABLE notes IN EXCLUSIVE MODE").Error }))
	}},
	{"raw begin and commit as text", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Exec("BEGIN"))
			r.did(tx.Exec("INSERT INTO notes (text) VALUES ('text')"))
			var n int64
			r.did(tx.Model(&Note{}).Count(&n), n)
			r.did(tx.Exec("COMMIT"))
		})
		var n int64
		r.did(r.db.Model(&Note{}).Count(&n), n)
	}},
	{"raw advisory lock", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			var got bool
			r.did(tx.Raw("SELECT pg_try_advisory_xact_lock(7)").Scan(&got), got)
			r.did(r.db.Raw("SELECT pg_try_advisory_xact_lock(7)").Scan(&got), got)
			return nil
		}))
	}},
	{"raw temporary table", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Exec("CREATE TEMP TABLE raw_temp (n int)"))
			r.did(tx.Exec("INSERT INTO raw_temp VALUES (1), (2)"))
			var n []int
			r.did(tx.Raw("SELECT n FROM raw_temp ORDER BY n").Scan(&n), n)
			r.did(tx.Table("raw_temp").Order("n").Pluck("n", &n), n)
			r.did(tx.Exec("DROP TABLE raw_temp"))
		})
	}},
	{"raw settings on a connection", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Exec("SET application_name = 'mine'"))
			var name string
			r.did(tx.Raw("SHOW application_name").Scan(&name), name)
			r.did(tx.Raw("SELECT current_setting('application_name')").Scan(&name), name)
			r.did(tx.Exec("RESET application_name"))
		})
	}},
	{"raw settings in a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Exec("SET LOCAL app.tenant = '7'"))
			var tenant string
			r.did(tx.Raw("SELECT current_setting('app.tenant')").Scan(&tenant), tenant)
			return nil
		}))
	}},
	{"raw cursor", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Exec("DECLARE c CURSOR FOR SELECT name FROM users ORDER BY id"))
			var n []string
			r.did(tx.Raw("FETCH 2 FROM c").Scan(&n), n)
			r.did(tx.Raw("FETCH 2 FROM c").Scan(&n), n)
			return tx.Exec("CLOSE c").Error
		}))
	}},
	{"raw prepared by hand", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Exec("PREPARE byhand (int) AS SELECT name FROM users WHERE id = $1"))
			var n string
			r.did(tx.Raw("EXECUTE byhand (2)").Scan(&n), n)
			r.did(tx.Exec("DEALLOCATE byhand"))
		})
	}},
	{"raw joined with clauses", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("SELECT name FROM users WHERE ? ORDER BY id", clause.And(clause.Eq{Column: "age", Value: 30}, clause.Gt{Column: "score", Value: 1})).Scan(&n), n
	})},
	{"raw with a subquery", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n int64
		return db.Raw("SELECT count(*) FROM (?) q", db.Model(&User{}).Where("age > ?", 20)).Scan(&n), n
	})},
	{"raw and a chain", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u []User
		return db.Raw("SELECT * FROM users ORDER BY id").Where("age = 1").Limit(1).Find(&u), len(u)
	})},
	{"raw with more values than the protocol takes", func(r *run) {
		many := make([]int, 70000)
		var n int64
		quiet := r.db.Session(&gorm.Session{Logger: logger.Discard}) // it would write down all of them
		r.saw(quiet.Model(&User{}).Where("id IN ?", many).Count(&n).Error)
	}},
	{"raw array", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("SELECT name FROM users WHERE id = ANY(?) ORDER BY id", []int64{1, 2}).Scan(&n), n
	})},
	{"raw json operators", raw("SELECT extra->>'k' AS k, extra ?? 'k' AS has FROM users WHERE extra IS NOT NULL ORDER BY id")},
	{"raw rows of a huge text", one(func(db *gorm.DB) (*gorm.DB, any) {
		var s string
		return db.Raw("SELECT repeat('x', 100000)").Scan(&s), len(s)
	})},
}
