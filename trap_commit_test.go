package readsplit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// waysToWrite is every way to write one book through GORM, and T13: prepared or
// not, each is seen.
var waysToWrite = map[string]func(db *gorm.DB, b *book) error{
	"Create":          func(db *gorm.DB, b *book) error { return db.Create(b).Error },
	"Create of many":  func(db *gorm.DB, b *book) error { return db.Create([]*book{b}).Error },
	"Create of a map": func(db *gorm.DB, b *book) error { return db.Model(b).Create(map[string]any{"title": b.Title}).Error },
	"CreateInBatches": func(db *gorm.DB, b *book) error {
		return db.CreateInBatches([]*book{b, {Title: b.Title + "'"}}, 1).Error
	},
	"Save":    func(db *gorm.DB, b *book) error { b.ID = 100; return db.Save(b).Error },
	"Updates": func(db *gorm.DB, b *book) error { return db.Model(&book{ID: 1}).Updates(b).Error },
	"Update returning": func(db *gorm.DB, b *book) error {
		return db.Model(b).Clauses(clause.Returning{}).Where("id = 1").Update("title", b.Title).Error
	},
	"UpdateColumn": func(db *gorm.DB, b *book) error {
		return db.Model(&book{}).Where("id = 1").UpdateColumn("title", b.Title).Error
	},
	"Delete": func(db *gorm.DB, _ *book) error { return db.Delete(&book{}, "title = ?", "two").Error },
	"Delete returning": func(db *gorm.DB, _ *book) error {
		return db.Clauses(clause.Returning{}).Where("title = ?", "two").Delete(&book{}).Error
	},
	"FirstOrCreate": func(db *gorm.DB, b *book) error { return db.FirstOrCreate(b, book{Title: b.Title}).Error },
	"Association": func(db *gorm.DB, b *book) error {
		return db.Model(&author{ID: 1}).Association("Books").Append(b)
	},
	"of a nested association": func(db *gorm.DB, b *book) error {
		return db.Create(&author{Name: b.Title, Books: []book{*b}}).Error
	},
	"Exec": func(db *gorm.DB, b *book) error {
		return db.Exec("INSERT INTO books (title) VALUES (?)", b.Title).Error
	},
	"Exec returning": func(db *gorm.DB, b *book) error {
		return db.Exec("INSERT INTO books (title) VALUES (?) RETURNING id", b.Title).Error
	},
	"Exec of a procedure": func(db *gorm.DB, b *book) error { return db.Exec("CALL add_book(?)", b.Title).Error },
	"Raw Scan": func(db *gorm.DB, b *book) error {
		return db.Raw("INSERT INTO books (title) VALUES (?) RETURNING id", b.Title).Scan(&b.ID).Error
	},
	"Raw Row": func(db *gorm.DB, b *book) error {
		return db.Raw("INSERT INTO books (title) VALUES (?) RETURNING id", b.Title).Row().Scan(&b.ID)
	},
	"Raw Rows": func(db *gorm.DB, b *book) error {
		rows, err := db.Raw("INSERT INTO books (title) VALUES (?) RETURNING id", b.Title).Rows()
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := rows.Scan(&b.ID); err != nil {
				return err
			}
		}
		return errors.Join(rows.Err(), rows.Close())
	},
	"Raw Find": func(db *gorm.DB, b *book) error {
		return db.Raw("WITH new AS (INSERT INTO books (title) VALUES (?) RETURNING id) SELECT id FROM new", b.Title).Find(b).Error
	},
	"a function": func(db *gorm.DB, b *book) error {
		return db.Raw("SELECT new_book(?)", b.Title).Scan(&b.ID).Error
	},
	"Transaction": func(db *gorm.DB, b *book) error {
		return db.Transaction(func(tx *gorm.DB) error { return tx.Create(b).Error })
	},
	"nested Transaction": func(db *gorm.DB, b *book) error {
		return db.Transaction(func(tx *gorm.DB) error {
			return tx.Transaction(func(tx *gorm.DB) error {
				return tx.Raw("INSERT INTO books (title) VALUES (?) RETURNING id", b.Title).Scan(&b.ID).Error
			})
		})
	},
	"Begin and Commit": func(db *gorm.DB, b *book) error {
		tx := db.Begin()
		if err := tx.Exec("INSERT INTO books (title) VALUES (?)", b.Title).Error; err != nil {
			return err
		}
		return tx.Commit().Error
	},
	"generics": func(db *gorm.DB, b *book) error {
		return gorm.G[book](db).Create(db.Statement.Context, b)
	},
}

