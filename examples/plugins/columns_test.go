package plugins

import (
	"testing"

	"github.com/pilagod/gorm-cursor-paginator/v2/paginator"
	"github.com/stretchr/testify/require"
	"gorm.io/datatypes"
	"gorm.io/gorm"
	"gorm.io/hints"
	"gorm.io/plugin/optimisticlock"
	"gorm.io/plugin/soft_delete"
)

func createNote(tx *gorm.DB) error { return tx.Create(&note{OwnerID: 1, Title: "mine"}).Error }

type softNote struct {
	ID        int64
	Title     string
	DeletedAt soft_delete.DeletedAt
	Server    string `gorm:"->"`
}

func (softNote) TableName() string { return "notes" }

func TestSoftDelete(t *testing.T) {
	eachOrder(t, options{}, nil, func(t *testing.T, x *app) []string {
		var log []string
		me := x.visitor()
		n := softNote{Title: "second"}
		log = append(log, said("create", me.Create(&n), n.ID))
		tx := me.Delete(&n)
		log = append(log, said("delete", tx))
		tx = me.First(&softNote{}, n.ID)
		log = append(log, said("first", tx))
		var found softNote
		tx = me.Unscoped().First(&found, n.ID)
		log = append(log, said("unscoped", tx, found.Title, found.DeletedAt > 0))

		read := func(tx *gorm.DB) []softNote {
			var all []softNote
			require.NoError(t, tx.Find(&all).Error)
			return all
		}
		follows(t, x, check{
			write: func(tx *gorm.DB) error { return tx.Create(&softNote{Title: "mine"}).Error },
			read:  func(tx *gorm.DB) (int, string) { all := read(tx); return len(all), all[0].Server },
		}, check{ // a deletion is an UPDATE, and as much a write as any
			write: func(tx *gorm.DB) error { return tx.Where("title = ?", "mine").Delete(&softNote{}).Error },
			read: func(tx *gorm.DB) (int, string) {
				all := read(tx.Unscoped())
				gone := 0
				for _, n := range all {
					if n.DeletedAt > 0 {
						gone++
					}
				}
				return gone, all[0].Server
			},
		})
		return log
	})
}

type versionedNote struct {
	ID      int64
	Title   string
	Version optimisticlock.Version
	Server  string `gorm:"->"`
}

func (versionedNote) TableName() string { return "notes" }

func TestOptimisticLock(t *testing.T) {
	eachOrder(t, options{}, nil, func(t *testing.T, x *app) []string {
		var log []string
		me := x.visitor()
		var mine, theirs versionedNote
		log = append(log, said("first", me.First(&mine, 1), mine.Version.Int64))
		log = append(log, said("first", me.First(&theirs, 1), theirs.Version.Int64))
		log = append(log, said("update", me.Model(&mine).Update("title", "changed")))
		log = append(log, said("an update of an older version", me.Model(&theirs).Update("title", "lost")))
		log = append(log, said("updates by struct", me.Model(&versionedNote{ID: 1}).Updates(&versionedNote{Title: "again"})))
		var now versionedNote
		log = append(log, said("first", me.First(&now, 1), now.Title, now.Version.Int64))

		version := func(tx *gorm.DB) (int, string) {
			var n versionedNote
			require.NoError(t, tx.First(&n, 1).Error)
			return int(n.Version.Int64), n.Server
		}
		follows(t, x, check{func(tx *gorm.DB) error { return tx.Model(&now).Update("title", "mine").Error }, version})

		if x.plugin != nil {
			// A row from a replica that is behind has an old version: the update finds
			// nothing, as it would after any other writer, and overwrites nothing.
			x.pause(t)
			x.past(t, "UPDATE notes_t SET version = version + 1, title = 'somebody else' WHERE id = 1")
			var old versionedNote
			require.NoError(t, x.visitor().First(&old, 1).Error)
			onReplica(t, old.Server)
			tx := x.visitor().Model(&old).Update("title", "lost")
			require.NoError(t, tx.Error)
			require.EqualValues(t, 0, tx.RowsAffected)
			require.Equal(t, "somebody else", x.value(t, "SELECT title FROM notes_t WHERE id = 1"))
		}
		return log
	})
}

