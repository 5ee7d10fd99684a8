package drivertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type author struct {
	ID    uint
	Name  string `gorm:"size:100;not null;uniqueIndex"`
	Books []book
}

type book struct {
	ID        uint `gorm:"primaryKey"`
	AuthorID  uint
	Title     string `gorm:"size:200;index"`
	Price     float64
	Stock     int `gorm:"default:3"`
	Sold      bool
	Cover     []byte
	CreatedAt time.Time
	UpdatedAt time.Time
	DeletedAt gorm.DeletedAt `gorm:"index"`
}

// shop has the tables of an author with books.
func shop(t *testing.T) *gorm.DB {
	t.Helper()
	db := open(t, alone(t).DSN()).WithContext(limit(t))
	require.NoError(t, db.AutoMigrate(&author{}, &book{}))
	return db
}

func TestCreateFindUpdateDelete(t *testing.T) {
	db := shop(t)
	a := author{Name: "Ada", Books: []book{{Title: "One", Price: 9.5, Cover: []byte{1, 2, 3}}, {Title: "Two", Sold: true, Stock: 7}}}
	require.NoError(t, db.Create(&a).Error)
	require.EqualValues(t, 1, a.ID)
	require.Equal(t, []uint{1, 2}, []uint{a.Books[0].ID, a.Books[1].ID})
	require.Equal(t, 3, a.Books[0].Stock, "the database's default comes back through OUTPUT")

	var found author
	require.NoError(t, db.Preload("Books").First(&found, a.ID).Error)
	require.Equal(t, "Ada", found.Name)
	require.Len(t, found.Books, 2)
	require.InDelta(t, 9.5, found.Books[0].Price, 0)
	require.Equal(t, []byte{1, 2, 3}, found.Books[0].Cover)
	require.Nil(t, found.Books[1].Cover)
	require.True(t, found.Books[1].Sold)
	require.WithinDuration(t, a.Books[0].CreatedAt, found.Books[0].CreatedAt, time.Microsecond)

	tx := db.Model(&book{}).Where("title = ?", "One").Updates(map[string]any{"price": gorm.Expr("price + ?", 1), "sold": true})
	require.NoError(t, tx.Error)
	require.EqualValues(t, 1, tx.RowsAffected)
	var b book
	require.NoError(t, db.Where("price > ?", 10).Take(&b).Error)
	require.InDelta(t, 10.5, b.Price, 0)

	b.Title = "Uno"
	require.NoError(t, db.Save(&b).Error)
	tx = db.Delete(&b)
	require.NoError(t, tx.Error)
	require.EqualValues(t, 1, tx.RowsAffected)
	require.ErrorIs(t, db.First(&book{}, b.ID).Error, gorm.ErrRecordNotFound)
	require.NoError(t, db.Unscoped().First(&b, b.ID).Error)
	require.Equal(t, "Uno", b.Title)
	require.NoError(t, db.Unscoped().Delete(&b).Error)
	require.ErrorIs(t, db.Unscoped().First(&book{}, b.ID).Error, gorm.ErrRecordNotFound)

	var n int64
	require.NoError(t, db.Model(&book{}).Count(&n).Error)
	require.EqualValues(t, 1, n)
}

