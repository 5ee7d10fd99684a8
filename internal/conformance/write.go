package conformance

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// writer writes through a handle, and says which books there are then beside "one" and "two".
type writer struct {
	write func(s *suite, db *gorm.DB) error
	then  []string
	// inside says that it is a transaction of its own.
	inside bool
}

var three = []string{"one", "two", "three"}

func wrote(do func(s *suite, db *gorm.DB) *gorm.DB, then ...string) writer {
	return writer{write: func(s *suite, db *gorm.DB) error { return do(s, db).Error }, then: then}
}

// writers are GORM's ways to write. Each changes what a list of the books shows.
var writers = map[string]writer{
	"Create": {func(s *suite, db *gorm.DB) error {
		b := book{Title: "three", AuthorID: s.ann}
		err := db.Create(&b).Error
		if err == nil && (b.ID == 0 || b.Copies != 3) {
			return errors.New("the identity or the default did not come back")
		}
		return err
	}, three, false},
	"Create of many": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Create([]*book{{Title: "three", AuthorID: s.ann}, {Title: "four", AuthorID: s.ann}})
	}, "one", "two", "three", "four"),
	"Create of a map": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Model(&book{}).Create(map[string]any{"title": "three", "copies": 3, "author_id": s.ann})
	}, three...),
	"Create with a given identity": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		var last book
		if err := db.Unscoped().Last(&last).Error; err != nil {
			return db
		}
		return db.Create(&book{ID: last.ID + 1000, Title: "three", AuthorID: s.ann})
	}, three...),
	"CreateInBatches": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.CreateInBatches([]*book{{Title: "three", AuthorID: s.ann}, {Title: "four", AuthorID: s.ann}}, 1)
	}, "one", "two", "three", "four"),
	"of an association": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		return db.Create(&author{Name: "Cid", Books: []book{{Title: "three"}}})
	}, three...),
	"Upsert": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		first := db.Create(&book{Title: "3", AuthorID: s.ann})
		var b book
		if first.Error != nil || db.Where("title = ?", "3").First(&b).Error != nil {
			return first
		}
		b.Title = "three"
		return db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"title"})}).Create(&b)
	}, three...),
	"Save": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		var b book
		if tx := db.WithContext(readsplit.Fresh(db.Statement.Context)).First(&b, "title = ?", "one"); tx.Error != nil {
			return tx
		}
		b.Title = "uno"
		return db.Save(&b)
	}, "uno", "two"),
	"Save of a new one": wrote(func(s *suite, db *gorm.DB) *gorm.DB { return db.Save(&book{Title: "three", AuthorID: s.ann}) }, three...),
	"Update": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		return db.Model(&book{}).Where("title = ?", "one").Update("title", "uno")
	}, "uno", "two"),
	"Updates": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		return db.Model(&book{}).Where("title = ?", "one").Updates(map[string]any{"title": "uno", "copies": gorm.Expr("copies + ?", 1)})
	}, "uno", "two"),
	"Updates of a struct": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		return db.Model(&book{}).Where("title = ?", "one").Updates(book{Title: "uno"})
	}, "uno", "two"),
	"UpdateColumn": wrote(func(_ *suite, db *gorm.DB) *gorm.DB {
		return db.Model(&book{}).Where("title = ?", "one").UpdateColumn("title", "uno")
	}, "uno", "two"),
	"Update returning": {func(_ *suite, db *gorm.DB) error {
		var changed []book
		err := db.Model(&changed).Clauses(clause.Returning{}).Where("title = ?", "one").Update("title", "uno").Error
		if err == nil && (len(changed) != 1 || changed[0].Title != "uno") {
			return errors.New("the row did not come back")
		}
		return err
	}, []string{"uno", "two"}, false},
	"soft Delete": wrote(func(_ *suite, db *gorm.DB) *gorm.DB { return db.Delete(&book{}, "title = ?", "two") }, "one"),
	"Delete":      wrote(func(_ *suite, db *gorm.DB) *gorm.DB { return db.Unscoped().Delete(&book{}, "title = ?", "two") }, "one"),
	"Delete returning": {func(_ *suite, db *gorm.DB) error {
		var gone []book
		err := db.Unscoped().Clauses(clause.Returning{}).Where("title = ?", "two").Delete(&gone).Error
		if err == nil && (len(gone) != 1 || gone[0].Title != "two") {
			return errors.New("the row did not come back")
		}
		return err
	}, []string{"one"}, false},
	"FirstOrCreate": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Where(book{Title: "three"}).Attrs(book{AuthorID: s.ann}).FirstOrCreate(&book{})
	}, three...),
	"Association Append": {func(s *suite, db *gorm.DB) error {
		return db.Model(&author{ID: s.ann}).Association("Books").Append(&book{Title: "three"})
	}, three, false},
	"Exec": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Exec("INSERT INTO "+booksTable+" (title, copies, author_id) VALUES (?, 3, ?)", "three", s.ann)
	}, three...),
	"Exec of rows": wrote(func(s *suite, db *gorm.DB) *gorm.DB { return db.Exec(s.b.SQL.Insert, "three", s.ann) }, three...),
	"Raw Scan": {func(s *suite, db *gorm.DB) error {
		var id int64
		err := db.Raw(s.b.SQL.Insert, "three", s.ann).Scan(&id).Error
		if err == nil && id == 0 {
			return errors.New("the identity did not come back")
		}
		return err
	}, three, false},
	"Raw Row": {func(s *suite, db *gorm.DB) error {
		var id int64
		return db.Raw(s.b.SQL.Insert, "three", s.ann).Row().Scan(&id)
	}, three, false},
	"Raw Rows": {func(s *suite, db *gorm.DB) error {
		rows, err := db.Raw(s.b.SQL.Insert, "three", s.ann).Rows()
		if err != nil {
			return err
		}
		n := 0
		for rows.Next() {
			n++
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || n == 1 {
			return err
		}
		return errors.New("not one row")
	}, three, false},
	"Transaction": {func(s *suite, db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "three", AuthorID: s.ann}).Error })
	}, three, true},
	"nested Transaction": {func(s *suite, db *gorm.DB) error {
		return db.Transaction(func(tx *gorm.DB) error {
			return tx.Transaction(func(tx *gorm.DB) error {
				var id int64
				return tx.Raw(s.b.SQL.Insert, "three", s.ann).Scan(&id).Error
			})
		})
	}, three, true},
	"Begin and Commit": {func(s *suite, db *gorm.DB) error {
		tx := db.Begin()
		if err := tx.Create(&book{Title: "three", AuthorID: s.ann}).Error; err != nil {
			return err
		}
		return tx.Commit().Error
	}, three, true},
	"Connection": {func(s *suite, db *gorm.DB) error {
		return db.Connection(func(tx *gorm.DB) error { return tx.Create(&book{Title: "three", AuthorID: s.ann}).Error })
	}, three, true},
	"Session without default transaction": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&book{Title: "three", AuthorID: s.ann})
	}, three...),
	"Session with PrepareStmt": wrote(func(s *suite, db *gorm.DB) *gorm.DB {
		return db.Session(&gorm.Session{PrepareStmt: true, CreateBatchSize: 1}).Create([]*book{{Title: "three", AuthorID: s.ann}})
	}, three...),
	"generics Create": {func(s *suite, db *gorm.DB) error {
		return gorm.G[book](db).Create(db.Statement.Context, &book{Title: "three", AuthorID: s.ann})
	}, three, false},
	"generics Update": {func(_ *suite, db *gorm.DB) error {
		_, err := gorm.G[book](db).Where("title = ?", "one").Update(db.Statement.Context, "title", "uno")
		return err
	}, []string{"uno", "two"}, false},
	"generics Delete": {func(_ *suite, db *gorm.DB) error {
		_, err := gorm.G[book](db).Where("title = ?", "two").Delete(db.Statement.Context)
		return err
	}, []string{"one"}, false},
}

