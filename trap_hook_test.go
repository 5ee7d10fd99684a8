package readsplit_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

func TestT05HooksOfAWrite(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		ran := map[string]int{}
		h := hooks{}
		for _, name := range []string{
			"BeforeSave", "AfterSave", "AfterCreate", "BeforeUpdate", "AfterUpdate", "BeforeDelete", "AfterDelete",
		} {
			h[name] = func(tx *gorm.DB) error {
				ran[name]++
				var two book
				require.NoError(t, tx.Where("title = ?", "two").First(&two).Error, name)
				require.Equal(t, "primary", two.Server, name)
				require.Equal(t, "primary", served(t, tx), name)
				// Looking at a statement without running it changes nothing for
				// the next one.
				dry := tx.Session(&gorm.Session{NewDB: true, DryRun: true})
				require.Contains(t, dry.Find(&[]book{}).Statement.SQL.String(), "SELECT", name)
				require.Contains(t, dry.Create(&book{Title: "dry"}).Statement.SQL.String(), "INSERT", name)
				require.NoError(t, tx.Where("title = ?", "two").First(&two).Error, name)
				require.Equal(t, "primary", two.Server, name)
				return nil
			}
		}
		db := x.WithContext(withHooks(h)) // no session
		b := &hookedBook{Title: "hooked"}
		require.NoError(t, db.Create(b).Error)
		require.NoError(t, db.Save(b).Error)
		require.NoError(t, db.Model(b).Update("title", "changed").Error)
		require.NoError(t, db.Delete(b).Error)
		require.Equal(t, map[string]int{
			"BeforeSave": 3, "AfterSave": 3, "AfterCreate": 1, "BeforeUpdate": 2, "AfterUpdate": 2, "BeforeDelete": 1, "AfterDelete": 1,
		}, ran)
		require.Equal(t, []string{"one", "two"}, x.titles(t))
	})
}

// What a context asks for is lost neither in a hook nor between batches, as a
// clause is.
func TestMarksReachHooksAndBatches(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		seen := 0
		h := hooks{"AfterFind": func(tx *gorm.DB) error {
			seen++
			require.Equal(t, "primary", served(t, tx))
			return nil
		}}
		ctx := readsplit.Fresh(readsplit.WithSession(withHooks(h), readsplit.NewSession()))
		db := x.WithContext(ctx)
		var found []hookedBook
		require.NoError(t, db.Find(&found).Error)
		require.Equal(t, 2, seen)
		var batch []book
		sizes := []int{}
		require.NoError(t, db.FindInBatches(&batch, 1, func(tx *gorm.DB, _ int) error {
			sizes = append(sizes, len(batch))
			require.Equal(t, "primary", batch[0].Server)
			require.Equal(t, "primary", served(t, tx))
			return nil
		}).Error)
		require.Equal(t, []int{1, 1}, sizes)
	})
}

func TestT18HookErrorAfterTheCommit(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		refuse := errors.New("mail server down")
		h := hooks{"AfterSave": func(*gorm.DB) error { return refuse }}
		ctx := readsplit.WithSession(withHooks(h), readsplit.NewSession())
		db := x.WithContext(ctx)

		// With the default transaction it is rolled back.
		require.ErrorIs(t, db.Create(&hookedBook{Title: "back"}).Error, refuse)
		reads(t, db, false, "one")

		skip := db.Session(&gorm.Session{SkipDefaultTransaction: true})
		require.ErrorIs(t, skip.Create(&hookedBook{Title: "three"}).Error, refuse)
		reads(t, db, true, "one", "two", "three")
		require.Zero(t, x.plugin.Status().Unsure, "the outcome is known")

		db = x.WithContext(readsplit.WithSession(withHooks(h), readsplit.NewSession()))
		skip = db.Session(&gorm.Session{SkipDefaultTransaction: true})
		require.ErrorIs(t, skip.Model(&hookedBook{}).Where("title = ?", "three").Update("title", "tres").Error, refuse)
		reads(t, db, true, "one", "two", "tres")
		require.NotEqual(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))

		// A statement that the server refused has written nothing.
		db, _ = x.session()
		skip = db.Session(&gorm.Session{SkipDefaultTransaction: true})
		require.Error(t, skip.Create(&book{ID: 1, Title: "double"}).Error)
		reads(t, db, false, "one")
		require.Zero(t, x.plugin.Status().Unsure)
	})
}

func TestFirstOrCreateLooksOnThePrimary(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.stale(t)
		x.past(t, "INSERT INTO authors_t (name) VALUES ('Bob')")

		db, _ := x.session()
		var bob author
		tx := db.Where(author{Name: "Bob"}).Attrs(author{}).FirstOrCreate(&bob)
		require.NoError(t, tx.Error)
		require.Equal(t, "primary", bob.Server)
		require.EqualValues(t, 2, bob.ID, "found, not made again")
		reads(t, db, false, "one")

		require.NoError(t, db.Where(book{Title: "two"}).Assign(book{AuthorID: 2}).FirstOrCreate(&book{}).Error)
		reads(t, db, true, "one", "two")

		// A Find that looks like it is a read.
		db, _ = x.session()
		var books []book
		require.NoError(t, db.Limit(1).Order("id").Find(&books).Error)
		onReplica(t, books[0].Server)

		// In a hook of a query a read that looks like it is one too.
		seen := ""
		h := hooks{"AfterFind": func(tx *gorm.DB) error {
			var a author
			err := tx.Where("name = ?", "Ann").Limit(1).Order(clause.OrderByColumn{Column: clause.Column{Table: clause.CurrentTable, Name: clause.PrimaryKey}}).Find(&a).Error
			seen = a.Server
			return err
		}}
		db = x.WithContext(readsplit.WithSession(withHooks(h), readsplit.NewSession()))
		require.NoError(t, db.First(&hookedBook{}).Error)
		onReplica(t, seen)
	})
}
