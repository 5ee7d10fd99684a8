package matrix

import (
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// joins are the ways to read associations in one statement.
func joins() []*cell {
	return area("Joins",
		read("Joins belongs to", func(p *probe) {
			var b book
			p.rows(1, p.db.Joins("Author").First(&b))
			require.Equal(p, "Ann", b.Author.Name)
		}),
		read("Joins has one", func(p *probe) { p.rows(3, p.db.Joins("Profile").Find(&[]author{})) }),
		read("Joins with conditions", func(p *probe) {
			p.rows(3, p.db.Joins("Author", p.db.Where(&author{Name: "Ann"})).Find(&[]book{}))
		}),
		read("Joins with Select", func(p *probe) { p.rows(3, p.db.Joins("Author", p.db.Select("Name")).Find(&[]book{})) }),
		read("InnerJoins", func(p *probe) { p.rows(2, p.db.InnerJoins("Profile").Find(&[]author{})) }),
		read("Joins nested", func(p *probe) { p.rows(3, p.db.Joins("Author").Joins("Author.Profile").Find(&[]book{})) }),
		read("Joins a text", func(p *probe) {
			p.rows(3, p.db.Joins("JOIN authors ON authors.id = books.author_id AND authors.age > ?", 0).Find(&[]book{}))
		}),
		read("Joins a sub-query", func(p *probe) {
			q := p.db.Table("authors").Select("id").Where("age > ?", 45)
			p.rows(1, p.db.Joins("JOIN (?) a ON a.id = books.author_id", q).Find(&[]book{}))
		}),
		read("Joins and Preload", func(p *probe) { p.rows(3, p.db.Joins("Author").Preload("Tags").Find(&[]book{})) }),
		read("Joins with Preload of what is joined", func(p *probe) {
			p.rows(3, p.db.Joins("Author").Preload("Author.Books").Find(&[]book{}))
		}),
		read("Joins and Count", func(p *probe) {
			var n int64
			p.ok(p.db.Model(&book{}).Joins("Author").Count(&n).Error)
			require.EqualValues(p, 3, n)
		}),
	)
}

// preloads read children with statements of their own, on their parent's server.
func preloads() []*cell {
	return area("Preload",
		read("has one", func(p *probe) {
			var found []author
			p.rows(3, p.db.Preload("Profile").Order("id").Find(&found))
			require.Equal(p, "writes", found[0].Profile.Bio)
		}),
		read("has many", func(p *probe) {
			var a author
			p.rows(1, p.db.Preload("Books").First(&a))
			require.Len(p, a.Books, 2)
		}),
		read("belongs to", func(p *probe) { p.rows(3, p.db.Preload("Author").Find(&[]book{})) }),
		read("many to many", func(p *probe) {
			var b book
			p.rows(1, p.db.Preload("Tags").First(&b))
			require.Len(p, b.Tags, 2)
		}),
		read("polymorphic has many", func(p *probe) { p.rows(1, p.db.Preload("Notes").First(&author{})) }),
		read("polymorphic has one", func(p *probe) { p.rows(1, p.db.Preload("Cover").First(&book{})) }),
		read("nested", func(p *probe) {
			var a author
			p.rows(1, p.db.Preload("Books.Tags").First(&a))
			require.Len(p, a.Books[0].Tags, 2)
		}),
		read("nested three deep", func(p *probe) { p.rows(1, p.db.Preload("Books.Author.Profile").First(&author{})) }),
		read("with conditions", func(p *probe) {
			var a author
			p.rows(1, p.db.Preload("Books", "price > ?", 15).First(&a))
			require.Len(p, a.Books, 1)
		}),
		read("with a function", func(p *probe) {
			p.rows(1, p.db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Order("price desc").Limit(1) }).First(&author{}))
		}),
		read("with a function that preloads", func(p *probe) {
			p.rows(1, p.db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Preload("Tags") }).First(&author{}))
		}),
		read("with a function that joins", func(p *probe) {
			p.rows(1, p.db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Joins("Author") }).First(&author{}))
		}),
		read("clause.Associations", func(p *probe) { p.rows(3, p.db.Preload(clause.Associations).Find(&[]author{})) }),
		read("nested clause.Associations", func(p *probe) {
			p.rows(3, p.db.Preload("Books."+clause.Associations).Find(&[]author{}))
		}),
		read("several", func(p *probe) { p.rows(3, p.db.Preload("Profile").Preload("Books").Preload("Notes").Find(&[]author{})) }),
		read("of nothing", func(p *probe) { p.rows(0, p.db.Preload("Books").Where("id > 900").Find(&[]author{})) }),
		write("in FirstOrInit", func(p *probe) { p.rows(1, p.db.Preload("Books").Where("id = 1").FirstOrInit(&author{})) }).with(likelyWrite),
		read("in FindInBatches", func(p *probe) {
			p.rows(3, p.db.Preload("Books").FindInBatches(&[]author{}, 3, func(*gorm.DB, int) error { return nil }))
		}).with(independent),
		mixed("after a write", `P+R+`, func(p *probe) {
			p.rows(1, p.db.Create(&book{Title: "new", AuthorID: ref(int64(1))}))
			var a author
			p.rows(1, p.db.Preload("Books").First(&a))
			require.Len(p, a.Books, 3)
		}),
		write("in a transaction", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Preload("Books.Tags").First(&author{}).Error }))
		}).with(readsInReadSession),
	)
}

