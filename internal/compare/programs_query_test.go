package compare

import (
	"database/sql"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

var queryPrograms = []program{
	{"first", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u), &u })},
	{"last", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Last(&u), &u })},
	{"take", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Order("id").Take(&u, "name = ?", "bob"), &u })},
	{"first by key", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u, 2), &u })},
	{"first by key as text", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u, "2"), &u })},
	{"first by what is no key", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u, "ann"), &u })},
	{"first by the destination's key", one(func(db *gorm.DB) (*gorm.DB, any) { u := User{Model: gorm.Model{ID: 3}}; return db.First(&u), &u })},
	{"first of nothing", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u, 99), &u })},
	{"last of nothing", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Where("age > 99").Last(&u), &u })},
	{"take keeps the destination", one(func(db *gorm.DB) (*gorm.DB, any) { u := User{Name: "keep"}; return db.Take(&u, "age > 99"), &u })},
	{"first without a model", one(func(db *gorm.DB) (*gorm.DB, any) { m := map[string]any{}; return db.Table("users").First(&m), m })},
	{"first of a model into a map", one(func(db *gorm.DB) (*gorm.DB, any) { m := map[string]any{}; return db.Model(&User{}).First(&m), m })},
	{"take into a map", one(func(db *gorm.DB) (*gorm.DB, any) {
		m := map[string]any{"before": 1}
		return db.Table("users").Select("id, name").Order("id").Take(&m), m
	})},
	{"first deleted", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.First(&u, 6), &u })},
	{"first deleted, unscoped", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Unscoped().First(&u, 6), &u })},
	{"find into a value", one(func(db *gorm.DB) (*gorm.DB, any) { u := User{}; return db.Find(u), u })},
	{"find into nil", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Find(nil), nil })},
	{"find into a nil pointer", func(r *run) { var u *User; r.guard(func() { r.did(r.db.First(u), u) }) }},
	{"find into a pointer to a nil pointer", one(func(db *gorm.DB) (*gorm.DB, any) { var u *User; return db.First(&u), u })},
	{"find into a number", one(func(db *gorm.DB) (*gorm.DB, any) { var n int; return db.Model(&User{}).Select("count(*)").Find(&n), n })},
	{"find into an array", one(func(db *gorm.DB) (*gorm.DB, any) { var u [3]Language; return db.Order("code").Find(&u), u })},
	{"find into a slice with values", one(func(db *gorm.DB) (*gorm.DB, any) { l := []Language{{"xx", "old"}}; return db.Order("code").Find(&l), l })},
	{"find into maps", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Table("lines").Order("text").Find(&m), m
	})},
	{"find into maps with one", one(func(db *gorm.DB) (*gorm.DB, any) {
		m := []map[string]any{{"before": 1}}
		return db.Model(&Line{}).Order("text").Find(&m), m
	})},
	{"find into a smaller struct", one(func(db *gorm.DB) (*gorm.DB, any) {
		var s []struct {
			ID   uint
			Name string
		}
		return db.Model(&User{}).Order("id").Find(&s), s
	})},
	{"find pointers", find[*User](func(db *gorm.DB) *gorm.DB { return db.Order("id") })},
	{"find all", users(func(db *gorm.DB) *gorm.DB { return db })},
	{"find nothing", users(func(db *gorm.DB) *gorm.DB { return db.Where("1 = 0") })},
	{"find by a struct", users(func(db *gorm.DB) *gorm.DB { return db.Where(&User{Age: 30}) })},
	{"find by fields of a struct", users(func(db *gorm.DB) *gorm.DB { return db.Where(&User{Age: 30}, "age", "score") })},
	{"find by a map", users(func(db *gorm.DB) *gorm.DB { return db.Where(map[string]any{"age": []int{30, 17}, "company_id": nil}) })},
	{"find by keys", users(func(db *gorm.DB) *gorm.DB { return db.Where([]int64{1, 3, 99}) })},
	{"find in", users(func(db *gorm.DB) *gorm.DB { return db.Where("name IN ?", []string{"ann", "eve"}) })},
	{"find in nothing", users(func(db *gorm.DB) *gorm.DB { return db.Where("name IN ?", []string{}) })},
	{"find by pairs", find[Line](func(db *gorm.DB) *gorm.DB {
		return db.Where("(order_id, number) IN ?", [][]any{{1, 1}, {2, 1}}).Order("text")
	})},
	{"find by name", users(func(db *gorm.DB) *gorm.DB {
		return db.Where("name = @n OR age < @a", sql.Named("n", "ann"), sql.Named("a", 20))
	})},
	{"find by names of a map", users(func(db *gorm.DB) *gorm.DB { return db.Where("name = @n", map[string]any{"n": "ann"}) })},
	{"find not", users(func(db *gorm.DB) *gorm.DB { return db.Not("age = ?", 30).Not(map[string]any{"name": []string{"ann"}}) })},
	{"find or", users(func(db *gorm.DB) *gorm.DB { return db.Where("age = ?", 17).Or("age = ?", 25).Or(User{Name: "bob"}) })},
	{"find by groups", users(func(db *gorm.DB) *gorm.DB {
		n := db.Session(&gorm.Session{NewDB: true})
		return db.Where(n.Where("age > 20").Where(n.Where("name = 'ann'").Or("name = 'bob'")))
	})},
	{"find by a nil pointer", users(func(db *gorm.DB) *gorm.DB {
		var e *string
		return db.Where("email = ?", e).Or(map[string]any{"email": e})
	})},
	{"find by clauses", users(func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.Where{Exprs: []clause.Expression{clause.Gte{Column: "age", Value: 30}}}, clause.Limit{Limit: ptr(2)})
	})},
	{"find by a subquery", users(func(db *gorm.DB) *gorm.DB {
		return db.Where("age > (?)", db.Session(&gorm.Session{NewDB: true}).Model(&User{}).Select("avg(age)"))
	})},
	{"find from a subquery", func(r *run) {
		var all []map[string]any
		r.did(r.db.Table("(?) AS u", r.db.Model(&User{}).Select("name", "age")).Where("u.age < ?", 30).Order("name").Find(&all), all)
	}},
	{"find with order, limit and offset", users(func(db *gorm.DB) *gorm.DB { return db.Order("age desc").Limit(2).Offset(1) })},
	{"find with a limit taken back", users(func(db *gorm.DB) *gorm.DB { return db.Limit(1).Offset(4).Limit(-1).Offset(-1) })},
	{"find with a limit of nothing", users(func(db *gorm.DB) *gorm.DB { return db.Limit(0) })},
	{"find selected", users(func(db *gorm.DB) *gorm.DB { return db.Select("id", "name") })},
	{"find an expression", users(func(db *gorm.DB) *gorm.DB { return db.Select("id, upper(name) AS name, age + ? AS age", 100) })},
	{"find omitted", users(func(db *gorm.DB) *gorm.DB { return db.Omit("name", "Age") })},
	{"find with the model's fields", users(func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{QueryFields: true}) })},
	{"find by scopes", users(func(db *gorm.DB) *gorm.DB {
		return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("age > 20") }, func(db *gorm.DB) *gorm.DB { return db.Limit(2) })
	})},
	{"find by a scope that fails", users(func(db *gorm.DB) *gorm.DB {
		return db.Scopes(func(db *gorm.DB) *gorm.DB { _ = db.AddError(errApplication); return db })
	})},
	{"find by a scope that queries", func(r *run) {
		var all []User
		r.did(r.db.Scopes(func(db *gorm.DB) *gorm.DB {
			var n int64
			r.did(db.Session(&gorm.Session{NewDB: true}).Model(&Company{}).Count(&n), n)
			return db.Where("age > ?", n)
		}).Order("id").Find(&all), all)
	}},
	{"find for update", users(func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "UPDATE"}) })},
	{"find for share, by a scope", users(func(db *gorm.DB) *gorm.DB {
		return db.Scopes(func(db *gorm.DB) *gorm.DB {
			return db.Clauses(clause.Locking{Strength: "SHARE", Options: "SKIP LOCKED"})
		})
	})},
	{"find what a view shows", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Table("adults").Order("id").Find(&m), m
	})},
	{"find what replicas cannot read", one(func(db *gorm.DB) (*gorm.DB, any) { var m []map[string]any; return db.Table("drafts").Find(&m), m })},
	{"find a sample", find[Language](func(db *gorm.DB) *gorm.DB { return db.Table("languages TABLESAMPLE SYSTEM (100)").Order("code") })},
	{"distinct", one(func(db *gorm.DB) (*gorm.DB, any) {
		var a []int
		return db.Model(&User{}).Distinct("age").Order("age").Find(&a), a
	})},
	{"distinct pluck", one(func(db *gorm.DB) (*gorm.DB, any) {
		var a []int
		return db.Model(&User{}).Distinct().Order("age").Pluck("age", &a), a
	})},
	{"pluck two", one(func(db *gorm.DB) (*gorm.DB, any) { var a []string; return db.Model(&User{}).Pluck("name, age", &a), a })},
	{"pluck into a wrong type", one(func(db *gorm.DB) (*gorm.DB, any) {
		var a []int
		return db.Model(&User{}).Order("id").Pluck("name", &a), a
	})},
	{"pluck nulls into texts", one(func(db *gorm.DB) (*gorm.DB, any) {
		var a []string
		return db.Model(&User{}).Order("id").Pluck("email", &a), a
	})},
	{"pluck without a model", one(func(db *gorm.DB) (*gorm.DB, any) { var a []string; return db.Pluck("name", &a), a })},
	{"count", one(func(db *gorm.DB) (*gorm.DB, any) { var n int64; return db.Model(&User{}).Count(&n), n })},
	{"count distinct", one(func(db *gorm.DB) (*gorm.DB, any) { var n int64; return db.Model(&User{}).Distinct("age").Count(&n), n })},
	{"count groups", one(func(db *gorm.DB) (*gorm.DB, any) { var n int64; return db.Model(&User{}).Group("age").Count(&n), n })},
	{"count what is selected", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n int64
		return db.Model(&User{}).Select("company_id").Count(&n), n
	})},
	{"count with an order and preloads", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n int64
		return db.Model(&User{}).Preload("Pets").Order("id").Limit(2).Count(&n), n
	})},
	{"count without a model", one(func(db *gorm.DB) (*gorm.DB, any) { var n int64; return db.Count(&n), n })},
	{"count of a table that is none", one(func(db *gorm.DB) (*gorm.DB, any) { n := int64(7); return db.Table("nothing").Count(&n), n })},
	{"group and have", one(func(db *gorm.DB) (*gorm.DB, any) {
		var g []struct {
			Age int
			N   int64
		}
		return db.Model(&User{}).Select("age, count(*) AS n").Group("age").Having("count(*) > ?", 1).Find(&g), g
	})},
	{"one chain for a count and a page", func(r *run) {
		chain := r.db.Model(&User{}).Where("age >= ?", 25)
		var n int64
		var page []User
		r.did(chain.Count(&n), n)
		r.did(chain.Order("id").Limit(2).Find(&page), page)
		r.did(chain.Offset(2).Find(&page), page)
	}},
	{"one handle for two statements", func(r *run) {
		tx := r.db.Where("age = ?", 30)
		var a, b []User
		r.did(tx.Order("id").Find(&a), a)
		r.did(tx.Where("score > 1").Find(&b), b)
	}},
	{"a shared session of conditions", func(r *run) {
		base := r.db.Model(&User{}).Where("age < ?", 30).Session(&gorm.Session{})
		for i := range 3 {
			var all []string
			r.did(base.Where("id > ?", i).Order("id").Pluck("name", &all), all)
		}
	}},
	{"a result used again", func(r *run) {
		var u User
		tx := r.db.First(&u, 1)
		r.did(tx)
		var v User
		r.did(tx.First(&v, 2), v)
		r.did(tx.Session(&gorm.Session{NewDB: true}).First(&v, 2), v)
		r.did(tx.Exec("UPDATE users SET age = age + 1"))
		names(r)
	}},
	{"find in batches", func(r *run) {
		var page []User
		r.did(r.db.FindInBatches(&page, 2, func(tx *gorm.DB, batch int) error {
			r.did(tx, batch, page)
			return nil
		}), page)
	}},
	{"find in batches, stop", func(r *run) {
		var page []User
		r.did(r.db.Where("age > 1").FindInBatches(&page, 2, func(tx *gorm.DB, batch int) error {
			if batch == 2 {
				return errApplication
			}
			return nil
		}), page)
	}},
	{"find in batches and save", func(r *run) {
		var page []User
		r.did(r.db.FindInBatches(&page, 2, func(tx *gorm.DB, _ int) error {
			for i := range page {
				page[i].Age++
			}
			saved := tx.Save(&page)
			r.did(saved)
			return nil
		}))
		names(r)
	}},
	{"find in batches of deleted", func(r *run) {
		var page []Hooked
		r.did(r.db.FindInBatches(&page, 1, func(tx *gorm.DB, batch int) error {
			r.did(tx.Session(&gorm.Session{NewDB: true}).Delete(&page))
			return nil
		}))
	}},
	{"find in batches with a limit and an order", func(r *run) {
		var page []User
		r.did(r.db.Limit(3).Order("age").FindInBatches(&page, 2, func(tx *gorm.DB, batch int) error {
			r.saw(batch, len(page), tx.RowsAffected)
			return nil
		}))
	}},
	{"find in batches without a key", func(r *run) {
		var page []Note
		r.guard(func() { r.did(r.db.FindInBatches(&page, 1, func(*gorm.DB, int) error { return nil })) })
	}},
	{"find in batches of maps", func(r *run) {
		var page []map[string]any
		r.guard(func() {
			r.did(r.db.Table("users").FindInBatches(&page, 2, func(*gorm.DB, int) error { return nil }), len(page))
		})
	}},
	{"find in batches that panic", func(r *run) {
		var page []User
		r.guard(func() {
			r.db.FindInBatches(&page, 2, func(*gorm.DB, int) error { panic(fmt.Sprint("batch ", len(page))) })
		})
		names(r)
	}},
	{"order by an expression", users(func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.OrderBy{Expression: clause.Expr{SQL: "array_position(ARRAY[?]::int[], age::int)", Vars: []any{[]int{17, 30}}, WithoutParentheses: true}})
	})},
	{"with a common table", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("WITH old AS (SELECT * FROM users WHERE age > ?) SELECT name FROM old ORDER BY id", 29).Scan(&n), n
	})},
	{"with a common table that writes", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []string
		return db.Raw("WITH gone AS (DELETE FROM notes RETURNING text) SELECT text FROM gone ORDER BY 1").Scan(&n), n
	})},
}
