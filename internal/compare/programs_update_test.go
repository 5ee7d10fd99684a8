package compare

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// update runs an update, and reads afterwards.
func update(f func(db *gorm.DB) (*gorm.DB, any)) func(*run) { return then(one(f), names) }

var updatePrograms = []program{
	{"update a column", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 1}}
		return db.Model(&u).Update("name", "new"), &u
	})},
	{"update by a condition", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("age = ?", 30).Update("name", "thirty"), nil
	})},
	{"update nothing", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("age = ?", 99).Update("name", "none"), nil
	})},
	{"updates of a struct", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 2}}
		return db.Model(&u).Updates(User{Name: "new", Age: 0, Score: 7}), &u
	})},
	{"updates of a map", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 2}}
		return db.Model(&u).Updates(map[string]any{"name": "new", "age": 0, "birthday": nil}), &u
	})},
	{"updates of selected fields", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("id = 1").Select("Name", "Age").Updates(User{Name: "new"}), nil
	})},
	{"updates of all fields but", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{Model: gorm.Model{ID: 5}}).Select("*").Omit("CompanyID", "CreatedAt").Updates(User{Name: "new"}), nil
	})},
	{"update an expression", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("age < 30").Update("name", gorm.Expr("name || ?", "!")), nil
	})},
	{"update a subquery", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("company_id IS NOT NULL").Update("name", db.Model(&Company{}).Select("name").Where("companies.id = users.company_id")), nil
	})},
	{"update columns", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 1}}
		return db.Model(&u).UpdateColumns(map[string]any{"name": "new", "age": 1}), &u
	})},
	{"update everything", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&User{}).Update("name", "new"), nil })},
	{"update everything, allowed", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Session(&gorm.Session{AllowGlobalUpdate: true}).Model(&User{}).Update("name", "new"), nil
	})},
	{"update deleted", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Unscoped().Model(&User{}).Where("id = 6").Update("name", "back"), nil
	})},
	{"update and return", func(r *run) {
		var u []User
		r.did(r.db.Model(&u).Clauses(clause.Returning{}).Where("age = 30").Update("name", "new"), u)
		r.did(r.db.Model(&u).Clauses(clause.Returning{Columns: []clause.Column{{Name: "name"}}}).Where("age = 99").Update("name", "new"), u)
	}},
	{"update a slice", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := []User{{Model: gorm.Model{ID: 1}}, {Model: gorm.Model{ID: 2}}}
		return db.Model(&u).Update("name", "both"), u
	})},
	{"update a table", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Table("users").Where("id IN ?", []int{1, 2}).Updates(map[string]any{"name": "new"}), nil
	})},
	{"update with a join", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("id IN (?)", db.Model(&Pet{}).Select("user_id")).Update("name", "keeper"), nil
	})},
	{"update to a duplicate", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("id = 2").Update("email", "ann@example.org"), nil
	})},
	{"update against a check", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&Company{ID: 1}).Update("size", -4), nil })},
	{"update against a foreign key", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&Account{ID: 1}).Update("user_id", 99), nil })},
	{"update a column that is none", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&User{}).Where("id = 1").Update("nothing", 1), nil })},
	{"update to a wrong type", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&User{}).Where("id = 1").Update("age", "old"), nil })},
	{"update too large a number", one(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Exec("UPDATE users SET age = 1e30 WHERE id = 1"), nil
	})},
	{"update without a model", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Where("id = 1").Update("name", "x"), nil })},
	{"update with hooks", func(r *run) {
		h := Hooked{ID: 1}
		r.did(r.db.Model(&h).Updates(Hooked{Name: "new"}), h)
		r.did(r.db.Model(&h).UpdateColumn("name", "quiet"), h)
		r.did(r.db.Session(&gorm.Session{SkipHooks: true}).Model(&h).Update("name", "skipped"), h)
	}},
	{"update against a trigger", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&Hooked{ID: 1}).Update("seen", 101), nil })},
	{"update a serialized field", func(r *run) {
		r.did(r.db.Model(&User{}).Where("id = 1").Updates(User{Tags: []string{"z"}, Settings: map[string]string{"s": "t"}, Extra: Extra{"e": "f"}}))
		var u User
		r.did(r.db.First(&u, 1), u.Tags, u.Settings, u.Extra)
	}},
	{"update the optimistic way", func(r *run) {
		raise := func(seen int) {
			tx := r.db.Model(&Line{}).Where("order_id = 1 AND number = 1 AND version = ?", seen).
				Updates(map[string]any{"text": gorm.Expr("text || '!'"), "version": gorm.Expr("version + 1")})
			r.did(tx)
			var l Line
			r.did(r.db.First(&l, "order_id = 1 AND number = 1"), l)
		}
		raise(1)
		raise(1)
		raise(2)
	}},
	{"update and read, many times", func(r *run) {
		for i := range 8 {
			r.did(r.db.Model(&Company{ID: 1}).Update("size", i))
			var c Company
			r.did(r.db.First(&c, 1), c.Size)
		}
	}},
	{"update many at once by a case", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("id IN ?", []int{1, 2, 3}).Update("age", gorm.Expr("CASE id WHEN 1 THEN ? WHEN 2 THEN ? ELSE age END", 1, 2)), nil
	})},
	{"update from", one(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Clauses(clause.From{Tables: []clause.Table{{Name: "companies"}}}).Where("companies.id = users.company_id").Update("name", gorm.Expr("companies.name")), nil
	})},
	{"update without a clause", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Model(&User{}).Updates(User{}), nil })},
}

