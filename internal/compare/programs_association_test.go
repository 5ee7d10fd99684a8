package compare

import (
	"errors"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// associated works on an association of the first user, and reads it afterwards.
func associated(name string, work func(r *run, a *gorm.Association, u *User)) func(*run) {
	return func(r *run) {
		u := User{Model: gorm.Model{ID: 1}}
		a := r.db.Model(&u).Association(name)
		r.saw(a.Error)
		if a.Error == nil {
			work(r, a, &u)
			r.saw(u, a.Error, r.db.Model(&User{Model: gorm.Model{ID: 1}}).Association(name).Count())
		}
		var again User
		r.did(r.db.Preload(clause.Associations).First(&again, 1), again)
	}
}

var associationPrograms = []program{
	{"has many: find", associated("Pets", func(r *run, a *gorm.Association, _ *User) { var p []Pet; r.saw(a.Find(&p), p) })},
	{"has many: find by a condition", associated("Pets", func(r *run, a *gorm.Association, _ *User) { var p []Pet; r.saw(a.Find(&p, "name = ?", "bee"), p) })},
	{"has many: append", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Pet{Name: "elk"}, []Pet{{Name: "fox"}})) })},
	{"has many: append one that is there", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Pet{ID: 3, Name: "changed"})) })},
	{"has many: replace", associated("Pets", func(r *run, a *gorm.Association, _ *User) {
		r.saw(a.Replace([]Pet{{ID: 2, Name: "bee"}, {Name: "gnu"}}))
	})},
	{"has many: replace with nothing", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Replace()) })},
	{"has many: delete", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Delete(&Pet{ID: 1}, &Pet{ID: 3})) })},
	{"has many: delete for good", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Unscoped().Delete(&Pet{ID: 2})) })},
	{"has many: clear", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Clear()) })},
	{"has many: append fails", associated("Pets", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(7), a.Error) })},
	{"has many: append a duplicate", associated("Team", func(r *run, a *gorm.Association, _ *User) {
		r.saw(a.Append(&User{Name: "gus", Email: ptr("bob@example.org")}))
	})},
	{"has one: find", associated("Account", func(r *run, a *gorm.Association, _ *User) { var x Account; r.saw(a.Find(&x), x) })},
	{"has one: append", associated("Account", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Account{Number: "new"})) })},
	{"has one: replace", associated("Account", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Replace(&Account{ID: 3, Number: "A-3"})) })},
	{"has one: delete", associated("Account", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Delete(&Account{ID: 1})) })},
	{"has one: clear", associated("Account", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Unscoped().Clear()) })},
	{"belongs to: find", associated("Company", func(r *run, a *gorm.Association, _ *User) { var c Company; r.saw(a.Find(&c), c) })},
	{"belongs to: replace", associated("Company", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Replace(&Company{ID: 2, Name: "Brick"})) })},
	{"belongs to: append a new one", associated("Company", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Company{Name: "Coop"})) })},
	{"belongs to: append against a check", associated("Company", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Company{Name: "Coop", Size: -1})) })},
	{"belongs to: clear", associated("Company", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Clear()) })},
	{"belongs to: delete", associated("Company", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Delete(&Company{ID: 1})) })},
	{"belongs to itself: replace", associated("Manager", func(r *run, a *gorm.Association, _ *User) {
		r.saw(a.Replace(&User{Model: gorm.Model{ID: 2}, Name: "bob"}))
	})},
	{"many to many: find", associated("Languages", func(r *run, a *gorm.Association, _ *User) { var l []Language; r.saw(a.Find(&l), l) })},
	{"many to many: append", associated("Languages", func(r *run, a *gorm.Association, _ *User) {
		r.saw(a.Append(&Language{Code: "fr"}, &Language{Code: "it", Name: "Italian"}))
	})},
	{"many to many: append twice", associated("Languages", func(r *run, a *gorm.Association, _ *User) {
		r.saw(a.Append(&Language{Code: "fr"}), a.Count(), a.Append(&Language{Code: "fr"}), a.Count())
	})},
	{"many to many: replace", associated("Languages", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Replace([]Language{{Code: "fr", Name: "French"}})) })},
	{"many to many: delete", associated("Languages", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Delete(&Language{Code: "de"})) })},
	{"many to many: clear", associated("Languages", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Clear()) })},
	{"polymorphic: append", associated("Toys", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Append(&Toy{Name: "kite"})) })},
	{"polymorphic: replace", associated("Toys", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Replace(&Toy{Name: "kite"})) })},
	{"polymorphic: clear", associated("Toys", func(r *run, a *gorm.Association, _ *User) { r.saw(a.Clear()) })},
	{"an association that is none", associated("Nothing", func(*run, *gorm.Association, *User) {})},
	{"an association of nothing", func(r *run) {
		r.saw(r.db.Association("Pets").Error)
		r.guard(func() { r.saw(r.db.Model(&User{}).Association("Pets").Append(&Pet{Name: "x"})) })
		r.saw(r.db.Model(&User{}).Association("Pets").Count())
	}},
	{"an association of several", func(r *run) {
		u := []User{{Model: gorm.Model{ID: 1}}, {Model: gorm.Model{ID: 2}}}
		var p []Pet
		r.saw(r.db.Model(&u).Association("Pets").Find(&p), p, r.db.Model(&u).Association("Pets").Count())
		r.saw(r.db.Model(&u).Association("Languages").Append(&Language{Code: "fr"}, &Language{Code: "de"}))
		r.saw(r.db.Model(&u).Association("Pets").Replace(&Pet{Name: "x"}, &Pet{Name: "y"}), u)
		r.saw(r.db.Model(&u).Association("Pets").Append(&Pet{Name: "too few"}))
	}},
	{"an association with a condition", func(r *run) {
		u := User{Model: gorm.Model{ID: 1}}
		db := r.db.Model(&u).Where("code = ?", "en")
		r.saw(db.Association("Languages").Count())
		var l []Language
		r.saw(db.Order("code").Association("Languages").Find(&l), l)
	}},
	{"associations in a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			u := User{Model: gorm.Model{ID: 1}}
			r.saw(tx.Model(&u).Association("Pets").Append(&Pet{Name: "elk"}), tx.Model(&u).Association("Pets").Count())
			r.saw(tx.Model(&u).Association("Languages").Clear(), tx.Model(&u).Association("Languages").Count())
			return errors.New("taken back")
		}), r.db.Model(&User{Model: gorm.Model{ID: 1}}).Association("Languages").Count())
	}},
	{"a join table of its own", func(r *run) {
		var c []struct{ UserID, LanguageCode string }
		r.did(r.db.Table("user_languages").Order("user_id, language_code").Find(&c), c)
	}},
}

