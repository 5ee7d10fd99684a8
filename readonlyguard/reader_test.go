package readonlyguard_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/readonlyguard"
)

// onlyMarked fails the test at a statement that is in no read session.
func onlyMarked(t *testing.T, db *gorm.DB) {
	t.Helper()
	look := func(db *gorm.DB) {
		assert.True(t, readonlyguard.IsReadOnly(db.Statement.Context))
	}
	require.NoError(t, db.Callback().Query().After("*").Register("look", look))
	require.NoError(t, db.Callback().Row().After("*").Register("look", look))
}

// A Reader finds what a gorm.DB finds, method by method.
func TestReaderReads(t *testing.T) {
	s := open(t, mode{})
	onlyMarked(t, s.db)
	r := readonlyguard.NewReader(s.writes)

	var a Author
	require.NoError(t, r.First(&a).Error)
	assert.Equal(t, "Woolf", a.Name)
	a = Author{}
	require.NoError(t, r.Debug().Last(&a, "id < ?", 10).Error)
	assert.Equal(t, "Sayers", a.Name)
	a = Author{}
	require.NoError(t, r.Where("id = ?", 2).Take(&a).Error)
	assert.Equal(t, "Sayers", a.Name)
	assert.Equal(t, readonlyguard.Result{Error: gorm.ErrRecordNotFound}, r.First(&Author{}, 99))

	var books []Book
	got := r.Not("title = ?", "Orlando").Or("title = ?", "Orlando").Order("id").Offset(1).Limit(2).Omit("deleted_at").Find(&books)
	assert.Equal(t, readonlyguard.Result{RowsAffected: 2}, got)
	assert.Equal(t, "The Waves", books[0].Title)
	require.NoError(t, r.Unscoped().Clauses(clause.Where{Exprs: []clause.Expression{clause.Eq{Column: "id", Value: 3}}}).Find(&books).Error)
	assert.Equal(t, "Gaudy Night", books[0].Title)
	require.NoError(t, r.Where(r.Where("id = ?", 1).Or("id = ?", 3)).Find(&books).Error)
	assert.Len(t, books, 2)
	require.NoError(t, r.Where("author_id IN (?)", r.Model(&Author{}).Select("id").Where("name LIKE ?", "S%")).Find(&books).Error)
	assert.Len(t, books, 1)
	require.NoError(t, r.Joins("Author").InnerJoins("JOIN tags ON tags.id = ?", 1).Find(&books).Error)
	assert.Len(t, books, 3)

	var authors []Author
	conds := []any{"title <> ?", "The Waves"}
	require.NoError(t, r.Preload("Books", conds...).Preload("Books.Tags", func(r readonlyguard.Reader) readonlyguard.Reader { return r.Where("name = ?", "crime") }).
		Order("id").Find(&authors).Error)
	assert.Equal(t, []int{1, 0, 1, 1}, []int{len(authors[0].Books), len(authors[0].Books[0].Tags), len(authors[1].Books), len(authors[1].Books[0].Tags)})

	var n int64
	require.NoError(t, r.Model(&Book{}).Count(&n).Error)
	assert.Equal(t, int64(3), n)
	require.NoError(t, r.Table("(?) AS b", r.Model(&Book{})).Where("author_id = 1").Count(&n).Error)
	assert.Equal(t, int64(2), n)
	var ids []int64
	require.NoError(t, r.Model(&Book{}).Distinct().Group("author_id").Having("count(*) > ?", 1).Pluck("author_id", &ids).Error)
	assert.Equal(t, []int64{1}, ids)
	require.NoError(t, r.Model(&Book{}).Distinct("author_id").Order("author_id").Scan(&ids).Error)
	assert.Equal(t, []int64{1, 2}, ids)
	var renamed []struct{ Heading string }
	require.NoError(t, r.Model(&Book{}).MapColumns(map[string]string{"title": "heading"}).Select("title").Limit(1).Order("id").Find(&renamed).Error)
	assert.Equal(t, "Orlando", renamed[0].Heading)

	var name string
	require.NoError(t, r.Table("authors").Select("name").Where("id = 2").Row().Scan(&name))
	assert.Equal(t, "Sayers", name)
	rows, err := r.Model(&Author{}).Order("id").Rows()
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, r.ScanRows(rows, &a))
	require.NoError(t, rows.Close())
	assert.Equal(t, "Woolf", a.Name)

	require.NoError(t, r.Raw("SELECT name FROM authors WHERE id = ?", 1).Scan(&name).Error)
	assert.Equal(t, "Woolf", name)
	require.NoError(t, r.Raw("SELECT count(*) FROM (?) AS b", r.Model(&Book{})).Scan(&n).Error)
	assert.Equal(t, int64(3), n)

	latest := func(r readonlyguard.Reader) readonlyguard.Reader { return r.Order("id DESC").Limit(1) }
	require.NoError(t, r.Scopes(latest).Find(&books).Error)
	assert.Equal(t, "Gaudy Night", books[0].Title)

	a = Author{}
	require.NoError(t, r.Attrs(Author{ID: 7}).Assign(Author{Name: "T. S. Eliot"}).FirstOrInit(&a, Author{Name: "Eliot"}).Error)
	assert.Equal(t, "7 T. S. Eliot", fmt.Sprintf("%d %s", a.ID, a.Name))

	var seen []string
	require.NoError(t, r.FindInBatches(&books, 2, func(tx readonlyguard.Reader, batch int) error {
		var author Author
		err := tx.First(&author, *books[0].AuthorID).Error
		seen = append(seen, fmt.Sprintf("%d %d %s", batch, len(books), author.Name))
		return err
	}).Error)
	assert.Equal(t, []string{"1 2 Woolf", "2 1 Sayers"}, seen)

	var tags []Tag
	require.NoError(t, r.Model(&Book{ID: 3}).Association("Tags").Find(&tags, "name = ?", "crime"))
	assert.Len(t, tags, 1)
	n, err = r.Model(&Book{ID: 3}).Association("Tags").Count()
	require.NoError(t, err)
	assert.Equal(t, int64(2), n)

	shared := r.Where("author_id = 1").Session()
	require.NoError(t, shared.Model(&Book{}).Count(&n).Error)
	require.NoError(t, shared.Find(&books).Error)
	assert.Len(t, books, int(n))
}