func TestListsAndPages(t *testing.T) {
	db := shop(t)
	var books []book
	for i := range 250 {
		books = append(books, book{AuthorID: 1, Title: string(rune('a'+i%26)) + "book", Price: float64(i)})
	}
	require.NoError(t, db.Create(&author{Name: "Ada"}).Error)
	require.NoError(t, db.CreateInBatches(&books, 100).Error)
	require.EqualValues(t, 250, books[249].ID)

	var page []book
	require.NoError(t, db.Order("price desc").Offset(10).Limit(5).Find(&page).Error)
	require.Len(t, page, 5)
	require.InDelta(t, 239, page[0].Price, 0)
	require.NoError(t, db.Limit(3).Find(&page).Error)
	require.EqualValues(t, []uint{1, 2, 3}, []uint{page[0].ID, page[1].ID, page[2].ID})
	require.NoError(t, db.Where("id IN ? AND title LIKE ?", []int{1, 2, 3, 27}, "A%").Find(&page).Error)
	require.Len(t, page, 2)

	var sums []struct {
		Title string
		N     int
		Total float64
	}
	require.NoError(t, db.Model(&book{}).Select("title, count(*) AS n, sum(price) AS total").Group("title").Having("count(*) > ?", 9).Order("title").Scan(&sums).Error)
	require.Len(t, sums, 16)
	require.Equal(t, 10, sums[0].N)
	require.InDelta(t, 1170, sums[0].Total, 0)

	var joined []struct{ Name, Title string }
	require.NoError(t, db.Table("books").Select("authors.name, books.title").Joins("LEFT JOIN authors ON authors.id = books.author_id").Where("books.price < ?", 2).Order("books.id").Scan(&joined).Error)
	require.Equal(t, "Ada", joined[1].Name)
	require.Equal(t, "bbook", joined[1].Title)

	var all []book
	require.NoError(t, db.FindInBatches(&all, 60, func(*gorm.DB, int) error { return nil }).Error)
}

func TestUpsert(t *testing.T) {
	db := shop(t)
	type setting struct {
		Name  string `gorm:"primaryKey;size:50"`
		Value int
	}
	require.NoError(t, db.AutoMigrate(&setting{}))
	conflict := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.AssignmentColumns([]string{"value"})}
	require.NoError(t, db.Clauses(conflict).Create(&[]setting{{"a", 1}, {"b", 2}}).Error)
	require.NoError(t, db.Clauses(conflict).Create(&[]setting{{"b", 3}, {"c", 4}}).Error)
	require.NoError(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&setting{"c", 9}).Error)
	var got []setting
	require.NoError(t, db.Order("name").Find(&got).Error)
	require.Equal(t, []setting{{"a", 1}, {"b", 3}, {"c", 4}}, got)
	// Save of a row that is not there is an update of none, and then a MERGE.
	require.NoError(t, db.Save(&setting{"d", 5}).Error)
	var d setting
	require.NoError(t, db.Where("name = ?", "d").First(&d).Error)
	require.Equal(t, 5, d.Value)
	require.NoError(t, db.Create(&author{ID: 40, Name: "Given"}).Error, "IDENTITY_INSERT")
	next := author{Name: "Next"}
	require.NoError(t, db.Create(&next).Error)
	require.EqualValues(t, 41, next.ID)
}

func TestMigrator(t *testing.T) {
	db := shop(t)
	require.NoError(t, db.AutoMigrate(&author{}, &book{}), "the second time finds everything")
	m := db.Migrator()
	require.True(t, m.HasTable(&book{}))
	require.True(t, m.HasColumn(&book{}, "title"))
	require.True(t, m.HasIndex(&book{}, "idx_books_title"))
	require.True(t, m.HasConstraint(&author{}, "Books"))
	require.False(t, m.HasTable("nothing"))

	type book2 struct {
		ID    uint
		Title string `gorm:"size:300"`
		Pages int    `gorm:"not null;default:1"`
	}
	require.NoError(t, db.Table("books").AutoMigrate(&book2{}))
	require.True(t, m.HasColumn(&book{}, "pages"))
	types, err := m.ColumnTypes(&book{})
	require.NoError(t, err)
	lengths := map[string]int64{}
	for _, c := range types {
		lengths[c.Name()], _ = c.Length()
	}
	require.EqualValues(t, 300, lengths["title"])
	tables, err := m.GetTables()
	require.NoError(t, err)
	require.Equal(t, []string{"authors", "books"}, tables)
	require.NoError(t, m.DropTable(&author{}, &book{}))
	require.False(t, m.HasTable(&author{}))
}