func preload(chain func(db *gorm.DB) *gorm.DB) func(*run) { return users(chain) }

var preloadPrograms = []program{
	{"preload has many", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets") })},
	{"preload has one", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Account") })},
	{"preload belongs to", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Company").Preload("Manager") })},
	{"preload many to many", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Languages") })},
	{"preload polymorphic", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Toys") })},
	{"preload everything", preload(func(db *gorm.DB) *gorm.DB { return db.Preload(clause.Associations) })},
	{"preload nested", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Team.Pets.Toy").Preload("Team.Team") })},
	{"preload nested everything", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets." + clause.Associations) })},
	{"preload by a condition", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets", "name <> ?", "ant") })},
	{"preload by a function", preload(func(db *gorm.DB) *gorm.DB {
		return db.Preload("Pets", func(db *gorm.DB) *gorm.DB { return db.Order("name desc").Select("id, user_id, name") })
	})},
	{"preload in many ways at once", preload(func(db *gorm.DB) *gorm.DB {
		return db.Preload("Toys").Preload("Pets", "id > 1").Preload("Account").Preload("Company").Preload("Languages", func(db *gorm.DB) *gorm.DB { return db.Order("code desc") })
	})},
	{"preload for nothing", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets").Where("1 = 0") })},
	{"preload nothing", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Nothing") })},
	{"preload nested nothing", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets.Nothing") })},
	{"preload by a mistake", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets", "nothing = 1") })},
	{"preload of a mistake", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets").Where("nothing = 1") })},
	{"preload that fails in the middle", preload(func(db *gorm.DB) *gorm.DB {
		return db.Preload("Pets", func(db *gorm.DB) *gorm.DB { return db.Select("id, user_id, (10 / (id - 2))::text AS name").Order("id") })
	})},
	{"preload a function that writes", preload(func(db *gorm.DB) *gorm.DB { return db.Preload("Pets", "note(name) > 0") })},
	{"preload deleted", preload(func(db *gorm.DB) *gorm.DB {
		return db.Unscoped().Preload("Manager", func(db *gorm.DB) *gorm.DB { return db.Unscoped() })
	})},
	{"preload into one", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Preload("Pets").Preload("Team.Account").First(&u, 1), &u
	})},
	{"preload into one that is not there", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Preload("Pets").First(&u, 99), &u })},
	{"preload over what is there", one(func(db *gorm.DB) (*gorm.DB, any) {
		u := User{Pets: []Pet{{Name: "old"}}}
		return db.Preload("Pets").Find(&u, 3), &u
	})},
	{"preload for update", preload(func(db *gorm.DB) *gorm.DB {
		return db.Clauses(clause.Locking{Strength: "UPDATE"}).Preload("Pets", func(db *gorm.DB) *gorm.DB { return db.Clauses(clause.Locking{Strength: "SHARE"}) })
	})},
	{"preload after a write", func(r *run) {
		for _, n := range []string{"elk", "fox"} {
			r.did(r.db.Create(&Pet{UserID: ptr(uint(1)), Name: n}))
			var u User
			r.did(r.db.Preload("Pets").First(&u, 1), u.Pets)
		}
	}},
	{"preload into maps", func(r *run) {
		var m []map[string]any
		r.guard(func() { r.did(r.db.Model(&User{}).Preload("Pets").Find(&m), len(m)) })
	}},
	{"preload with a select that lacks the key", preload(func(db *gorm.DB) *gorm.DB { return db.Select("name").Preload("Pets") })},
	{"preload embedded joins", preload(func(db *gorm.DB) *gorm.DB { return db.Joins("Manager").Preload("Manager.Pets") })},
}

var joinPrograms = []program{
	{"join an association", users(func(db *gorm.DB) *gorm.DB { return db.Joins("Company").Joins("Account") })},
	{"join inner", users(func(db *gorm.DB) *gorm.DB { return db.InnerJoins("Company") })},
	{"join on a condition", users(func(db *gorm.DB) *gorm.DB {
		return db.Joins("Company", db.Session(&gorm.Session{NewDB: true}).Where(&Company{Name: "Acme"}))
	})},
	{"join nested", users(func(db *gorm.DB) *gorm.DB { return db.Joins("Manager.Company") })},
	{"join by text", users(func(db *gorm.DB) *gorm.DB {
		return db.Joins("JOIN pets ON pets.user_id = users.id AND pets.name <> ?", "ant")
	})},
	{"join a table that is none", users(func(db *gorm.DB) *gorm.DB { return db.Joins("JOIN nothing ON true") })},
	{"join a subquery", users(func(db *gorm.DB) *gorm.DB {
		return db.Joins("JOIN (?) q ON q.user_id = users.id", db.Session(&gorm.Session{NewDB: true}).Model(&Pet{}).Select("user_id, count(*) n").Group("user_id")).Where("q.n > 1")
	})},
	{"join and count", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n int64
		return db.Model(&User{}).Joins("Company").Where("\"Company\".name = ?", "Acme").Count(&n), n
	})},
	{"join and select", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Model(&User{}).Select("users.name, companies.name AS company").Joins("LEFT JOIN companies ON companies.id = users.company_id").Order("users.id").Scan(&m), m
	})},
	{"join has many", users(func(db *gorm.DB) *gorm.DB { return db.Joins("Pets") })},
	{"join and update", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Model(&User{}).Joins("Company").Where("users.id = 1").Update("name", "x"), nil
	})},
	{"join and delete", update(func(db *gorm.DB) (*gorm.DB, any) {
		return db.Joins("Company").Where("users.id = 4").Delete(&User{}), nil
	})},
}