func TestT13WritesAreSeenByTheirSession(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.past(t, `
			CREATE FUNCTION new_book(t text) RETURNS bigint LANGUAGE sql AS 'INSERT INTO books_t (title) VALUES (t) RETURNING id';
			CREATE PROCEDURE add_book(t text) LANGUAGE plpgsql AS 'BEGIN INSERT INTO books_t (title) VALUES (t); END'`)
		x.stale(t)
		unscoped, _ := x.session()
		for name, write := range waysToWrite {
			t.Run(name, func(t *testing.T) {
				db, _ := x.session()
				reads(t, db, false, "one")
				title := strings.ReplaceAll(name, " ", "_")
				require.NoError(t, write(db, &book{Title: title}))
				all := x.titles(t)
				if !strings.HasPrefix(name, "Delete") {
					require.Contains(t, all, title)
				}
				reads(t, db, true, all...)
				reads(t, unscoped, false, "one")
				require.Zero(t, x.plugin.Status().Unsure)
				x.past(t, "TRUNCATE books_t; INSERT INTO books_t VALUES (1, 'one', 1), (2, 'two', 1)")
			})
		}
	})
}

// A write is judged by a position from soon after it, not by one from when
// somebody asks: a replica that has it may serve its session, whatever else was
// written since.
func TestWritesAreClaimedSoon(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.past(t, `
			CREATE FUNCTION new_book(t text) RETURNS bigint LANGUAGE sql AS 'INSERT INTO books_t (title) VALUES (t) RETURNING id';
			CREATE PROCEDURE add_book(t text) LANGUAGE plpgsql AS 'BEGIN INSERT INTO books_t (title) VALUES (t); END'`)
		sessions := map[string]*gorm.DB{}
		for name, write := range waysToWrite {
			sessions[name], _ = x.session()
			require.NoError(t, write(sessions[name], &book{ID: int64(1000 + len(sessions)), Title: name}), name)
		}
		// Nobody reads. A sample later everything has its position.
		captures := x.plugin.Status().Captures
		eventually(t, "two more samples", func() bool { return x.plugin.Status().Captures >= captures+2 })
		x.stale(t)
		for name, db := range sessions {
			require.True(t, isReplica(served(t, db)), name)
		}
		require.Zero(t, x.plugin.Status().Unsure)
	})
}