var savePrograms = []program{
	{"save a new one", update(func(db *gorm.DB) (*gorm.DB, any) { u := User{Name: "gus"}; return db.Save(&u), &u })},
	{"save a known one", update(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		db.First(&u, 1)
		u.Name, u.Age = "new", 0
		return db.Save(&u), &u
	})},
	{"save one that is not there", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 50}, Name: "gus"}
		return db.Save(&u), &u
	})},
	{"save one that is deleted", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 6}, Name: "back"}
		return db.Save(&u), &u
	})},
	{"save with a condition", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 1}, Name: "new"}
		return db.Where("age = 99").Save(&u), &u
	})},
	{"save selected", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 1}, Name: "new", Age: 5}
		return db.Select("Name").Save(&u), &u
	})},
	{"save a slice", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := []User{{Model: gorm.Model{ID: 1}, Name: "one"}, {Name: "gus"}}
		return db.Save(&u), u
	})},
	{"save a value", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Save(User{Model: gorm.Model{ID: 1}, Name: "new"}), nil })},
	{"save a duplicate", update(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 50}, Name: "gus", Email: ptr("ann@example.org")}
		return db.Save(&u), &u
	})},
	{"save everything that was preloaded", func(r *run) {
		var u User
		r.did(r.db.Preload(clause.Associations).First(&u, 1), u)
		u.Name = "new"
		u.Pets[0].Name = "changed"
		u.Account.Number = "changed"
		u.Languages = u.Languages[:1]
		r.did(r.db.Save(&u), u)
		r.did(r.db.Session(&gorm.Session{FullSaveAssociations: true}).Save(&u), u)
		var again User
		r.did(r.db.Preload(clause.Associations).First(&again, 1), again)
	}},
	{"save two keys", one(func(db *gorm.DB) (*gorm.DB, any) {
		l := Line{OrderID: 1, Number: 2, Text: "new"}
		return db.Save(&l), l
	})},
	{"save with hooks", one(func(db *gorm.DB) (*gorm.DB, any) { h := Hooked{ID: 2, Name: "new"}; return db.Save(&h), h })},
	{"save with hooks, not there", one(func(db *gorm.DB) (*gorm.DB, any) { h := Hooked{ID: 9, Name: "new"}; return db.Save(&h), h })},
	{"save nil", func(r *run) { r.guard(func() { r.did(r.db.Save(nil)) }) }},
	{"save a map", one(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Where("id = 1").Save(map[string]any{"name": "x"}), nil
	})},
	{"save with times of its own", one(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Model: gorm.Model{ID: 1, CreatedAt: now.Add(-time.Hour), UpdatedAt: now.Add(-time.Hour)}, Name: "x"}
		return db.Save(&u), &u
	})},
	{"reload before an update", func(r *run) {
		u := User{Name: "gus"}
		r.did(r.db.Create(&u))
		for range 4 {
			var again User
			r.did(r.db.First(&again, u.ID), again.Age)
			again.Age++
			r.did(r.db.Save(&again), again.Age)
		}
	}},
}

