package compare

import (
	"database/sql"
	"fmt"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// at is how everything of PostgreSQL's types arrives in a map.
func arrives(expression string) func(*run) {
	return func(r *run) {
		m := map[string]any{}
		r.did(r.db.Raw("SELECT "+expression+" AS v").Scan(&m), m)
		var s struct{ V sql.NullString }
		r.did(r.db.Raw("SELECT "+expression+" AS v").Scan(&s), s)
		var v any
		r.saw(r.db.Raw("SELECT "+expression).Row().Scan(&v), v)
	}
}

var typePrograms = []program{
	{"numbers", arrives("1::smallint")},
	{"numerics", arrives("12345.678::numeric")},
	{"floats", arrives("1.25::real")},
	{"booleans", arrives("true")},
	{"times", arrives("'2024-02-03 04:05:06.789+02'::timestamptz")},
	{"times without a zone", arrives("'2024-02-03 04:05:06'::timestamp")},
	{"dates", arrives("'2024-02-03'::date")},
	{"intervals", arrives("'1 day 2 hours'::interval")},
	{"bytes", arrives(`'\x0102ff'::bytea`)},
	{"uuids", arrives("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid")},
	{"json", arrives(`'{"a": [1, null]}'::jsonb`)},
	{"arrays", arrives("ARRAY[1, 2, NULL]")},
	{"arrays of texts", arrives("ARRAY['a', 'b c']")},
	{"ranges", arrives("int4range(1, 5)")},
	{"addresses", arrives("'10.0.0.1/8'::inet")},
	{"infinities", arrives("'infinity'::timestamptz")},
	{"rows as a value", arrives("ROW(1, 'x')")},
	{"nulls", arrives("NULL::int")},
	{"large objects of text", arrives("repeat('ab', 5000)")},
	{"text that is not plain", arrives("'zażółć 日本 '' \"x\"'")},
	{"values there and back", func(r *run) {
		u := User{Name: "gus", Active: sql.NullBool{Bool: true, Valid: true}, Score: 2.5, Birthday: ptr(now.Add(123456 * time.Microsecond)), Address: Address{"a", sql.NullString{String: "b", Valid: true}}, Extra: Extra{"x": []any{1.0, "y"}}}
		r.did(r.db.Create(&u))
		var again User
		r.did(r.db.First(&again, u.ID), again)
		r.did(r.db.Where(&User{Active: u.Active, Score: 2.5}).Find(&again), again.ID)
		r.did(r.db.Where("birthday = ?", u.Birthday).Find(&again), again.ID)
	}},
	{"serialized fields that are broken", func(r *run) {
		r.did(r.db.Exec("UPDATE users SET tags = 'no json' WHERE id = 2"))
		var all []User
		r.did(r.db.Order("id").Find(&all), all)
		r.did(r.db.Where("id = 1").Find(&all), all)
	}},
	{"scanners that fail", func(r *run) {
		var x []struct{ Money Money }
		r.did(r.db.Raw("SELECT 'text' AS money").Scan(&x), x)
		r.did(r.db.Table("users").Select("id, name AS money").Find(&x), x)
	}},
	{"zero values", func(r *run) {
		r.did(r.db.Create(&User{}))
		r.did(r.db.Create(&User{Name: "z", Score: 0, Age: 0, Active: sql.NullBool{Valid: true}, Email: ptr("")}))
		var all []User
		r.did(r.db.Where("id > 6").Order("id").Find(&all), all)
	}},
	{"a key beyond 32 bits", func(r *run) {
		r.did(r.db.Create(&Hooked{ID: 1 << 40, Name: "big"}))
		var h Hooked
		r.did(r.db.First(&h, uint64(1<<40)), h)
	}},
	{"text with a zero byte", func(r *run) {
		r.did(r.db.Create(&Note{Text: "a\x00b"}))
		r.did(r.db.Where("text = ?", "a\x00b").Find(&[]Note{}))
	}},
	{"text that is no UTF-8", func(r *run) {
		r.did(r.db.Create(&Note{Text: "a\xff"}))
		r.did(r.db.Where("text = ?", "a\xff").Find(&[]Note{}))
	}},
}

// together runs work in several goroutines at once.
func together(n int, work func(r *run, i int)) func(*run) {
	return func(r *run) {
		r.anyOrder = true
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { r.guard(func() { work(r, i) }) })
		}
		all.Wait()
	}
}