// readsInReadSession: in a read session the transaction is read-only, and a replica may have it.
func readsInReadSession(c *cell) { c.readSession = reads }

// likelyWrite: what it reads is about to be written, unless it says that it is not.
func likelyWrite(c *cell) { c.readSession, c.anyReplica = reads, reads }

func ref[T any](v T) *T { return &v }

var forUpdate = clause.Locking{Strength: "UPDATE"}

// locking reads are the primary's, however the lock is asked for.
func locking() []*cell {
	lock := forUpdate
	return area("Locking",
		write("FOR UPDATE", func(p *probe) { p.rows(1, p.db.Clauses(lock).First(&author{})) }),
		write("FOR UPDATE SKIP LOCKED", func(p *probe) {
			p.rows(3, p.db.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Find(&[]author{}))
		}),
		write("FOR SHARE NOWAIT", func(p *probe) {
			p.rows(3, p.db.Clauses(clause.Locking{Strength: "SHARE", Options: "NOWAIT"}).Find(&[]author{}))
		}),
		write("FOR NO KEY UPDATE", func(p *probe) {
			p.rows(3, p.db.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Find(&[]author{}))
		}),
		write("FOR KEY SHARE", func(p *probe) { p.rows(3, p.db.Clauses(clause.Locking{Strength: "KEY SHARE"}).Find(&[]author{})) }),
		write("of one table of a join", func(p *probe) {
			p.rows(2, p.db.Clauses(clause.Locking{Strength: "UPDATE", Table: clause.Table{Name: "authors"}}).InnerJoins("Profile").Find(&[]author{}))
		}),
		write("through Scopes", func(p *probe) {
			p.rows(1, p.db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Clauses(lock) }).First(&author{}))
		}),
		write("with Preload", func(p *probe) { p.rows(3, p.db.Clauses(lock).Preload("Books").Preload("Profile").Find(&[]author{})) }),
		mixed("of a Preload alone", `RP`, func(p *probe) {
			p.rows(3, p.db.Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Clauses(lock) }).Find(&[]author{}))
		}),
		write("Take, Last, Pluck, Scan", func(p *probe) {
			p.rows(1, p.db.Clauses(lock).Take(&author{}))
			p.rows(1, p.db.Clauses(lock).Last(&author{}))
			p.rows(3, p.db.Clauses(lock).Model(&author{}).Pluck("name", &[]string{}))
			p.rows(3, p.db.Clauses(lock).Model(&author{}).Scan(&[]author{}))
		}),
		write("Row", func(p *probe) { p.ok(p.db.Clauses(lock).Model(&author{}).Select("name").Row().Scan(new(string))) }),
		write("Rows", func(p *probe) {
			rows, err := p.db.Clauses(lock).Model(&author{}).Rows()
			p.ok(err)
			p.ok(rows.Close())
		}),
		write("FindInBatches", func(p *probe) {
			p.rows(3, p.db.Clauses(lock).FindInBatches(&[]author{}, 2, func(*gorm.DB, int) error { return nil }))
		}),
		write("in a transaction", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Clauses(lock).First(&author{}).Error }))
		}),
		write("in a sub-query", func(p *probe) {
			p.rows(3, p.db.Table("(?) as a", p.db.Model(&author{}).Clauses(lock)).Find(&[]map[string]any{}))
		}),
		write("an advisory lock in Select", func(p *probe) {
			p.rows(1, p.db.Model(&author{}).Limit(1).Select("pg_try_advisory_xact_lock(?)", 7).Find(&[]map[string]any{}))
		}),
		write("a sequence in Select", func(p *probe) {
			p.rows(1, p.db.Model(&author{}).Limit(1).Select("nextval('ticks')").Find(&[]map[string]any{}))
		}),
		write("a sequence in Where", func(p *probe) { p.rows(3, p.db.Where("id < nextval('ticks')").Find(&[]author{})) }),
		write("a function that writes in Table", func(p *probe) {
			p.rows(1, p.db.Table("note_visit(?) AS v", "x").Find(&[]map[string]any{}))
		}),
	)
}
