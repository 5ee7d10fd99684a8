package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/policy"
)

// Helpers that read before they write act on what the primary has, also without a
// write of their own session before: replicas stand still here, and lack the book
// "two".

func TestFirstOrInitLooksOnThePrimary(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()
		var two book
		tx := db.Where(book{Title: "two"}).Attrs(book{AuthorID: 9}).FirstOrInit(&two)
		require.NoError(t, tx.Error)
		require.Equal(t, "primary", two.Server)
		require.EqualValues(t, 1, two.AuthorID, "it is there: nothing was initialised")
		require.Equal(t, policy.ReasonReadToWrite, reason(t, tx))
		require.NoError(t, db.Save(&two).Error)
		require.Equal(t, []string{"one", "two"}, x.titles(t))

		three := book{}
		require.NoError(t, db.FirstOrInit(&three, book{Title: "three"}).Error)
		require.NoError(t, db.Save(&three).Error)
		require.Equal(t, []string{"one", "two", "three"}, x.titles(t))
		other, _ := x.session()
		var list []book
		require.NoError(t, other.Limit(1).Order("id").Find(&list).Error)
		onReplica(t, list[0].Server)
	})
}

// Save looks for a row by updating it, and inserts what it does not find.
func TestSaveActsOnThePrimary(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()
		var id int64
		require.NoError(t, x.admin.QueryRow("SELECT id FROM books_t WHERE title = 'two'").Scan(&id))
		require.NoError(t, db.Table("books_t").Save(&book{ID: id, Title: "second"}).Error)
		require.Equal(t, []string{"one", "second"}, x.titles(t), "updated, not inserted again")
		require.NoError(t, db.Table("books_t").Omit("server").Save(&book{ID: id + 50, Title: "far"}).Error)
		require.Equal(t, []string{"one", "second", "far"}, x.titles(t))
		require.NoError(t, db.Table("books_t").Clauses(clause.OnConflict{UpdateAll: true}).Create(&book{ID: id, Title: "third"}).Error)
		require.Equal(t, []string{"one", "third", "far"}, x.titles(t))
		require.NoError(t, db.Table("books_t").Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoNothing: true}).Create(&book{ID: id, Title: "none"}).Error)
		require.Equal(t, []string{"one", "third", "far"}, x.titles(t))
	})
}

// A row that a program holds already and reads again is about to be changed by
// what it sees.
func TestReloadReadsThePrimary(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
		db, _ := x.session()
		var one book
		require.NoError(t, db.First(&one, "title = ?", "one").Error)
		onReplica(t, one.Server)
		x.stale(t)
		x.past(t, "UPDATE books_t SET author_id = 5 WHERE title = 'one'")
		for name, reload := range map[string]func(b *book) *gorm.DB{
			"First": func(b *book) *gorm.DB { return db.First(b) },
			"Take":  func(b *book) *gorm.DB { return db.Take(b) },
			"Find":  func(b *book) *gorm.DB { return db.Find(b) },
			"Model": func(b *book) *gorm.DB { return db.Model(b).First(b) },
		} {
			b := one
			tx := reload(&b)
			require.NoError(t, tx.Error, name)
			require.Equal(t, "primary", b.Server, name)
			require.EqualValues(t, 5, b.AuthorID, name)
			require.Equal(t, policy.ReasonReadToWrite, reason(t, tx), name)
		}
		// A key alone is how a row is looked up, and a slice is a list.
		byKey := book{ID: one.ID}
		require.NoError(t, db.First(&byKey).Error)
		onReplica(t, byKey.Server)
		list := []book{one}
		require.NoError(t, db.Find(&list).Error)
		onReplica(t, list[0].Server)
		// What is scanned into another struct is no reload.
		var brief struct{ Title, Server string }
		require.NoError(t, db.Model(&one).Take(&brief).Error)
		onReplica(t, brief.Server)
	})
}

// Models of every shape can be reloaded, and looking changes nothing in them.
func TestReloadOfOddModels(t *testing.T) {
	x := newTrap(t)
	db, _ := x.session()
	type Base struct{ ID int64 }
	type details struct{ Title string }
	type embedded struct {
		*Base
		Details *details `gorm:"embedded"`
		Server  string   `gorm:"->"`
	}
	var e embedded
	require.NoError(t, db.Table("books").Take(&e).Error)
	onReplica(t, e.Server)
	require.NoError(t, db.Table("books").Take(&e).Error)
	require.Equal(t, "primary", e.Server)
	half := embedded{Base: &Base{ID: 1}}
	require.NoError(t, db.Table("books").Where("false").Find(&half).Error)
	require.Nil(t, half.Details, "nothing was made up by looking")
}

// Replace and its like change what the primary has.
func TestAssociationsActOnThePrimary(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		db, _ := x.session()
		ann := author{ID: 1, Name: "Ann"}
		require.NoError(t, db.Table("books_t").Create(&book{Title: "kept"}).Error)
		other, _ := x.session()
		var kept book
		require.NoError(t, x.fresh().First(&kept, "title = ?", "kept").Error)
		require.NoError(t, other.Omit("Server").Model(&ann).Association("Books").Replace(&book{ID: kept.ID, Title: "kept"}))
		var owned string
		require.NoError(t, x.admin.QueryRow("SELECT string_agg(title, ' ' ORDER BY id) FROM books_t WHERE author_id = 1").Scan(&owned))
		require.Equal(t, "kept", owned, "the book that replicas do not know was let go too")
		require.EqualValues(t, 1, other.Model(&ann).Association("Books").Count(), "and who did it sees it")
		var loaded author
		require.NoError(t, other.Preload("Books").First(&loaded, 1).Error)
		require.Equal(t, "primary", loaded.Server)
		require.Len(t, loaded.Books, 1)
		require.Equal(t, "primary", loaded.Books[0].Server)
	})
}