// Every way to write runs on the primary, and whoever wrote so sees it at once, while the
// replicas have nothing of it; who did not write goes on reading there.
func testWrites(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		before := d.plugin.Status().Refused
		for _, name := range slices.Sorted(maps.Keys(writers)) {
			w := writers[name]
			t.Run(name, func(t *testing.T) {
				s.rewind(t)
				s.add(t, "two")
				db := d.session()
				require.NoError(t, w.write(s, db))
				require.Equal(t, w.then, s.titles(t))
				d.own(t, db, w.then...)
			})
		}
		s.rewind(t)
		if s.b.Faults.has(pausing) {
			d.reads(t, d.session(), false, "one")
		}
		require.Equal(t, before, d.plugin.Status().Refused, "no replica had to refuse a write")
	})
}

// Without a session the whole process is one: it reads what it wrote.
func testProcess(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		until(t, func() bool { return d.who(t, d.DB) != s.primary() }, "reads without a session to leave the primary")
		s.behind(t)
		require.NoError(t, d.Create(&book{Title: "three", AuthorID: s.ann}).Error)
		d.own(t, d.DB, three...)
		d.own(t, d.early, three...)
		d.own(t, d.WithContext(context.Background()).Session(&gorm.Session{NewDB: true}), three...)
	})
}

