package conformance

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// found is what a read gave out: how many of the books "one" and "two" it saw (0: it does
// not tell), and who says that it served it (empty: nobody does).
type found struct {
	books  int
	server string
}

func allOf(books []servedBook) (f found) {
	for _, b := range books {
		f.books, f.server = f.books+1, b.Server
	}
	return f
}

// readers are GORM's ways to read, through a handle that has its context and nothing else.
var readers = map[string]func(s *suite, db *gorm.DB) (found, *gorm.DB, error){
	"Find": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Select("*, " + s.by()).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"Find of maps": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var rows []map[string]any
		tx := db.Model(&book{}).Select("title, " + s.by()).Find(&rows)
		f := found{books: len(rows)}
		if len(rows) > 0 {
			f.server, _ = rows[0]["server"].(string)
		}
		return f, tx, tx.Error
	},
	"First": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var b servedBook
		tx := db.Select("*, " + s.by()).First(&b)
		return found{server: b.Server}, tx, tx.Error
	},
	"Take": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var b servedBook
		tx := db.Select("*, "+s.by()).Where("title = ?", "one").Take(&b)
		return found{server: b.Server}, tx, tx.Error
	},
	"Last": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var b servedBook
		tx := db.Select("*, " + s.by()).Last(&b)
		return found{books: map[string]int{"one": 1, "two": 2}[b.Title], server: b.Server}, tx, tx.Error
	},
	"Count": func(_ *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var n int64
		tx := db.Model(&book{}).Count(&n)
		return found{books: int(n)}, tx, tx.Error
	},
	"Pluck": func(_ *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var titles []string
		tx := db.Model(&book{}).Pluck("title", &titles)
		return found{books: len(titles)}, tx, tx.Error
	},
	"Scan": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Model(&book{}).Select("id, title, " + s.by()).Scan(&books)
		return allOf(books), tx, tx.Error
	},
	"Rows": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		rows, err := db.Model(&book{}).Select(s.by()).Rows()
		f, err := scanned(rows, err)
		return f, nil, err
	},
	"Row": func(s *suite, db *gorm.DB) (f found, _ *gorm.DB, err error) {
		err = db.Model(&book{}).Select("count(*), "+s.by()).Row().Scan(&f.books, &f.server)
		return f, nil, err
	},
	"Raw Scan": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Raw("SELECT title, " + s.by() + " FROM " + booksTable).Scan(&books)
		return allOf(books), tx, tx.Error
	},
	"Raw Find": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Raw("SELECT title, " + s.by() + " FROM " + booksTable).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"Raw First": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var b servedBook
		tx := db.Raw("SELECT title, "+s.by()+" FROM "+booksTable+" WHERE title = ?", "one").First(&b)
		return found{server: b.Server}, tx, tx.Error
	},
	"Raw Rows": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		rows, err := db.Raw("SELECT " + s.by() + " FROM " + booksTable).Rows()
		f, err := scanned(rows, err)
		return f, nil, err
	},
	"Raw Row": func(s *suite, db *gorm.DB) (f found, _ *gorm.DB, err error) {
		err = db.Raw("SELECT count(*), "+s.by()+" FROM "+booksTable+" WHERE author_id = ?", s.ann).Row().Scan(&f.books, &f.server)
		return f, nil, err
	},
	"FindInBatches": func(s *suite, db *gorm.DB) (f found, _ *gorm.DB, err error) {
		var books []servedBook
		err = db.Select("*, "+s.by()).FindInBatches(&books, 1, func(*gorm.DB, int) error {
			f.books, f.server = f.books+len(books), books[0].Server
			return nil
		}).Error
		return f, nil, err
	},
	"Joins": func(_ *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []book
		tx := db.Joins("Author").Find(&books)
		if tx.Error == nil && (len(books) == 0 || books[0].Author == nil || books[0].Author.Name != "Ann") {
			return found{}, tx, errors.New("the author is missing")
		}
		return found{books: len(books)}, tx, tx.Error
	},
	"Joins as text": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Table(booksTable+" b").Select("b.title, "+s.by()).Joins("JOIN "+authorsTable+" a ON a.id = b.author_id").Where("a.name = ?", "Ann").Scan(&books)
		return allOf(books), tx, tx.Error
	},
	"a subquery": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		writers := db.Session(&gorm.Session{NewDB: true}).Model(&author{}).Select("id").Where("name = ?", "Ann")
		tx := db.Select("*, "+s.by()).Where("author_id IN (?)", writers).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"Group and Having": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var sums []struct {
			N      int
			Server string
		}
		tx := db.Model(&book{}).Select("count(*) AS n, " + s.by()).Group("author_id").Having("count(*) > 0").Scan(&sums)
		if len(sums) != 1 {
			return found{}, tx, errors.Join(tx.Error, errors.New("not one group"))
		}
		return found{sums[0].N, sums[0].Server}, tx, tx.Error
	},
	"Preload": func(s *suite, db *gorm.DB) (f found, _ *gorm.DB, err error) {
		var a servedAuthor
		tx := db.Select("*, "+s.by()).Preload("Books", func(db *gorm.DB) *gorm.DB { return db.Select("*, " + s.by()) }).First(&a, "name = ?", "Ann")
		f = allOf(a.Books)
		if f.server != a.Server {
			err = errors.New("the children come from " + f.server + ", and their parent from " + a.Server)
		}
		return f, tx, errors.Join(err, tx.Error)
	},
	"Association Find": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []book
		err := db.Model(&author{ID: s.ann}).Association("Books").Find(&books)
		return found{books: len(books)}, nil, err
	},
	"Association Count": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		return found{books: int(db.Model(&author{ID: s.ann}).Association("Books").Count())}, nil, nil
	},
	"Session and Scopes": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Session(&gorm.Session{}).Session(&gorm.Session{QueryFields: false, SkipHooks: true}).Scopes(func(db *gorm.DB) *gorm.DB {
			return db.Where("title <> ?", "three")
		}).Select("*, " + s.by()).Order("title").Limit(10).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"a page": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Select("*, " + s.by()).Order("id").Limit(1).Find(&books)
		return found{server: allOf(books).server}, tx, tx.Error
	},
	"Unscoped": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Unscoped().Select("*, " + s.by()).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"Session with PrepareStmt": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		var books []servedBook
		tx := db.Session(&gorm.Session{PrepareStmt: true}).Session(&gorm.Session{PrepareStmt: true}).Select("*, "+s.by()).Where("author_id = ?", s.ann).Find(&books)
		return allOf(books), tx, tx.Error
	},
	"generics Find": func(s *suite, db *gorm.DB) (found, *gorm.DB, error) {
		books, err := gorm.G[servedBook](db).Select("*, " + s.by()).Find(db.Statement.Context)
		return allOf(books), nil, err
	},
	"generics Count": func(_ *suite, db *gorm.DB) (found, *gorm.DB, error) {
		n, err := gorm.G[book](db).Count(db.Statement.Context, "id")
		return found{books: int(n)}, nil, err
	},
	"generics Raw": func(s *suite, db *gorm.DB) (f found, _ *gorm.DB, err error) {
		err = gorm.G[book](db).Raw("SELECT count(*), "+s.by()+" FROM "+booksTable).Row(db.Statement.Context).Scan(&f.books, &f.server)
		return f, nil, err
	},
}

