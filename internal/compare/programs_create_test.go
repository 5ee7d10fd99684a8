package compare

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

func create(values func() any, chain ...func(db *gorm.DB) *gorm.DB) func(*run) {
	return func(r *run) {
		db := r.db
		for _, c := range chain {
			db = c(db)
		}
		v := values()
		r.did(db.Create(v), v)
		names(r)
	}
}

func full() any {
	return &User{
		Name: "gus", Email: ptr("gus@example.org"), Age: 20, Birthday: ptr(now), Address: Address{Street: "Main St"}, Tags: []string{"x", "y"},
		Settings: map[string]string{"k": "v"}, Extra: Extra{"deep": map[string]any{"n": 1.5}}, Company: &Company{Name: "Coop", Size: 3},
		Manager: &User{Name: "hal"}, Team: []User{{Name: "ida"}, {Name: "jim"}}, Account: Account{Number: "A-9", Money: Money{5}},
		Pets: []Pet{{Name: "elk", Toy: Toy{Name: "bone"}}, {Name: "fox"}}, Toys: []Toy{{Name: "kite"}}, Languages: []Language{{Code: "de"}, {Code: "it", Name: "Italian"}},
	}
}

var createPrograms = []program{
	{"create one", create(func() any { return &User{Name: "gus"} })},
	{"create everything", create(full)},
	{"create without associations", create(full, func(db *gorm.DB) *gorm.DB { return db.Omit(clause.Associations) })},
	{"create some associations", create(full, func(db *gorm.DB) *gorm.DB { return db.Select("Name", "Pets", "Languages") })},
	{"create, omit an association's column", create(full, func(db *gorm.DB) *gorm.DB { return db.Omit("Languages.*", "Pets.Name") })},
	{"create, full associations", create(full, func(db *gorm.DB) *gorm.DB { return db.Session(&gorm.Session{FullSaveAssociations: true}) })},
	{"create a slice", create(func() any { return []User{{Name: "gus"}, {Name: "hal"}, {Name: "ida"}} })},
	{"create a pointer to a slice", create(func() any { return &[]User{{Name: "gus"}, {Name: "hal"}} })},
	{"create a slice of pointers", create(func() any { return []*User{{Name: "gus", Pets: []Pet{{Name: "elk"}}}, {Name: "hal"}} })},
	{"create an array", create(func() any { return &[2]User{{Name: "gus"}, {Name: "hal"}} })},
	{"create an empty slice", create(func() any { return []User{} })},
	{"create nil", create(func() any { return nil })},
	{"create a nil pointer", create(func() any { return (*User)(nil) })},
	{"create a value", create(func() any { return User{Name: "gus"} })},
	{"create a number", create(func() any { return 7 })},
	{"create what is no table", create(func() any { return &struct{ A int }{1} })},
	{"create with Model of a map", create(func() any { return map[string]any{"Name": "gus", "Age": 3} }, func(db *gorm.DB) *gorm.DB { return db.Model(&User{}) })},
	{"create maps", create(func() any { return []map[string]any{{"Name": "gus"}, {"Name": "hal", "Age": 1}} }, func(db *gorm.DB) *gorm.DB { return db.Model(&User{}) })},
	{"create pointers to maps", create(func() any { return &[]map[string]any{{"Name": "gus"}, {"Name": "hal"}} }, func(db *gorm.DB) *gorm.DB { return db.Model(&User{}) })},
	{"create a map of a table", create(func() any { return map[string]any{"text": "third"} }, func(db *gorm.DB) *gorm.DB { return db.Table("notes") })},
	{"create with an expression", create(func() any {
		return map[string]any{"Name": clause.Expr{SQL: "upper(?)", Vars: []any{"gus"}}, "Age": gorm.Expr("1 + ?", 2)}
	}, func(db *gorm.DB) *gorm.DB { return db.Model(User{}) })},
	{"create with a key", create(func() any { return &User{Model: gorm.Model{ID: 100}, Name: "gus"} })},
	{"create with a key that is taken", create(func() any { return &User{Model: gorm.Model{ID: 1}, Name: "gus"} })},
	{"create a duplicate", create(func() any { return &User{Name: "gus", Email: ptr("ann@example.org")} })},
	{"create a duplicate in a batch", create(func() any { return []User{{Name: "gus"}, {Name: "hal", Email: ptr("ann@example.org")}} })},
	{"create what is too long", create(func() any { return &User{Name: "a name of more than twenty letters"} })},
	{"create against a check", create(func() any { return &Company{Name: "Coop", Size: -1} })},
	{"create against a foreign key", create(func() any { return &User{Name: "gus", CompanyID: ptr(uint(99))} })},
	{"create with a value that fails", create(func() any { return &Account{Money: Money{-1}} })},
	{"create without a name", create(func() any { return map[string]any{"Age": 1} }, func(db *gorm.DB) *gorm.DB { return db.Model(&User{}) })},
	{"create selected columns", create(func() any { return &User{Name: "gus", Age: 9, Score: 4} }, func(db *gorm.DB) *gorm.DB { return db.Select("Name", "Score") })},
	{"create with a column that is none", create(func() any { return &User{Name: "gus"} }, func(db *gorm.DB) *gorm.DB { return db.Select("Name", "Nothing") })},
	{"create with two keys", create(func() any { return &Line{OrderID: 3, Number: 1, Text: "x"} })},
	{"create a taken pair of keys", create(func() any { return &Line{OrderID: 1, Number: 1, Text: "x"} })},
	{"create without a key", create(func() any { return []Note{{"a", now}, {"b", now.Add(time.Hour)}} })},
	{"create with a text key", create(func() any { return &Language{"nl", "Dutch"} })},
	{"create in a table that is none", create(func() any { return &Note{Text: "x"} }, func(db *gorm.DB) *gorm.DB { return db.Table("nothing") })},
	{"create in another table", create(func() any { return &Note{Text: "x"} }, func(db *gorm.DB) *gorm.DB { return db.Table("drafts").Omit("At") })},
	{"create batches", func(r *run) {
		all := make([]Hooked, 7)
		r.did(r.db.CreateInBatches(&all, 3), all)
	}},
	{"create batches of a size that is none", func(r *run) {
		all := make([]Hooked, 2)
		r.guard(func() { r.did(r.db.CreateInBatches(&all, 0), all) })
	}},
	{"create batches, the second fails", func(r *run) {
		all := []Language{{"aa", ""}, {"bb", ""}, {"de", ""}, {"cc", ""}}
		r.did(r.db.CreateInBatches(all, 2), all)
	}},
	{"create batches by session", func(r *run) {
		all := make([]Hooked, 5)
		r.did(r.db.Session(&gorm.Session{CreateBatchSize: 2}).Create(&all), all)
	}},
	{"create batches of one value", func(r *run) {
		h := Hooked{Name: "x"}
		r.did(r.db.CreateInBatches(&h, 2), h)
	}},
	{"create and return", func(r *run) {
		u := User{Name: "gus"}
		r.did(r.db.Clauses(clause.Returning{}).Create(&u), u)
		v := User{Name: "hal"}
		r.did(r.db.Clauses(clause.Returning{Columns: []clause.Column{{Name: "score"}, {Name: "name"}}}).Create(&v), v)
	}},
	{"create and find", func(r *run) {
		for _, n := range []string{"gus", "hal", "ida", "jim"} {
			u := User{Name: n}
			r.did(r.db.Create(&u))
			var again User
			r.did(r.db.First(&again, u.ID), again)
			r.did(r.db.Where("name = ?", n).Take(&again), again.ID)
		}
	}},
	{"create the same value twice", func(r *run) {
		u := User{Name: "gus"}
		r.did(r.db.Create(&u), u.ID)
		r.did(r.db.Create(&u), u.ID)
	}},
	{"create a tree", func(r *run) {
		u := User{Name: "gus", Team: []User{{Name: "hal", Team: []User{{Name: "ida", Pets: []Pet{{Name: "elk", Toy: Toy{Name: "rod"}}}}}}}}
		r.did(r.db.Create(&u), u)
	}},
	{"create, an association fails", func(r *run) {
		u := User{Name: "gus", Pets: []Pet{{ID: 1, Name: "taken"}}, Company: &Company{Name: "Acme"}}
		r.did(r.db.Create(&u), u)
		v := User{Name: "hal", Company: &Company{Name: "Coop", Size: -5}}
		r.did(r.db.Create(&v), v)
		names(r)
	}},
}

