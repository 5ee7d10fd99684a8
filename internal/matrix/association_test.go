package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// association is one kind of association, with what its modes need.
type association struct {
	kind  string
	name  string
	owner func() any
	made  func() any // a new one
	there func() any // one that is there
	out   func() any // where Find puts it
	count int64      // how many the owner has
}

func kinds() []association {
	return []association{
		{
			kind: "has one", name: "Profile", owner: func() any { return &author{ID: 1} },
			made: func() any { return &profile{Bio: "new"} }, there: func() any { return &profile{ID: 1} },
			out: func() any { return &[]profile{} }, count: 1,
		},
		{
			kind: "has many", name: "Books", owner: func() any { return &author{ID: 1} },
			made: func() any { return &book{Title: "new"} }, there: func() any { return &book{ID: 1} },
			out: func() any { return &[]book{} }, count: 2,
		},
		{
			kind: "belongs to", name: "Author", owner: func() any { return &book{ID: 1, AuthorID: ref(int64(1))} },
			made: func() any { return &author{Name: "Dee"} }, there: func() any { return &author{ID: 1} },
			out: func() any { return &[]author{} }, count: 1,
		},
		{
			kind: "many to many", name: "Tags", owner: func() any { return &book{ID: 1} },
			made: func() any { return &tag{Name: "new"} }, there: func() any { return &tag{ID: 1} },
			out: func() any { return &[]tag{} }, count: 2,
		},
		{
			kind: "polymorphic has many", name: "Notes", owner: func() any { return &author{ID: 1} },
			made: func() any { return &note{Text: "new"} }, there: func() any { return &note{ID: 1} },
			out: func() any { return &[]note{} }, count: 2,
		},
		{
			kind: "polymorphic has one", name: "Cover", owner: func() any { return &book{ID: 1} },
			made: func() any { return &cover{Image: "new.png"} }, there: func() any { return &cover{ID: 1} },
			out: func() any { return &[]cover{} }, count: 1,
		},
	}
}

// clearUnscoped fails for belongs to, with and without the plugin: GORM deletes from the wrong table.
func clearUnscoped(a association, of func(p *probe) *gorm.Association) *cell {
	const call = "Clear, Unscoped"
	if a.kind == "belongs to" {
		return mixed(call, `Pp`, func(p *probe) { require.ErrorContains(p, of(p).Unscoped().Clear(), "missing FROM-clause entry") })
	}
	return write(call, func(p *probe) { p.ok(of(p).Unscoped().Clear()) })
}

// associations are all modes of all kinds.
func associations() []*cell {
	var all []*cell
	for _, a := range kinds() {
		of := func(p *probe) *gorm.Association { return p.db.Model(a.owner()).Association(a.name) }
		cells := []*cell{
			read("Find", func(p *probe) { p.ok(of(p).Find(a.out())) }),
			read("Find with conditions", func(p *probe) { p.ok(of(p).Find(a.out(), "id > ?", 0)) }),
			read("Count", func(p *probe) { require.Equal(p, a.count, of(p).Count()) }),
			write("Append", func(p *probe) { p.ok(of(p).Append(a.made())) }),
			write("Append one that is there", func(p *probe) { p.ok(of(p).Append(a.there())) }),
			write("Replace", func(p *probe) { p.ok(of(p).Replace(a.made())) }),
			write("Delete", func(p *probe) { p.ok(of(p).Delete(a.there())) }),
			write("Clear", func(p *probe) { p.ok(of(p).Clear()) }),
			write("Replace, Unscoped", func(p *probe) { p.ok(of(p).Unscoped().Replace(a.made())) }),
			write("Delete, Unscoped", func(p *probe) { p.ok(of(p).Unscoped().Delete(a.there())) }),
			clearUnscoped(a, of),
			write("Append in a transaction", func(p *probe) {
				p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Model(a.owner()).Association(a.name).Append(a.made()) }))
			}),
			mixed("Replace, then Count", `P+R`, func(p *probe) {
				p.ok(of(p).Replace(a.made()))
				owner := p.db.Model(a.owner()).Association(a.name)
				if a.kind != "belongs to" { // the owner's key in memory is the old one
					require.EqualValues(p, 1, owner.Count())
				} else {
					owner.Count()
				}
			}),
		}
		all = append(all, area("Association, "+a.kind, cells...)...)
	}
	return append(all, area("Association, several owners",
		read("Find", func(p *probe) {
			p.ok(p.db.Model(&[]author{{ID: 1}, {ID: 2}}).Association("Books").Find(&[]book{}))
		}),
		write("Append", func(p *probe) {
			p.ok(p.db.Model(&[]author{{ID: 1}, {ID: 2}}).Association("Books").Append(&book{Title: "x"}, &book{Title: "y"}))
		}),
		write("Replace many to many", func(p *probe) {
			p.ok(p.db.Model(&[]book{{ID: 1}, {ID: 2}}).Association("Tags").Replace(&[]tag{{ID: 3, Name: "old"}}, &[]tag{{Name: "new"}}))
		}),
		read("a handle with conditions", func(p *probe) {
			p.ok(p.db.Where("price > ?", 15).Order("id").Model(&author{ID: 1}).Association("Books").Find(&[]book{}))
		}),
	)...)
}