var deletePrograms = []program{
	{"delete softly", update(func(db *gorm.DB) (*gorm.DB, any) { u := User{Model: gorm.Model{ID: 3}}; return db.Delete(&u), &u })},
	{"delete by key", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&User{}, 3), nil })},
	{"delete by keys", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&User{}, []int{3, 4, 99}), nil })},
	{"delete by a condition", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Where("age = 30").Delete(&User{}), nil })},
	{"delete what is not there", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&User{}, 99), nil })},
	{"delete what is deleted", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&User{}, 6), nil })},
	{"delete everything", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&User{}), nil })},
	{"delete everything, allowed", one(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Session(&gorm.Session{AllowGlobalUpdate: true}).Delete(&Note{}), nil
	})},
	{"delete for good", then(one(func(db *gorm.DB) (*gorm.DB, any) { return db.Unscoped().Delete(&User{}, 6), nil }), names)},
	{"delete against a foreign key", update(func(db *gorm.DB) (*gorm.DB, any) { return db.Unscoped().Delete(&User{}, 1), nil })},
	{"delete and return", func(r *run) {
		var gone []Line
		r.did(r.db.Clauses(clause.Returning{}).Where("order_id = 1").Delete(&gone), gone)
		var codes []Language
		r.did(r.db.Clauses(clause.Returning{Columns: []clause.Column{{Name: "code"}}}).Where("code = 'fr'").Delete(&codes), codes)
	}},
	{"delete with associations", func(r *run) {
		r.anyOrder = true // that of GORM's map
		r.did(r.db.Select("Account", "Pets", "Languages", "Toys").Delete(&User{Model: gorm.Model{ID: 1}}))
	}},
	{"delete with all associations", func(r *run) {
		r.anyOrder = true // that of GORM's map
		r.did(r.db.Select(clause.Associations).Delete(&User{Model: gorm.Model{ID: 5}}))
	}},
	{"delete with an association that is none", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Select("Nothing").Delete(&User{Model: gorm.Model{ID: 5}}), nil
	})},
	{"delete two keys", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&Line{OrderID: 1, Number: 2}), nil })},
	{"delete a slice", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Delete(&[]User{{Model: gorm.Model{ID: 3}}, {Model: gorm.Model{ID: 4}}}), nil
	})},
	{"delete with hooks", one(func(db *gorm.DB) (*gorm.DB, any) { h := Hooked{ID: 2}; return db.Delete(&h), h })},
	{"delete from a table", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Table("notes").Where("text = 'first'").Delete(nil), nil })},
	{"delete without a model", func(r *run) { r.guard(func() { r.did(r.db.Where("1 = 1").Delete(nil)) }) }},
	{"delete by a mistake", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Where("nothing = 1").Delete(&Note{}), nil })},
	{"delete by a condition of the model", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Delete(&Line{Text: "one"}, "text = ?", "one"), nil })},
	{"delete, then look", func(r *run) {
		for _, code := range []string{"fr", "fr"} {
			r.did(r.db.Delete(&Language{Code: code}))
			var n int64
			r.did(r.db.Model(&Language{}).Count(&n), n)
			var l Language
			r.did(r.db.First(&l, "code = ?", code), l)
		}
	}},
	{"delete with a limit", one(func(db *gorm.DB) (*gorm.DB, any) { return db.Limit(1).Where("1 = 1").Delete(&Note{}), nil })},
}
