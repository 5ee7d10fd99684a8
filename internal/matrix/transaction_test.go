package matrix

import (
	"database/sql"
	"errors"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// transactions that may write are the primary's from BEGIN to COMMIT.
func transactions() []*cell {
	back := errors.New("back")
	insert := func(tx *gorm.DB) error { return tx.Create(&note{Text: "tx"}).Error }
	look := func(tx *gorm.DB) error { return tx.Find(&[]author{}).Error }
	both := func(tx *gorm.DB) error { return errors.Join(look(tx), insert(tx), look(tx)) }
	return area("Transaction",
		write("Transaction that reads", func(p *probe) { p.ok(p.db.Transaction(look)) }).with(readsInReadSession),
		write("Transaction that writes", func(p *probe) { p.ok(p.db.Transaction(insert)) }),
		write("Transaction that reads and writes", func(p *probe) { p.ok(p.db.Transaction(both)) }).with(afterReads),
		write("Transaction that is rolled back", func(p *probe) {
			require.ErrorIs(p, p.db.Transaction(func(tx *gorm.DB) error { return errors.Join(insert(tx), back) }), back)
		}),
		write("Transaction that panics", func(p *probe) {
			require.PanicsWithValue(p, "out", func() { _ = p.db.Transaction(func(tx *gorm.DB) error { _ = insert(tx); panic("out") }) })
		}).with(outside),
		write("nested", func(p *probe) { p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Transaction(both) })) }).with(afterReads),
		write("nested, the inner one is rolled back", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Transaction(func(tx *gorm.DB) error { return errors.Join(insert(tx), back) }); !errors.Is(err, back) {
					return err
				}
				return look(tx)
			}))
		}).with(outside),
		write("nested with DisableNestedTransaction", func(p *probe) {
			flat := p.db.Session(&gorm.Session{DisableNestedTransaction: true})
			p.ok(flat.Transaction(func(tx *gorm.DB) error { return tx.Transaction(insert) }))
		}),
		write("Begin, Commit", func(p *probe) {
			tx := p.db.Begin()
			p.ok(both(tx))
			p.ok(tx.Commit().Error)
		}).with(outside),
		write("Begin, Rollback", func(p *probe) {
			tx := p.db.Begin()
			p.ok(both(tx))
			p.ok(tx.Rollback().Error)
		}).with(outside),
		write("SavePoint, RollbackTo", func(p *probe) {
			tx := p.db.Begin()
			p.ok(insert(tx))
			p.ok(tx.SavePoint("here").Error)
			p.ok(insert(tx))
			p.ok(tx.RollbackTo("here").Error)
			p.ok(tx.Commit().Error)
		}).with(outside),
		write("Begin with an isolation level", func(p *probe) {
			tx := p.db.Begin(&sql.TxOptions{Isolation: sql.LevelSerializable})
			p.ok(both(tx))
			p.ok(tx.Commit().Error)
		}).with(outside),
		write("Preload, Joins, Rows, Raw, Count in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				p.rows(3, tx.Preload("Books").Find(&[]author{}))
				p.rows(3, tx.Joins("Author").Find(&[]book{}))
				p.drain(tx.Model(&author{}).Rows())
				p.ok(tx.Raw("SELECT 1").Row().Scan(new(int)))
				return tx.Model(&author{}).Count(new(int64)).Error
			}))
		}).with(readsInReadSession),
		write("associations in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				return errors.Join(
					tx.Model(&author{ID: 1}).Association("Books").Find(&[]book{}),
					tx.Model(&book{ID: 1}).Association("Tags").Replace(&tag{Name: "tx"}),
				)
			}))
		}).with(outside),
		write("another context in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return both(tx.WithContext(p.ctx)) }))
		}).with(afterReads),
		write("AnyReplica in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return both(tx.WithContext(readsplit.AnyReplica(p.ctx))) }))
		}).with(outside),
		write("a new session in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return both(tx.Session(&gorm.Session{NewDB: true})) }))
		}).with(afterReads),
		write("prepared in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error { return both(tx.Session(&gorm.Session{PrepareStmt: true})) }))
		}).with(afterReads),
		write("FindInBatches in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				return tx.FindInBatches(&[]author{}, 2, func(tx *gorm.DB, _ int) error { return look(tx) }).Error
			}))
		}).with(readsInReadSession),
		write("hooks in it", func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterCreate": look, "AfterFind": insert})
			p.ok(p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				return errors.Join(tx.Create(&diary{Title: "x"}).Error, tx.First(&diary{}).Error)
			}))
		}),
		write("the migrator in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				require.True(p, tx.Migrator().HasTable("authors"))
				return tx.AutoMigrate(&shelf{})
			}))
		}).with(drops(dropShelves)),
		write("the *sql.Tx of SQLTx", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				inner, ok := readsplit.SQLTx(tx)
				require.True(p, ok)
				_, err := inner.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
				return err
			}))
		}).with(outside),
		mixed("of a handle that has read", `RP+`, func(p *probe) {
			found := p.db.Find(&[]author{})
			p.ok(found.Session(&gorm.Session{NewDB: true}).Transaction(both))
		}),
		mixed("a read beside an open one", `P+R`, func(p *probe) {
			tx := p.db.Begin()
			p.ok(insert(tx))
			p.ok(p.db.Session(&gorm.Session{NewDB: true, Context: readsplit.AnyReplica(p.ctx)}).Find(&[]tag{}).Error)
			p.ok(tx.Rollback().Error)
		}),
		mixed("a read after it", `P+R`, func(p *probe) {
			p.ok(p.db.Transaction(insert))
			var n int64
			p.ok(p.db.Model(&note{}).Count(&n).Error)
			require.EqualValues(p, 4, n)
		}),
		mixed("a read after one that was rolled back", `P+R`, func(p *probe) {
			require.ErrorIs(p, p.db.Transaction(func(tx *gorm.DB) error { return errors.Join(insert(tx), back) }), back)
			p.ok(p.db.Find(&[]note{}).Error)
		}),
	)
}

