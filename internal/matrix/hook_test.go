package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// hookActions are what hooks do.
var hookActions = []struct {
	name string
	do   func(tx *gorm.DB) error
	read bool
}{
	{"reads", func(tx *gorm.DB) error {
		var n int64
		if err := tx.Preload("Books").First(&author{}).Error; err != nil {
			return err
		}
		return tx.Model(&tag{}).Count(&n).Error
	}, true},
	{"writes", func(tx *gorm.DB) error { return tx.Create(&note{Text: "hook"}).Error }, false},
	{"reads by Raw, writes by Exec", func(tx *gorm.DB) error {
		if err := tx.Raw("SELECT count(*) FROM notes").Scan(new(int64)).Error; err != nil {
			return err
		}
		return tx.Exec("UPDATE notes SET text = 'hook' WHERE id = 1").Error
	}, false},
	{"begins a transaction", func(tx *gorm.DB) error {
		return tx.Transaction(func(tx *gorm.DB) error {
			if err := tx.Find(&[]tag{}).Error; err != nil {
				return err
			}
			return tx.Create(&note{Text: "hook"}).Error
		})
	}, false},
}

// hooked are hooks of every kind that read, write and begin transactions.
func hooked() []*cell {
	create := func(tx *gorm.DB) error { return tx.Create(&diary{Title: "new"}).Error }
	update := func(tx *gorm.DB) error { return tx.Model(&diary{ID: 1}).Update("title", "new").Error }
	save := func(tx *gorm.DB) error { return tx.Save(&diary{ID: 1, Title: "new"}).Error }
	remove := func(tx *gorm.DB) error { return tx.Delete(&diary{ID: 1}).Error }
	var all []*cell
	for _, h := range []struct {
		name string
		by   string
		run  func(tx *gorm.DB) error
	}{
		{"BeforeSave", "Create", create}, {"BeforeCreate", "Create", create}, {"AfterCreate", "Create", create}, {"AfterSave", "Create", create},
		{"BeforeSave", "Save", save}, {"BeforeUpdate", "Update", update}, {"AfterUpdate", "Update", update}, {"AfterSave", "Save", save},
		{"BeforeDelete", "Delete", remove}, {"AfterDelete", "Delete", remove},
	} {
		for _, a := range hookActions {
			all = append(all, write(h.name+" of "+h.by+" "+a.name, func(p *probe) {
				ran := 0
				p.ok(h.run(p.db.WithContext(withHooks(p.ctx, hooks{h.name: func(tx *gorm.DB) error { ran++; return a.do(tx) }}))))
				require.Equal(p, 1, ran)
			}))
		}
	}
	find := func(p *probe, do func(tx *gorm.DB) error) {
		ran := 0
		p.rows(1, p.db.WithContext(withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error { ran++; return do(tx) }})).First(&diary{}))
		require.Equal(p, 1, ran)
	}
	for _, a := range hookActions {
		call := "AfterFind " + a.name
		switch {
		case a.read:
			all = append(all, read(call, func(p *probe) { find(p, a.do) }))
		case a.name == "reads by Raw, writes by Exec":
			all = append(all, mixed(call, `RRP`, func(p *probe) { find(p, a.do) }))
		default:
			all = append(all, mixed(call, `RP+`, func(p *probe) { find(p, a.do) }))
		}
	}
	all = append(all,
		mixed("AfterFind writes, and reads it", `RPR`, func(p *probe) {
			find(p, func(tx *gorm.DB) error {
				if err := tx.Create(&tag{Name: "hook"}).Error; err != nil {
					return err
				}
				var n int64
				err := tx.Model(&tag{}).Count(&n).Error
				require.EqualValues(p, 4, n)
				return err
			})
		}).with(independent),
		write("AfterFind of a locking read, reads", func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error { return tx.Find(&[]tag{}).Error }})
			p.rows(1, p.db.WithContext(ctx).Clauses(forUpdate).First(&diary{}))
		}),
		write("AfterFind of FirstOrCreate, reads", func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error { return tx.Find(&[]tag{}).Error }})
			p.ok(p.db.WithContext(ctx).Where(diary{Title: "monday"}).FirstOrCreate(&diary{}).Error)
		}),
		write("SkipHooks", func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"BeforeSave": func(*gorm.DB) error { p.Errorf("the hook ran"); return nil }})
			p.rows(1, p.db.WithContext(ctx).Session(&gorm.Session{SkipHooks: true}).Create(&diary{Title: "x"}))
		}),
		write("a hook with another context reads", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"AfterCreate": func(tx *gorm.DB) error {
				return tx.WithContext(p.ctx).First(&author{}).Error
			}}))))
		}),
		write("a hook with a new session reads", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"AfterCreate": func(tx *gorm.DB) error {
				return tx.Session(&gorm.Session{NewDB: true}).First(&author{}).Error
			}}))))
		}),
		write("a hook reads through generics", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"AfterCreate": func(tx *gorm.DB) error {
				_, err := gorm.G[author](tx).First(p.ctx)
				return err
			}}))))
		}),
		write("a hook reads an association", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"AfterCreate": func(tx *gorm.DB) error {
				return tx.Model(&author{ID: 1}).Association("Books").Find(&[]book{})
			}}))))
		}),
		write("a hook reads in batches", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"BeforeCreate": func(tx *gorm.DB) error {
				return tx.FindInBatches(&[]author{}, 2, func(tx *gorm.DB, _ int) error { return tx.Find(&[]tag{}).Error }).Error
			}}))))
		}),
		write("a hook reads by a handle that has read", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"BeforeCreate": func(tx *gorm.DB) error {
				return tx.Find(&[]author{}).Session(&gorm.Session{NewDB: true}).Find(&[]tag{}).Error
			}}))))
		}),
		write("a hook reads, its preloads and hooks too", func(p *probe) {
			ran := 0
			again := withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error { ran++; return tx.Preload("Books").Find(&[]author{}).Error }})
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"BeforeCreate": func(tx *gorm.DB) error {
				return tx.Session(&gorm.Session{Context: again, NewDB: true}).First(&diary{}).Error
			}}))))
			require.Equal(p, 1, ran)
		}),
		write("a hook reads Rows", func(p *probe) {
			p.ok(create(p.db.WithContext(withHooks(p.ctx, hooks{"BeforeCreate": func(tx *gorm.DB) error {
				p.drain(tx.Model(&author{}).Rows())
				return tx.Model(&author{}).Select("name").Row().Scan(new(string))
			}}))))
		}),
		mixed("a hook that fails", `P*`, func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterCreate": func(*gorm.DB) error { return gorm.ErrInvalidData }})
			require.ErrorIs(p, create(p.db.WithContext(ctx)), gorm.ErrInvalidData)
		}),
	)
	return area("Hooks", all...)
}