var upsertPrograms = []program{
	{"upsert nothing", create(func() any { return &Language{"de", "Deutsch"} }, on(clause.OnConflict{DoNothing: true}))},
	{"upsert nothing in a batch", create(func() any { return []Language{{"de", "Deutsch"}, {"nl", "Dutch"}} }, on(clause.OnConflict{DoNothing: true}))},
	{"upsert everything", create(func() any { return &Language{"de", "Deutsch"} }, on(clause.OnConflict{UpdateAll: true}))},
	{"upsert everything of a model", create(func() any { return &User{Model: gorm.Model{ID: 1}, Name: "new"} }, on(clause.OnConflict{UpdateAll: true}))},
	{"upsert a column", create(func() any { return &User{Name: "gus", Age: 99, Email: ptr("ann@example.org")} },
		on(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, DoUpdates: clause.AssignmentColumns([]string{"age"})}))},
	{"upsert an expression", create(func() any { return &Line{OrderID: 1, Number: 1, Text: "x", Version: 5} },
		on(clause.OnConflict{Columns: []clause.Column{{Name: "order_id"}, {Name: "number"}}, DoUpdates: clause.Assignments(map[string]any{"version": gorm.Expr("lines.version + ?", 1)})}))},
	{"upsert on a condition", create(func() any { return &Language{"de", "Deutsch"} },
		on(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, Where: clause.Where{Exprs: []clause.Expression{clause.Eq{Column: "languages.name", Value: "none"}}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}))},
	{"upsert on a constraint", create(func() any { return &Language{"de", "Deutsch"} },
		on(clause.OnConflict{OnConstraint: "languages_pkey", DoUpdates: clause.AssignmentColumns([]string{"name"})}))},
	{"upsert on a constraint that is none", create(func() any { return &Language{"de", "Deutsch"} }, on(clause.OnConflict{OnConstraint: "nothing", DoNothing: true}))},
	{"upsert a batch that meets itself", create(func() any { return []Language{{"nl", "a"}, {"nl", "b"}} },
		on(clause.OnConflict{Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}))},
	{"upsert and return", func(r *run) {
		l := Language{"de", "Deutsch"}
		r.did(r.db.Clauses(clause.OnConflict{DoNothing: true}, clause.Returning{}).Create(&l), l)
		u := User{Name: "gus", Email: ptr("bob@example.org")}
		r.did(r.db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "email"}}, UpdateAll: true}, clause.Returning{}).Create(&u), u)
	}},
	{"upsert and read", func(r *run) {
		for i := range 3 {
			r.did(r.db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&Language{"de", string(rune('a' + i))}))
			var l Language
			r.did(r.db.Take(&l, "code = ?", "de"), l)
		}
	}},
}

func on(c clause.OnConflict) func(*gorm.DB) *gorm.DB {
	return func(db *gorm.DB) *gorm.DB { return db.Clauses(c) }
}