// What did not happen binds nobody: a rollback, a dry run, a statement that the server refused.
func testNothingWritten(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		boom := errors.New("boom")
		db := d.session()
		require.ErrorIs(t, db.Transaction(func(tx *gorm.DB) error {
			require.NoError(t, tx.Create(&book{Title: "three", AuthorID: s.ann}).Error)
			require.Equal(t, policy.ReasonInTransaction, reason(t, tx.Session(&gorm.Session{NewDB: true}).Find(&[]book{})))
			return boom
		}), boom)
		require.Panics(t, func() {
			_ = db.Transaction(func(tx *gorm.DB) error {
				require.NoError(t, tx.Create(&book{Title: "three", AuthorID: s.ann}).Error)
				panic("boom")
			})
		})
		tx := db.Begin()
		require.NoError(t, tx.Create(&book{Title: "three", AuthorID: s.ann}).Error)
		require.NoError(t, tx.Rollback().Error)
		err := db.Create(&author{Name: "Ann"}).Error
		require.Error(t, err)
		require.Contains(t, s.b.SQL.Duplicate, s.b.SQL.Code(err))
		require.Equal(t, []string{"one", "two"}, s.titles(t))
		d.reads(t, db, false, s.onReplicas()...)
		require.Zero(t, d.plugin.Status().Unsure)
	})
}

// A hook that fails after an autocommit write: the row is there, and whoever wrote it sees it.
func testHookAfterCommit(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		refuse := errors.New("mail server down")
		h := hooks{"AfterSave": func(*gorm.DB) error { return refuse }}
		db := d.WithContext(withHooks(newSession(), h)).Session(&gorm.Session{SkipDefaultTransaction: true})
		require.ErrorIs(t, db.Create(&hookedBook{Title: "three", AuthorID: s.ann}).Error, refuse)
		require.Equal(t, three, s.titles(t))
		d.own(t, db, three...)
		require.Zero(t, d.plugin.Status().Unsure, "the outcome is known")
	})
}

// What the plugin cannot see is told to it, or makes its session unsure.
func testUnseenWrites(t *testing.T, s *suite) {
	s.modes(t, func(t *testing.T, d *open) {
		s.behind(t)
		db := d.session()
		pool, err := db.DB()
		require.NoError(t, err)
		_, err = pool.ExecContext(limit(t), "UPDATE "+booksTable+" SET title = 'three' WHERE title = 'two'")
		require.NoError(t, err)
		d.reads(t, db, false, s.onReplicas()[0:1]...)
		readsplit.MarkWrite(db.Statement.Context)
		d.own(t, db, "one", "three")

		db = d.session()
		require.NoError(t, db.Connection(func(tx *gorm.DB) error {
			require.Equal(t, s.primary(), d.who(t, tx))
			return tx.Exec("UPDATE "+booksTable+" SET title = ? WHERE title = ?", "four", "three").Error
		}))
		d.own(t, db, "one", "four")
		require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))

		db = d.session()
		require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
			raw, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			_, err := raw.ExecContext(limit(t), "UPDATE "+booksTable+" SET title = 'five' WHERE title = 'four'")
			return err
		}))
		d.own(t, db, "one", "five")
	})
}