func TestT15NotCommitted(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.past(t, `ALTER TABLE books_t ADD CONSTRAINT late UNIQUE (title) DEFERRABLE INITIALLY DEFERRED`)
		x.stale(t)
		no := errors.New("no")
		create := func(tx *gorm.DB, title string) { require.NoError(t, tx.Create(&book{Title: title}).Error) }

		for name, ends := range map[string]func(t *testing.T, db *gorm.DB){
			"rollback": func(t *testing.T, db *gorm.DB) {
				require.ErrorIs(t, db.Transaction(func(tx *gorm.DB) error { create(tx, "a"); return no }), no)
			},
			"panic": func(t *testing.T, db *gorm.DB) {
				require.PanicsWithValue(t, "no", func() {
					_ = db.Transaction(func(tx *gorm.DB) error { create(tx, "a"); panic("no") })
				})
			},
			"a swallowed error": func(t *testing.T, db *gorm.DB) {
				require.ErrorContains(t, db.Transaction(func(tx *gorm.DB) error {
					create(tx, "a")
					require.Error(t, tx.Exec("INSERT INTO nowhere VALUES (1)").Error)
					return nil
				}), "commit unexpectedly resulted in rollback")
			},
			"a constraint at commit": func(t *testing.T, db *gorm.DB) {
				require.ErrorContains(t, db.Transaction(func(tx *gorm.DB) error { create(tx, "one"); return nil }), "23505")
			},
			"the default transaction": func(t *testing.T, db *gorm.DB) {
				require.ErrorContains(t, db.Create(&book{Title: "one"}).Error, "23505")
			},
			"a constraint without a transaction": func(t *testing.T, db *gorm.DB) {
				skip := db.Session(&gorm.Session{SkipDefaultTransaction: true})
				require.ErrorContains(t, skip.Create(&book{Title: "one"}).Error, "23505")
				require.ErrorContains(t, skip.Exec("INSERT INTO books (title) VALUES ('one')").Error, "23505")
				require.ErrorContains(t, skip.Model(&book{}).Clauses(clause.Returning{}).Where("title = ?", "two").Update("title", "one").Error, "23505")
			},
			"done already": func(t *testing.T, db *gorm.DB) {
				tx := db.Begin()
				create(tx, "a")
				require.NoError(t, tx.Rollback().Error)
				require.ErrorIs(t, tx.Commit().Error, sql.ErrTxDone)
			},
			"cancelled before": func(t *testing.T, db *gorm.DB) {
				ctx, cancel := context.WithCancel(db.Statement.Context)
				cancel()
				require.ErrorIs(t, db.WithContext(ctx).Exec("INSERT INTO books (title) VALUES ('a')").Error, context.Canceled)
			},
			"nothing written": func(t *testing.T, db *gorm.DB) {
				require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
					require.Equal(t, "primary", served(t, tx))
					var books []book
					return tx.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&books).Error
				}))
				require.NoError(t, db.Clauses(clause.Locking{Strength: "UPDATE"}).Find(&[]book{}).Error)
			},
		} {
			t.Run(name, func(t *testing.T) {
				db, _ := x.session()
				unsure := x.plugin.Status().Unsure
				ends(t, db)
				require.Equal(t, []string{"one", "two"}, x.titles(t))
				if name == "cancelled before" {
					return // who cancelled when cannot be told: see TestT15Unknown
				}
				reads(t, db, false, "one")
				require.Equal(t, unsure, x.plugin.Status().Unsure)
			})
		}
		t.Run("a savepoint", func(t *testing.T) {
			// What was rolled back alone is counted as written: safe, and rare.
			db, _ := x.session()
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				require.ErrorIs(t, tx.Transaction(func(tx *gorm.DB) error { create(tx, "a"); return no }), no)
				return nil
			}))
			reads(t, db, true, "one", "two")
		})
	})
}

// slowCommit makes a COMMIT that inserted a book "slow" sleep on the primary.
func (x *trap) slowCommit(t *testing.T, seconds float64) {
	t.Helper()
	x.past(t, fmt.Sprintf(`
		CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(%g); RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON books_t DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW WHEN (NEW.title = 'slow') EXECUTE FUNCTION nap()`, seconds))
}

// sleeping waits until a commit sleeps and returns the process that it sleeps in.
func (x *trap) sleeping(t *testing.T) (pid int) {
	t.Helper()
	eventually(t, "the commit sleeps", func() bool {
		err := x.admin.QueryRowContext(limit(t), "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'", x.schema).Scan(&pid)
		return err == nil
	})
	return pid
}