// All that a Reader does is in a read session, on the server too.
func TestReaderIsAReadSession(t *testing.T) {
	s := open(t, mode{returnErrors: true})
	r := readonlyguard.NewReader(s.writes)
	require.ErrorIs(t, r.Raw("DELETE FROM tags RETURNING id").Scan(new(int)).Error, readonlyguard.ErrReadOnly)
	require.ErrorIs(t, r.WithContext(t.Context()).Raw("DELETE FROM tags RETURNING id").Scan(new(int)).Error, readonlyguard.ErrReadOnly)
	require.ErrorIs(t, r.Raw("DELETE FROM tags RETURNING id").Row().Scan(new(int)), readonlyguard.ErrReadOnly)
	require.ErrorIs(t, r.Clauses(clause.Locking{Strength: "UPDATE"}).First(&Author{}).Error, readonlyguard.ErrReadOnly)
	assert.Empty(t, s.log())

	var level, readOnly string
	require.NoError(t, r.Transaction(func(tx readonlyguard.Reader) error {
		require.ErrorIs(t, tx.Raw("DELETE FROM tags RETURNING id").Scan(new(int)).Error, readonlyguard.ErrReadOnly)
		require.NoError(t, tx.Raw("SHOW transaction_read_only").Scan(&readOnly).Error)
		return tx.Raw("SHOW transaction_isolation").Scan(&level).Error
	}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}))
	assert.Equal(t, "on repeatable read", readOnly+" "+level)

	require.NoError(t, s.writes.Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(&Tag{Name: "new"}).Error; err != nil {
			return err
		}
		var n int64
		assert.NoError(t, readonlyguard.NewReader(tx).Model(&Tag{}).Count(&n).Error)
		assert.Equal(t, int64(3), n, "a Reader over a transaction reads in it")
		return nil
	}))
}

// Without a guard a Reader could not keep its word, so it reads nothing.
func TestReaderWithoutAGuard(t *testing.T) {
	s := openUnguarded(t, mode{})
	r := readonlyguard.NewReader(s.db)
	require.ErrorIs(t, r.First(&Author{}).Error, readonlyguard.ErrNotRegistered)
	require.ErrorIs(t, r.WithContext(t.Context()).Where("id = 1").Find(&[]Author{}).Error, readonlyguard.ErrNotRegistered)
	require.ErrorIs(t, r.Raw("SELECT 1").Row().Scan(new(int)), readonlyguard.ErrNotRegistered)
	_, err := r.Model(&Author{}).Rows()
	require.ErrorIs(t, err, readonlyguard.ErrNotRegistered)
	require.ErrorIs(t, r.Transaction(func(readonlyguard.Reader) error { return nil }), readonlyguard.ErrNotRegistered)
	_, err = readonlyguard.Of[Author](r).Find(t.Context())
	require.ErrorIs(t, err, readonlyguard.ErrNotRegistered)
	require.ErrorIs(t, readonlyguard.Of[Author](r).Where("id = 1").Row(t.Context()).Scan(new(int)), readonlyguard.ErrNotRegistered)
	require.ErrorIs(t, readonlyguard.RawOf[Author](r, "SELECT 1").Row(t.Context()).Scan(new(int)), readonlyguard.ErrNotRegistered)
	assert.Empty(t, s.log())
}