var togetherPrograms = []program{
	{"reads together", together(8, func(r *run, i int) {
		var u User
		r.did(r.db.Preload("Pets").Find(&u, i+1), i, u)
	})},
	{"writes together", together(6, func(r *run, i int) {
		r.did(r.db.Create(&Note{Text: fmt.Sprint("note ", i), At: now}))
		var n int64
		r.did(r.db.Model(&Note{}).Where("text = ?", fmt.Sprint("note ", i)).Count(&n), n)
	})},
	{"mistakes together", together(6, func(r *run, i int) {
		r.did(r.db.Raw("SELECT 1 / (? - ?::int)", i, 3).Scan(ptr(0)), i)
	})},
	{"transactions together", together(5, func(r *run, i int) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Create(&Language{Code: fmt.Sprint("x", i)}))
			var n int64
			r.did(tx.Model(&Language{}).Where("code = ?", fmt.Sprint("x", i)).Count(&n), n)
			if i%2 == 0 {
				return errApplication
			}
			return nil
		}))
	})},
	{"one session together", func(r *run) {
		db := r.db.Model(&User{}).Where("age > 20").Session(&gorm.Session{})
		together(6, func(r *run, i int) {
			var n int64
			r.did(db.Where("id > ?", i).Count(&n), i, n)
		})(r)
	}},
	{"statements together in one transaction", func(r *run) {
		tx := r.db.Begin()
		together(4, func(r *run, i int) {
			r.did(tx.Create(&Line{OrderID: 9, Number: i}))
		})(r)
		r.saw(tx.Commit().Error)
	}},
	{"upserts together", together(6, func(r *run, i int) {
		r.saw(r.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Language{Code: "it", Name: "Italian"}).Error)
		var l Language
		r.did(r.db.First(&l, "code = ?", "it"), l)
	})},
	{"counters together", func(r *run) {
		together(6, func(r *run, i int) {
			r.saw(r.db.Model(&Company{ID: 1}).Update("size", gorm.Expr("size + 1")).Error)
		})(r)
		var c Company
		r.did(r.db.First(&c, 1), c)
	}},
	{"reads of raw text together, prepared", func(r *run) {
		db := r.db.Session(&gorm.Session{PrepareStmt: true})
		together(6, func(r *run, i int) {
			var n int
			r.did(db.Raw("SELECT count(*) FROM users WHERE id > ?", i).Scan(&n), i, n)
		})(r)
	}},
}