func scanned(rows *sql.Rows, err error) (f found, _ error) {
	if err != nil {
		return f, err
	}
	for rows.Next() {
		f.books++
		if err := rows.Scan(&f.server); err != nil {
			return f, err
		}
	}
	return f, errors.Join(rows.Err(), rows.Close())
}

// everyReader requires that each way to read is served there.
func everyReader(t *testing.T, d *open, onPrimary bool, handle func() *gorm.DB) {
	t.Helper()
	everyReaderOf(t, d, onPrimary, true, handle)
}

// everyReaderOf looks at who served only where that is certain.
func everyReaderOf(t *testing.T, d *open, onPrimary, certain bool, handle func() *gorm.DB) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(readers)) {
		db := handle()
		f, tx, err := readers[name](d.s, db)
		require.NoError(t, err, name)
		want := len(d.s.onReplicas())
		if onPrimary {
			want = 2
		}
		if f.books > 0 {
			require.Equal(t, want, f.books, "%s: what is there", name)
		}
		if certain && f.server != "" {
			require.Equal(t, onPrimary, f.server == d.s.primary(), "%s: %s served", name, f.server)
		}
		if certain && tx != nil {
			decided, ok := readsplit.DecisionOf(tx)
			require.True(t, ok, name)
			require.Equal(t, !onPrimary, decided.Replica, "%s: %v", name, decided)
		}
		if _, inside := db.Statement.ConnPool.(gorm.TxCommitter); inside {
			require.NoError(t, db.Rollback().Error)
		}
	}
}

// Every way to read goes to a replica, and to the primary for who has written, asked for it,
// or is in a transaction. A read-only transaction is on a replica, of a driver too that
// refuses the option.
func testReads(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		everyReader(t, d, false, d.session)
		everyReader(t, d, true, d.fresh)
		everyReaderOf(t, d, true, s.b.Faults.has(pausing), func() *gorm.DB {
			db := d.session()
			require.NoError(t, db.Exec("UPDATE "+authorsTable+" SET name = 'Ann' WHERE name = 'Ann'").Error)
			return db
		})
		inside := func(options ...*sql.TxOptions) func() *gorm.DB {
			return func() *gorm.DB {
				tx := d.session().Begin(options...)
				require.NoError(t, tx.Error)
				return tx
			}
		}
		everyReader(t, d, true, inside())
		everyReader(t, d, false, inside(&sql.TxOptions{ReadOnly: true}))
		require.NoError(t, d.WithContext(readsplit.Fresh(context.Background())).Transaction(func(tx *gorm.DB) error {
			require.Equal(t, s.primary(), d.who(t, tx))
			return nil
		}, &sql.TxOptions{ReadOnly: true}))
	})
}