func TestReaderOf(t *testing.T) {
	s := open(t, mode{returnErrors: true})
	onlyMarked(t, s.db)
	r := readonlyguard.NewReader(s.writes)
	ctx := t.Context() // not marked
	books, authors := readonlyguard.Of[Book](r), readonlyguard.Of[Author](r)

	first, err := books.Order("title").First(ctx)
	require.NoError(t, err)
	assert.Equal(t, "Gaudy Night", first.Title)
	last, err := books.Last(ctx)
	require.NoError(t, err)
	assert.Equal(t, int64(3), last.ID)
	taken, err := books.Where("id = ?", 2).Take(ctx)
	require.NoError(t, err)
	assert.Equal(t, "The Waves", taken.Title)
	_, err = books.Where("id = ?", 99).Take(ctx)
	require.ErrorIs(t, err, gorm.ErrRecordNotFound)

	some, err := books.Not("id = ?", 1).Or("id = ?", 1).Omit("deleted_at").Order("id").Offset(1).Limit(5).Find(ctx)
	require.NoError(t, err)
	assert.Len(t, some, 2)
	some, err = books.Where("author_id IN (?)", r.Model(&Author{}).Select("id").Where("name LIKE ?", "S%")).Find(ctx)
	require.NoError(t, err)
	assert.Len(t, some, 1)
	some, err = books.Joins(clause.LeftJoin.Association("Author"), nil).Order("books.id").Find(ctx)
	require.NoError(t, err)
	assert.Equal(t, "Sayers", some[2].Author.Name)
	some, err = books.Joins(clause.InnerJoin.Association("Author"), func(db gorm.JoinBuilder, joinTable, _ clause.Table) error {
		db.Where(clause.Eq{Column: clause.Column{Table: joinTable.Name, Name: "name"}, Value: "Woolf"})
		return nil
	}).Find(ctx)
	require.NoError(t, err)
	assert.Len(t, some, 2)
	with, err := authors.Preload("Books", func(db gorm.PreloadBuilder) error { db.Order("id DESC"); return nil }).Order("id").Find(ctx)
	require.NoError(t, err)
	assert.Equal(t, "The Waves", with[0].Books[0].Title)
	n, err := books.Count(ctx, "id")
	require.NoError(t, err)
	assert.Equal(t, int64(3), n)
	var ids []int64
	require.NoError(t, books.Distinct("author_id").Select("author_id").Group("author_id").Having("count(*) > ?", 1).Scan(ctx, &ids))
	assert.Equal(t, []int64{1}, ids)
	var name string
	require.NoError(t, authors.Table("authors").Select("name").Where("id = 2").Row(ctx).Scan(&name))
	assert.Equal(t, "Sayers", name)
	rows, err := authors.Rows(ctx)
	require.NoError(t, err)
	require.NoError(t, rows.Close())
	var sizes []int
	require.NoError(t, books.FindInBatches(ctx, 2, func(data []Book, _ int) error { sizes = append(sizes, len(data)); return nil }))
	assert.Equal(t, []int{2, 1}, sizes)
	raws, err := readonlyguard.RawOf[Author](r, "SELECT * FROM authors WHERE id = ?", 1).Find(ctx)
	require.NoError(t, err)
	assert.Equal(t, "Woolf", raws[0].Name)

	s.reset()
	_, err = readonlyguard.RawOf[Author](r, "DELETE FROM authors RETURNING *").Find(ctx)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	require.ErrorIs(t, readonlyguard.RawOf[Author](r, "DELETE FROM authors RETURNING id").Row(ctx).Scan(new(int)), readonlyguard.ErrReadOnly)
	_, err = readonlyguard.Of[Author](r, clause.Locking{Strength: "UPDATE"}).First(ctx)
	require.ErrorIs(t, err, readonlyguard.ErrReadOnly)
	assert.Empty(t, s.log())
}
