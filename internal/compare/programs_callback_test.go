package compare

import (
	"context"
	"errors"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// tell is a callback that records when it runs and what it sees.
func tell(name string) func(*gorm.DB) {
	return func(db *gorm.DB) {
		if r := runOf(db); r != nil {
			r.add("callback %s table=%q rows=%d dry=%v error=%v sql=%q", name, db.Statement.Table, db.RowsAffected, db.DryRun, db.Error, db.Statement.SQL.String())
		}
	}
}

// observe registers callbacks around everything.
func observe(db *gorm.DB) {
	c := db.Callback()
	var errs []error
	for _, p := range []struct {
		name     string
		register func(before bool, name string) error
	}{
		{"create", func(before bool, name string) error {
			if before {
				return c.Create().Before("gorm:create").Register(name, tell(name))
			}
			return c.Create().After("gorm:create").Register(name, tell(name))
		}},
		{"query", func(before bool, name string) error {
			if before {
				return c.Query().Before("gorm:query").Register(name, tell(name))
			}
			return c.Query().After("gorm:query").Register(name, tell(name))
		}},
		{"update", func(before bool, name string) error {
			if before {
				return c.Update().Before("gorm:update").Register(name, tell(name))
			}
			return c.Update().After("gorm:update").Register(name, tell(name))
		}},
		{"delete", func(before bool, name string) error {
			if before {
				return c.Delete().Before("gorm:delete").Register(name, tell(name))
			}
			return c.Delete().After("gorm:delete").Register(name, tell(name))
		}},
		{"row", func(before bool, name string) error {
			if before {
				return c.Row().Before("gorm:row").Register(name, tell(name))
			}
			return c.Row().After("gorm:row").Register(name, tell(name))
		}},
		{"raw", func(before bool, name string) error {
			if before {
				return c.Raw().Before("gorm:raw").Register(name, tell(name))
			}
			return c.Raw().After("gorm:raw").Register(name, tell(name))
		}},
	} {
		errs = append(errs, p.register(true, "app:before_"+p.name), p.register(false, "app:after_"+p.name))
	}
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}

// everything runs a statement of every kind.
func everything(r *run, db *gorm.DB) {
	r.did(db.Create(&User{Name: "gus", Pets: []Pet{{Name: "elk"}}, Company: &Company{Name: "Coop"}}))
	r.did(db.Preload("Pets").Order("id").Find(&[]User{}))
	r.did(db.First(&User{}, 99))
	r.did(db.Model(&User{}).Where("id = 1").Update("name", "new"))
	r.did(db.Delete(&User{}, 2))
	r.did(db.Exec("DELETE FROM notes WHERE text = 'first'"))
	r.did(db.Exec("SELEKT"))
	rows, err := db.Model(&Pet{}).Order("id").Rows()
	all(r, rows, err)
	var n int64
	r.did(db.Model(&Note{}).Count(&n), n)
	r.saw(db.Transaction(func(tx *gorm.DB) error { return tx.Save(&Hooked{ID: 1, Name: "x"}).Error }))
	r.did(db.Session(&gorm.Session{DryRun: true}).Create(&Note{}))
}

// observed runs everything on a handle with callbacks of its own.
func observed(before bool, register func(r *run, db *gorm.DB)) func(*run) {
	return func(r *run) {
		var db *gorm.DB
		if before {
			db = r.open(r.mode.config, func(db *gorm.DB) { register(r, db) })
		} else {
			db = r.open(r.mode.config, nil)
			register(r, db)
		}
		everything(r, db)
		names(r)
	}
}

// countRuns is a plugin of an application.
type countRuns struct{ r *run }

// Name implements gorm.Plugin.
func (countRuns) Name() string { return "app:count" }

// Initialize implements gorm.Plugin.
func (p countRuns) Initialize(db *gorm.DB) error {
	p.r.add("plugin initialized, dialect %s", db.Name())
	observe(db)
	return nil
}

var callbackPrograms = []program{
	{"callbacks registered before", observed(true, func(_ *run, db *gorm.DB) { observe(db) })},
	{"callbacks registered after", observed(false, func(_ *run, db *gorm.DB) { observe(db) })},
	{"callbacks before and after everything", observed(false, func(r *run, db *gorm.DB) {
		c := db.Callback()
		r.saw(c.Query().Before("*").Register("app:first", tell("first")), c.Query().After("*").Register("app:last", tell("last")))
		r.saw(c.Create().Before("*").Register("app:first", tell("first")), c.Create().After("*").Register("app:last", tell("last")))
		r.saw(c.Update().Before("gorm:before_update").Register("app:u", tell("u")), c.Delete().After("gorm:after_delete").Register("app:d", tell("d")))
	})},
	{"a callback that fails", observed(false, func(r *run, db *gorm.DB) {
		r.saw(db.Callback().Create().Before("gorm:create").Register("app:fail", func(db *gorm.DB) { _ = db.AddError(errApplication) }))
		r.saw(db.Callback().Query().Before("gorm:query").Register("app:fail", func(db *gorm.DB) {
			if db.Statement.Table == "pets" {
				_ = db.AddError(errApplication)
			}
		}))
	})},
	{"a callback that panics", func(r *run) {
		db := r.open(r.mode.config, nil)
		r.saw(db.Callback().Create().After("gorm:create").Register("app:panic", func(*gorm.DB) { panic("in a callback") }))
		r.guard(func() { r.did(db.Create(&Note{Text: "x"})) })
		r.guard(func() { _ = db.Transaction(func(tx *gorm.DB) error { return tx.Create(&Note{Text: "x"}).Error }) })
		var n int64
		r.did(db.Model(&Note{}).Count(&n), n)
	}},
	{"a callback that adds a condition", observed(true, func(r *run, db *gorm.DB) {
		r.saw(db.Callback().Query().Before("gorm:query").Register("app:tenant", func(db *gorm.DB) {
			if db.Statement.Schema != nil && db.Statement.Schema.Table == "users" {
				db.Statement.AddClause(clause.Where{Exprs: []clause.Expression{clause.Lt{Column: "users.id", Value: 4}}})
			}
		}))
	})},
	{"a callback that queries", observed(false, func(r *run, db *gorm.DB) {
		r.saw(db.Callback().Update().After("gorm:update").Register("app:audit", func(db *gorm.DB) {
			s := db.Session(&gorm.Session{NewDB: true, SkipHooks: true})
			var n int64
			r.did(s.Model(&Note{}).Count(&n), n)
			r.did(s.Create(&Note{Text: "audit of " + db.Statement.Table}))
		}))
	})},
	{"callbacks replaced and removed", observed(false, func(r *run, db *gorm.DB) {
		c := db.Callback()
		query := c.Query().Get("gorm:query")
		r.saw(c.Query().Replace("gorm:query", func(db *gorm.DB) { tell("instead")(db); query(db) }))
		r.saw(c.Create().Remove("gorm:before_create"), c.Query().Get("gorm:preload") != nil)
	})},
	{"callbacks removed before", observed(true, func(r *run, db *gorm.DB) {
		c := db.Callback()
		r.saw(c.Create().Remove("gorm:save_after_associations"), c.Delete().Remove("gorm:after_delete"))
	})},
	{"a cache that answers instead", observed(false, func(r *run, db *gorm.DB) {
		r.saw(db.Callback().Query().Replace("gorm:query", func(db *gorm.DB) { db.RowsAffected = 0; tell("cached")(db) }))
	})},
	{"a callback that changes the text", observed(true, func(r *run, db *gorm.DB) {
		r.saw(db.Callback().Raw().Before("gorm:raw").Register("app:comment", func(db *gorm.DB) {
			text := db.Statement.SQL.String()
			db.Statement.SQL = strings.Builder{}
			db.Statement.SQL.WriteString("/* app */ " + text)
		}))
	})},
	{"a plugin before", observed(true, func(r *run, db *gorm.DB) { r.saw(db.Use(countRuns{r}), db.Use(countRuns{r})) })},
	{"a plugin after", observed(false, func(r *run, db *gorm.DB) { r.saw(db.Use(countRuns{r}), db.Use(countRuns{r})) })},
	{"a handle from before the plugin", func(r *run) {
		r.anyOrder = true // AutoMigrate goes through maps
		var early *gorm.DB
		db := r.open(r.mode.config, func(db *gorm.DB) { early = db.WithContext(r.ctx) })
		nameOf(r, early)
		r.did(rename(early, "early"))
		nameOf(r, db)
		r.did(rename(db, "late"))
		nameOf(r, early)
		r.saw(early.Transaction(func(tx *gorm.DB) error { nameOf(r, tx); return rename(tx, "in a transaction").Error }))
		nameOf(r, early)
		nameOf(r, db)
		rows, err := early.Model(&Pet{}).Order("id").Rows()
		all(r, rows, err)
		r.saw(early.AutoMigrate(&User{}), early.Migrator().HasTable("users"))
	}},
}

// during runs work on Hooked values, where one hook does something.
func during(hook string, do func(r *run, tx *gorm.DB, h *Hooked) error) func(*run) {
	return func(r *run) {
		ctx := context.WithValue(r.ctx, hookKey(hook), func(tx *gorm.DB, h *Hooked) error { return do(r, tx, h) })
		db := r.db.WithContext(ctx)
		h := Hooked{Name: "new"}
		r.did(db.Create(&h), h)
		r.did(db.Model(&h).Update("seen", 4), h)
		h.Seen = 5
		r.did(db.Save(&h), h)
		var found []Hooked
		r.did(db.Order("id").Find(&found), found)
		r.did(db.First(&Hooked{}, 99))
		r.did(db.Where("id = 1").Delete(&h), h)
		r.did(db.Create(&[]Hooked{{Name: "a"}, {Name: "b"}}))
	}
}

func fails(*run, *gorm.DB, *Hooked) error { return errApplication }

func changes(_ *run, tx *gorm.DB, _ *Hooked) error {
	tx.Statement.SetColumn("Seen", 50)
	return nil
}

func readsAndWrites(r *run, tx *gorm.DB, h *Hooked) error {
	var n int64
	r.did(tx.Session(&gorm.Session{NewDB: true, SkipHooks: true}).Model(&Hooked{}).Count(&n), n)
	r.did(tx.Session(&gorm.Session{NewDB: true}).Create(&Note{Text: "hook of " + h.Name}))
	r.did(tx.Session(&gorm.Session{NewDB: true}).Model(&Note{}).Count(&n), n)
	return nil
}

var hookPrograms = []program{
	{"hooks", during("none", nil)},
	{"before save fails", during("BeforeSave", fails)},
	{"before create fails", during("BeforeCreate", fails)},
	{"after create fails", during("AfterCreate", fails)},
	{"after save fails", during("AfterSave", fails)},
	{"before update fails", during("BeforeUpdate", fails)},
	{"after update fails", during("AfterUpdate", fails)},
	{"before delete fails", during("BeforeDelete", fails)},
	{"after delete fails", during("AfterDelete", fails)},
	{"after find fails", during("AfterFind", fails)},
	{"before save changes", during("BeforeSave", changes)},
	{"before update changes", during("BeforeUpdate", changes)},
	{"before create reads and writes", during("BeforeCreate", readsAndWrites)},
	{"after save reads and writes", during("AfterSave", readsAndWrites)},
	{"after find reads and writes", during("AfterFind", readsAndWrites)},
	{"after delete reads and writes", during("AfterDelete", readsAndWrites)},
	{"after find begins transactions", during("AfterFind", func(r *run, tx *gorm.DB, h *Hooked) error {
		return tx.Session(&gorm.Session{NewDB: true}).Transaction(func(tx *gorm.DB) error {
			r.did(tx.Create(&Note{Text: h.Name}))
			var n int64
			r.did(tx.Model(&Note{}).Count(&n), n)
			return nil
		})
	})},
	{"after save breaks the transaction", during("AfterSave", func(r *run, tx *gorm.DB, _ *Hooked) error {
		r.did(tx.Session(&gorm.Session{NewDB: true}).Exec("SELECT 1 / 0"))
		return nil
	})},
	{"before save panics", func(r *run) {
		ctx := context.WithValue(r.ctx, hookKey("BeforeSave"), func(*gorm.DB, *Hooked) error { panic("in a hook") })
		r.guard(func() { r.did(r.db.WithContext(ctx).Create(&Hooked{Name: "x"})) })
		r.guard(func() {
			_ = r.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return tx.Create(&Hooked{Name: "x"}).Error })
		})
		r.did(r.db.Create(&Hooked{Name: "y"}))
	}},
	{"a hook uses another context", during("AfterCreate", func(r *run, tx *gorm.DB, _ *Hooked) error {
		var n int64
		r.did(tx.Session(&gorm.Session{NewDB: true, Context: context.Background()}).Model(&Hooked{}).Count(&n), n)
		return nil
	})},
	{"a hook asks what changed", during("BeforeUpdate", func(r *run, tx *gorm.DB, _ *Hooked) error {
		r.saw(tx.Statement.Changed("Seen"), tx.Statement.Changed("Name"), tx.Statement.Changed())
		return nil
	})},
}
