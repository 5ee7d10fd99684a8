package compare

import (
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

var genericPrograms = []program{
	{"generic create", func(r *run) {
		u := User{Name: "gus", Pets: []Pet{{Name: "elk"}}}
		r.saw(gorm.G[User](r.db).Create(r.ctx, &u), u)
		names(r)
	}},
	{"generic create with a result", func(r *run) {
		result := gorm.WithResult()
		r.saw(gorm.G[Note](r.db, result).Create(r.ctx, &Note{Text: "x"}), result.RowsAffected, result.Error, result.Result == nil)
	}},
	{"generic exec with a result", func(r *run) {
		result := gorm.WithResult()
		r.saw(gorm.G[Note](r.db, result).Exec(r.ctx, "DELETE FROM notes"), result.RowsAffected, result.Error)
		if result.Result != nil {
			n, err := result.Result.RowsAffected()
			_, last := result.Result.LastInsertId()
			r.saw(n, err, last)
		}
	}},
	{"generic create batches", func(r *run) {
		h := make([]Hooked, 5)
		r.saw(gorm.G[Hooked](r.db).CreateInBatches(r.ctx, &h, 2), h)
	}},
	{"generic create a duplicate", func(r *run) { r.saw(gorm.G[Language](r.db).Create(r.ctx, &Language{Code: "de"})) }},
	{"generic upsert", func(r *run) {
		r.saw(gorm.G[Language](r.db, clause.OnConflict{UpdateAll: true}).Create(r.ctx, &Language{"de", "Deutsch"}))
		l, err := gorm.G[Language](r.db).Where("code = ?", "de").First(r.ctx)
		r.saw(l, err)
	}},
	{"generic first", func(r *run) {
		u, err := gorm.G[User](r.db).Where("age = ?", 30).First(r.ctx)
		r.saw(u, err)
		u, err = gorm.G[User](r.db).Last(r.ctx)
		r.saw(u, err)
		u, err = gorm.G[User](r.db).Where("name = ?", "bob").Take(r.ctx)
		r.saw(u, err)
		u, err = gorm.G[User](r.db).Where("name = ?", "nobody").Take(r.ctx)
		r.saw(u, err)
	}},
	{"generic find", func(r *run) {
		u, err := gorm.G[User](r.db).Where("age > ?", 20).Not("name = 'bob'").Order("id").Limit(2).Offset(1).Find(r.ctx)
		r.saw(u, err)
	}},
	{"generic find of a pointer", func(r *run) {
		u, err := gorm.G[*User](r.db).Order("id").Find(r.ctx)
		r.saw(u, err)
	}},
	{"generic find by a mistake", func(r *run) {
		u, err := gorm.G[User](r.db).Where("nothing = 1").Find(r.ctx)
		r.saw(u, err)
	}},
	{"generic count", func(r *run) {
		n, err := gorm.G[User](r.db).Where("age > 20").Count(r.ctx, "*")
		r.saw(n, err)
		n, err = gorm.G[User](r.db).Distinct("age").Count(r.ctx, "age")
		r.saw(n, err)
	}},
	{"generic update", func(r *run) {
		n, err := gorm.G[User](r.db).Where("age = 30").Update(r.ctx, "name", "new")
		r.saw(n, err)
		n, err = gorm.G[User](r.db).Where("id = 1").Updates(r.ctx, User{Name: "newer", Age: 5})
		r.saw(n, err)
		n, err = gorm.G[User](r.db).Update(r.ctx, "name", "all")
		r.saw(n, err)
		names(r)
	}},
	{"generic set", func(r *run) {
		n, err := gorm.G[User](r.db).Where("id = 2").Set(clause.Assignment{Column: clause.Column{Name: "name"}, Value: "set"}).Update(r.ctx)
		r.saw(n, err)
		r.saw(gorm.G[Language](r.db).Set(clause.Assignment{Column: clause.Column{Name: "code"}, Value: "xx"}).Create(r.ctx))
		names(r)
	}},
	{"generic delete", func(r *run) {
		n, err := gorm.G[User](r.db).Where("age = 30").Delete(r.ctx)
		r.saw(n, err)
		n, err = gorm.G[User](r.db).Delete(r.ctx)
		r.saw(n, err)
		names(r)
	}},
	{"generic raw", func(r *run) {
		u, err := gorm.G[User](r.db).Raw("SELECT * FROM users WHERE age > ? ORDER BY id", 29).Find(r.ctx)
		r.saw(u, err)
		var n int
		r.saw(gorm.G[User](r.db).Raw("SELECT count(*) FROM users").Scan(r.ctx, &n), n)
	}},
	{"generic rows", func(r *run) {
		rows, err := gorm.G[User](r.db).Select("id, name").Order("id").Rows(r.ctx)
		all(r, rows, err)
		var n int
		r.saw(gorm.G[User](r.db).Raw("SELECT count(*) FROM users").Row(r.ctx).Scan(&n), n)
	}},
	{"generic batches", func(r *run) {
		r.saw(gorm.G[User](r.db).Where("age > 1").FindInBatches(r.ctx, 2, func(page []User, batch int) error {
			r.saw(page, batch)
			if batch == 2 {
				return errApplication
			}
			return nil
		}))
	}},
	{"generic preload", func(r *run) {
		u, err := gorm.G[User](r.db).Preload("Pets", func(db gorm.PreloadBuilder) error { db.Order("name desc").LimitPerRecord(1); return nil }).Preload("Company", nil).Order("id").Find(r.ctx)
		r.saw(u, err)
		u, err = gorm.G[User](r.db).Preload("Pets", func(gorm.PreloadBuilder) error { return errApplication }).Find(r.ctx)
		r.saw(u, err)
	}},
	{"generic join", func(r *run) {
		u, err := gorm.G[User](r.db).Joins(clause.Has("Company"), nil).Order("users.id").Find(r.ctx)
		r.saw(u, err)
		u, err = gorm.G[User](r.db).Joins(clause.LeftJoin.Association("Account"), func(db gorm.JoinBuilder, _ clause.Table, _ clause.Table) error {
			db.Where(map[string]any{"number": "A-1"})
			return nil
		}).Order("users.id").Find(r.ctx)
		r.saw(u, err)
	}},
	{"generic in a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.saw(gorm.G[Note](tx).Create(r.ctx, &Note{Text: "x"}))
			n, err := gorm.G[Note](tx).Count(r.ctx, "*")
			r.saw(n, err)
			return errApplication
		}))
		n, err := gorm.G[Note](r.db).Count(r.ctx, "*")
		r.saw(n, err)
	}},
	{"generic table and scopes", func(r *run) {
		n, err := gorm.G[map[string]any](r.db).Table("adults").Scopes(func(s *gorm.Statement) { s.Where("age > 25") }).Order("id").Find(r.ctx)
		r.saw(n, err)
	}},
	{"generic for update", func(r *run) {
		u, err := gorm.G[User](r.db, clause.Locking{Strength: "UPDATE"}).Where("id = 1").First(r.ctx)
		r.saw(u, err)
	}},
	{"generic cancelled", func(r *run) {
		u, err := gorm.G[User](r.db).First(ended(r))
		r.saw(u, err, gorm.G[Note](r.db).Create(ended(r), &Note{}))
	}},
	{"one generic query twice", func(r *run) {
		q := gorm.G[User](r.db).Where("age < 30")
		for range 2 {
			u, err := q.Order("id").Find(r.ctx)
			r.saw(len(u), err)
			n, err := q.Count(r.ctx, "*")
			r.saw(n, err)
		}
	}},
}