type docNote struct {
	ID     int64
	Title  string
	Doc    datatypes.JSON
	Server string `gorm:"->"`
}

func (docNote) TableName() string { return "notes" }

func TestDatatypes(t *testing.T) {
	eachOrder(t, options{}, nil, func(t *testing.T, x *app) []string {
		var log []string
		me := x.visitor()
		n := docNote{Title: "second", Doc: datatypes.JSON(`{"color": "blue", "size": 3}`)}
		log = append(log, said("create", me.Create(&n), n.ID))
		log = append(log, said("set", me.Model(&docNote{}).Where("id = ?", n.ID).UpdateColumn("doc", datatypes.JSONSet("doc").Set("{size}", 4))))
		var checks []check
		for _, where := range []any{
			datatypes.JSONQuery("doc").HasKey("color"),
			datatypes.JSONQuery("doc").Equals("red", "color"),
			datatypes.JSONQuery("doc").Likes("%e%", "color"),
			datatypes.JSONArrayQuery("doc").Contains("color"),
		} {
			find := func(tx *gorm.DB) ([]docNote, *gorm.DB) {
				var all []docNote
				tx = tx.Where(where).Order("id").Find(&all)
				require.NoError(t, tx.Error)
				return all, tx
			}
			all, tx := find(me)
			log = append(log, said("find", tx, len(all), string(all[0].Doc)))
			checks = append(checks, check{
				write: func(tx *gorm.DB) error {
					return tx.Create(&docNote{Title: "mine", Doc: datatypes.JSON(`{"color": "red"}`)}).Error
				},
				read: func(tx *gorm.DB) (int, string) { all, _ := find(tx); return len(all), all[0].Server },
			})
		}
		follows(t, x, checks...)
		return log
	})
}

func TestHints(t *testing.T) {
	eachOrder(t, options{}, nil, func(t *testing.T, x *app) []string {
		var log []string
		var checks []check
		for _, hint := range []hints.Hints{
			hints.New("SeqScan(notes_t)"),
			hints.Comment("select", "controller:notes"),
			hints.CommentBefore("select", "route:/notes; UPDATE notes SET title = ''"),
			hints.CommentAfter("where", "trace:1"),
		} {
			find := func(tx *gorm.DB) ([]note, *gorm.DB) {
				var all []note
				tx = tx.Clauses(hint).Where("id < 100").Order("id").Find(&all)
				require.NoError(t, tx.Error)
				return all, tx
			}
			all, tx := find(x.visitor())
			log = append(log, said("find", tx, len(all), all[0].Title))
			checks = append(checks, check{createNote, func(tx *gorm.DB) (int, string) { all, _ := find(tx); return len(all), all[0].Server }})
		}
		follows(t, x, checks...)
		tx := x.visitor().Clauses(hints.CommentBefore("update", "SELECT 1")).Model(&note{ID: 1}).Update("title", "changed")
		log = append(log, said("update", tx, x.value(t, "SELECT title FROM notes_t WHERE id = 1")))
		return log
	})
}

func TestCursorPaginator(t *testing.T) {
	eachOrder(t, options{}, nil, func(t *testing.T, x *app) []string {
		x.past(t, "INSERT INTO notes_t (owner_id, title) SELECT 1, 'note ' || n FROM generate_series(1, 9) n")
		require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
		page := func(tx *gorm.DB, limit int, from paginator.Cursor) ([]note, *gorm.DB, paginator.Cursor) {
			p := paginator.New(paginator.WithKeys("ID"), paginator.WithLimit(limit), paginator.WithOrder(paginator.ASC))
			if from.After != nil {
				p.SetAfterCursor(*from.After)
			}
			var all []note
			tx, next, err := p.Paginate(tx, &all)
			require.NoError(t, err)
			return all, tx, next
		}
		var log []string
		var at paginator.Cursor
		me := x.visitor()
		for {
			var all []note
			var tx *gorm.DB
			all, tx, at = page(me, 4, at)
			log = append(log, said("page", tx, len(all), all[0].ID))
			if at.After == nil {
				break
			}
		}
		follows(t, x, check{createNote, func(tx *gorm.DB) (int, string) {
			all, _, _ := page(tx, 100, paginator.Cursor{})
			return len(all), all[0].Server
		}})
		return log
	})
}