// afterReads: what is read before the first write was sent when a read session refuses that.
func afterReads(c *cell) { c.unseen = true }

// outside: the cell looks at its own errors in a way that a read session does not let it.
func outside(c *cell) { c.unseen = true }

// readOnlyTransactions may run on a replica, from BEGIN to the end.
func readOnlyTransactions() []*cell {
	look := func(tx *gorm.DB) error { return tx.Preload("Books").Find(&[]author{}).Error }
	ro := &sql.TxOptions{ReadOnly: true}
	return area("Read-only transaction",
		read("Transaction", func(p *probe) { p.ok(p.db.Transaction(look, ro)) }),
		read("Begin, Commit", func(p *probe) {
			tx := p.db.Begin(ro)
			p.ok(look(tx))
			p.ok(tx.Commit().Error)
		}),
		read("Begin, Rollback", func(p *probe) {
			tx := p.db.Begin(ro)
			p.ok(look(tx))
			p.ok(tx.Rollback().Error)
		}),
		read("repeatable read", func(p *probe) {
			p.ok(p.db.Transaction(look, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}))
		}),
		read("nested", func(p *probe) { p.ok(p.db.Transaction(func(tx *gorm.DB) error { return tx.Transaction(look) }, ro)) }),
		read("Rows, Row, Raw, Pluck, Count in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				p.drain(tx.Model(&author{}).Rows())
				p.ok(tx.Model(&author{}).Select("name").Row().Scan(new(string)))
				p.ok(tx.Raw("SELECT 1").Scan(new(int)).Error)
				p.ok(tx.Model(&author{}).Pluck("name", &[]string{}).Error)
				return tx.Model(&author{}).Count(new(int64)).Error
			}, ro))
		}),
		read("generics in it", func(p *probe) {
			p.ok(p.db.Transaction(func(tx *gorm.DB) error {
				_, err := gorm.G[author](tx).Preload("Books", nil).Find(p.ctx)
				return err
			}, ro))
		}),
		none("with nothing in it", func(p *probe) { p.ok(p.db.Transaction(func(*gorm.DB) error { return nil }, ro)) }),
		write("serializable", func(p *probe) {
			p.ok(p.db.Transaction(look, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable}))
		}).with(func(c *cell) { c.readSession = writes }),
		mixed("that begins with a locking read", `p`, func(p *probe) {
			require.ErrorContains(p, p.db.Transaction(func(tx *gorm.DB) error {
				return tx.Clauses(forUpdate).First(&author{}).Error
			}, ro), "25006")
		}),
		mixed("that begins with a write", `p`, func(p *probe) {
			require.ErrorContains(p, p.db.Transaction(func(tx *gorm.DB) error {
				return tx.Exec("DELETE FROM books").Error
			}, ro), "25006")
		}),
		mixed("that writes after a read", `RR`, func(p *probe) {
			require.ErrorIs(p, p.db.Transaction(func(tx *gorm.DB) error {
				if err := look(tx); err != nil {
					return err
				}
				return tx.Exec("DELETE FROM books").Error
			}, ro), readsplit.ErrWriteInReadOnlyTransaction)
		}),
	)
}