// killSleeping ends the connections whose commits sleep.
func (x *trap) killSleeping(t *testing.T) {
	t.Helper()
	x.past(t, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'", x.schema)
}

func TestT15Unknown(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.slowCommit(t, 60)
		x.stale(t)
		for name, write := range waysToWrite {
			switch name {
			case "Create", "Exec", "Raw Scan", "Transaction", "Save", "generics":
			default:
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Run("connection lost", func(t *testing.T) {
					db, _ := x.session()
					ended := make(chan error, 1)
					go func() { ended <- write(db, &book{Title: "slow"}) }()
					x.sleeping(t)
					x.killSleeping(t)
					require.Error(t, <-ended)
					require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
					reads(t, db, true, "one", "two")
				})
				t.Run("cancelled", func(t *testing.T) {
					db, base := x.session()
					ctx, cancel := context.WithCancel(base)
					ended := make(chan error, 1)
					go func() { ended <- write(db.WithContext(ctx), &book{Title: "slow"}) }()
					x.sleeping(t)
					cancel()
					require.Error(t, <-ended)
					require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
					reads(t, db, true, "one", "two")
					x.killSleeping(t) // where the server did not hear of it
				})
			})
		}
		t.Run("without the default transaction", func(t *testing.T) {
			db, _ := x.session()
			ended := make(chan error, 1)
			go func() {
				ended <- db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&book{Title: "slow"}).Error
			}()
			x.sleeping(t)
			x.killSleeping(t)
			require.Error(t, <-ended)
			require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
		})
	})
}

// A position that was taken inside the transaction would be too small, and a
// replica that has it would be asked.
func TestT16CaptureAfterTheCommit(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		other, _ := x.session()
		for i := range 100 {
			db, _ := x.session()
			title := fmt.Sprintf("t%d", i)
			require.NoError(t, db.Transaction(func(tx *gorm.DB) error {
				require.NoError(t, tx.Create(&book{Title: title}).Error)
				// A capture for somebody else, in the middle.
				require.NoError(t, other.Exec("UPDATE authors SET name = 'Ann' WHERE id = 1").Error)
				served(t, other)
				return nil
			}))
			var found []book
			require.NoError(t, db.Where("title = ?", title).Find(&found).Error)
			require.Len(t, found, 1, "read your writes")
		}
	})
}

func TestT17RowsLeftOpen(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.slowCommit(t, 1)
		x.stale(t)
		// Enough rows that the first ones are sent before the commit.
		insert := "INSERT INTO books (title) VALUES (?), ('m'), ('n') RETURNING repeat('x', 100000)"

		t.Run("until they are closed", func(t *testing.T) {
			db, _ := x.session()
			other, _ := x.session()
			rows, err := db.Raw(insert, "three").Rows()
			require.NoError(t, err)
			tx := db.Find(&[]book{})
			require.Equal(t, policy.ReasonPositionPending, reason(t, tx), "it may commit at any time")
			reads(t, other, false, "one")
			require.NoError(t, rows.Close())
			reads(t, db, true, "one", "two", "three", "m", "n")
			require.Zero(t, x.plugin.Status().Unsure)
		})
		t.Run("while they are being closed", func(t *testing.T) {
			db, ctx := x.session()
			other, _ := x.session()
			rows, err := db.Raw(insert, "slow").Rows()
			require.NoError(t, err)
			closed := make(chan error, 1)
			var after time.Time
			go func() {
				err := rows.Close()
				after = time.Now()
				closed <- err
			}()
			x.sleeping(t)
			// Nobody waits for that commit: neither the session itself nor others.
			reads(t, other, false, "one")
			reads(t, db, true, "one", "two", "three", "m", "n")
			token, err := readsplit.SessionFrom(ctx).Token(ctx)
			require.NoError(t, err)
			read := time.Now()
			require.NoError(t, <-closed)
			require.True(t, read.Before(after), "the commit was still on its way")
			parsed, err := readsplit.Config{}.ParseToken(token)
			require.NoError(t, err)
			require.False(t, parsed.Unsure.IsZero(), "a token from meanwhile covers what was not yet committed")
			reads(t, db, true, "one", "two", "three", "m", "n", "slow", "m", "n")
		})
		t.Run("of a read", func(t *testing.T) {
			db, _ := x.session()
			rows, err := db.Raw("SELECT title FROM books").Rows()
			require.NoError(t, err)
			reads(t, db, false, "one")
			require.NoError(t, rows.Close())
		})
	})
}