var oddPrograms = []program{
	{"a table named in the schema", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Table("public.languages").Order("code").Find(&m), m
	})},
	{"a table with an alias", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Table("users AS u").Select("u.name").Where("u.id < 3").Order("u.id").Find(&m), m
	})},
	{"a table from a function", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []int
		return db.Table("generate_series(?::int, ?::int) g", 1, 3).Select("g").Find(&n), n
	})},
	{"a model that is a pointer to a pointer", one(func(db *gorm.DB) (*gorm.DB, any) { u := &User{}; return db.First(&u, 1), u })},
	{"a model without fields", func(r *run) { r.guard(func() { r.did(r.db.Table("users").Find(&struct{}{})) }) }},
	{"a destination of an interface", func(r *run) {
		var v any = &User{}
		r.did(r.db.First(v, 1), v)
		r.guard(func() { r.did(r.db.Find(&v, 1)) })
	}},
	{"map columns", users(func(db *gorm.DB) *gorm.DB {
		return db.Select("id, name AS title").MapColumns(map[string]string{"title": "name"})
	})},
	{"where with an order by in a literal", users(func(db *gorm.DB) *gorm.DB { return db.Where("name <> 'FOR UPDATE; DELETE FROM users --'") })},
	{"where with text that would write", users(func(db *gorm.DB) *gorm.DB { return db.Where("name = ?", "'; DELETE FROM users; --") })},
	{"order by what a user sends", users(func(db *gorm.DB) *gorm.DB {
		return db.Order(clause.OrderByColumn{Column: clause.Column{Name: "name"}, Desc: true})
	})},
	{"limit by an expression", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("SELECT name FROM users ORDER BY id LIMIT (SELECT count(*) FROM companies)").Scan(&n), n
	})},
	{"a window", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Model(&User{}).Select("name, row_number() OVER (PARTITION BY age ORDER BY id) AS n").Order("id").Scan(&m), m
	})},
	{"a lateral join", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Table("users u").Select("u.name, p.n").Joins("CROSS JOIN LATERAL (SELECT count(*) AS n FROM pets WHERE user_id = u.id) p").Order("u.id").Scan(&m), m
	})},
	{"a recursive query", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("WITH RECURSIVE t AS (SELECT id, name FROM users WHERE id = 1 UNION ALL SELECT u.id, u.name FROM users u JOIN t ON u.manager_id = t.id) SELECT name FROM t ORDER BY id").Scan(&n), n
	})},
	{"a full text search", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Model(&User{}).Where("to_tsvector('english', name) @@ to_tsquery('english', ?)", "ann | bob").Order("id").Pluck("name", &n), n
	})},
	{"a random order", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Model(&User{}).Order("random()").Pluck("name", &n), len(n)
	})},
	{"columns of the system", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("SELECT ctid::text FROM languages ORDER BY code").Scan(&n), n
	})},
	{"tables of the system", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("SELECT column_name FROM information_schema.columns WHERE table_name = 'pets' ORDER BY 1").Scan(&n), n
	})},
	{"one statement changed by hand", func(r *run) {
		tx := r.db.Session(&gorm.Session{NewDB: true}).Model(&User{})
		tx.Statement.Dest = &[]User{}
		tx.Statement.AddClause(clause.Where{Exprs: []clause.Expression{clause.Eq{Column: "id", Value: 1}}})
		tx.Statement.Build("WHERE")
		r.saw(tx.Statement.SQL.String(), tx.Statement.Vars)
	}},
	{"a query through the processor", func(r *run) {
		tx := r.db.Model(&User{}).Where("id = ?", 1)
		tx.Statement.Dest = &User{}
		r.did(tx.Callback().Query().Execute(tx), tx.Statement.Dest)
	}},
	{"an application's own statement type", func(r *run) {
		stmt := &gorm.Statement{DB: r.db}
		r.saw(stmt.Parse(&User{}), stmt.Schema.Table, len(stmt.Schema.Relationships.Relations))
	}},
	{"a row updated while it is read", func(r *run) {
		var h []Hooked
		r.did(r.db.Order("id").Find(&h))
		for i := range h {
			r.did(r.db.Model(&h[i]).Update("seen", h[i].Seen*2))
			var again Hooked
			r.did(r.db.Take(&again, h[i].ID), again.Seen)
		}
	}},
	{"an outbox", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.did(tx.Create(&Note{Text: "event", At: now}))
			return nil
		}))
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			var n []Note
			r.did(tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Where("text = 'event'").Find(&n), n)
			r.did(tx.Where("text = 'event'").Delete(&Note{}))
			return nil
		}))
		var n int64
		r.did(r.db.Model(&Note{}).Where("text = 'event'").Count(&n), n)
	}},
	{"drafts, which replicas do not have", func(r *run) {
		r.did(r.db.Exec("INSERT INTO drafts (text) VALUES ('second')"))
		var n []string
		r.did(r.db.Table("drafts").Order("id").Pluck("text", &n), n)
		var c int64
		r.did(r.db.Table("drafts").Where("text = ?", "second").Count(&c), c)
	}},
	{"a page, a count, a sum", func(r *run) {
		page := func(db *gorm.DB) *gorm.DB { return db.Limit(2).Offset(2) }
		var all []User
		var n int64
		var sum sql.NullFloat64
		r.did(r.db.Scopes(page).Order("id").Find(&all), all)
		r.did(r.db.Model(&User{}).Count(&n), n)
		r.saw(r.db.Model(&User{}).Select("sum(score)").Row().Scan(&sum), sum)
	}},
}
