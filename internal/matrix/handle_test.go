package matrix

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// handles are handles of every kind: sessions, connections, and the pool below.
func handles() []*cell {
	session := func(name string, s *gorm.Session) []*cell {
		return []*cell{
			read(name+", read", func(p *probe) { p.rows(3, with(p, s).Find(&[]author{})) }),
			write(name+", write", func(p *probe) { p.rows(1, with(p, s).Create(&author{Name: "Dee"})) }),
		}
	}
	var all []*cell
	for _, s := range []struct {
		name string
		s    gorm.Session
	}{
		{"nothing", gorm.Session{}},
		{"NewDB", gorm.Session{NewDB: true}},
		{"SkipHooks", gorm.Session{SkipHooks: true}},
		{"PrepareStmt", gorm.Session{PrepareStmt: true}},
		{"SkipDefaultTransaction", gorm.Session{SkipDefaultTransaction: true}},
		{"QueryFields", gorm.Session{QueryFields: true}},
		{"Initialized", gorm.Session{Initialized: true}},
		{"Logger", gorm.Session{Logger: logger.Discard}},
		{"NowFunc", gorm.Session{NowFunc: func() time.Time { return time.Unix(0, 0) }}},
	} {
		all = append(all, session(s.name, &s.s)...)
	}
	all = append(area("Session", all...), area("Handles",
		read("WithContext", func(p *probe) { p.rows(3, p.db.WithContext(p.ctx).Find(&[]author{})) }),
		read("Debug", func(p *probe) { p.rows(3, p.db.Debug().Session(&gorm.Session{Logger: p.db.Logger}).Find(&[]author{})) }),
		read("Set and Get", func(p *probe) { p.rows(3, p.db.Set("a", 1).Find(&[]author{})) }),
		none("a context that is over", func(p *probe) {
			ctx, cancel := context.WithCancel(p.ctx)
			cancel()
			require.ErrorIs(p, p.db.WithContext(ctx).Find(&[]author{}).Error, context.Canceled)
		}),
		read("with a read session's own settings, PrepareStmt twice", func(p *probe) {
			twice := p.db.Session(&gorm.Session{PrepareStmt: true}).Session(&gorm.Session{PrepareStmt: true})
			p.rows(3, twice.Find(&[]author{}))
			p.rows(3, twice.Find(&[]author{}))
		}).with(independent),
		write("Connection that reads", func(p *probe) {
			p.ok(p.db.Connection(func(tx *gorm.DB) error { return fresh(tx).Preload("Books").Find(&[]author{}).Error }))
		}).with(func(c *cell) { c.readSession = writes }),
		write("Connection that writes", func(p *probe) {
			p.ok(p.db.Connection(func(tx *gorm.DB) error { return fresh(tx).Create(&author{Name: "Dee"}).Error }))
		}),
		write("Connection with SET, then a read", func(p *probe) {
			p.ok(p.db.Connection(func(tx *gorm.DB) error {
				p.ok(fresh(tx).Exec("SET application_name = 'matrix'").Error)
				p.ok(fresh(tx).Raw("SELECT 1").Scan(new(int)).Error)
				return fresh(tx).Exec("RESET work_mem").Error
			}))
		}).with(func(c *cell) { c.readSession = writes }),
		write("Connection with a transaction", func(p *probe) {
			p.ok(p.db.Connection(func(tx *gorm.DB) error {
				return fresh(tx).Transaction(func(tx *gorm.DB) error { return tx.Create(&author{Name: "Dee"}).Error })
			}))
		}).with(outside),
		write("DB, a query", func(p *probe) {
			pool, err := p.db.DB()
			p.ok(err)
			p.ok(pool.QueryRowContext(p.ctx, "SELECT 1").Scan(new(int)))
		}).with(outside),
		write("DB, a write", func(p *probe) {
			pool, err := p.db.DB()
			p.ok(err)
			_, err = pool.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
			p.ok(err)
		}).with(outside),
		write("DB, a transaction", func(p *probe) {
			pool, err := p.db.DB()
			p.ok(err)
			tx, err := pool.BeginTx(p.ctx, nil)
			p.ok(err)
			_, err = tx.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
			p.ok(err)
			p.ok(tx.Commit())
		}).with(outside),
	)...)
	return all
}

func with(p *probe, s *gorm.Session) *gorm.DB {
	copied := *s
	return p.db.Session(&copied)
}

// fresh is a handle that nothing was said to yet, on the same connection: what gorm.DB.Connection hands out keeps the
// conditions of one statement for the next.
func fresh(tx *gorm.DB) *gorm.DB { return tx.Session(&gorm.Session{NewDB: true}) }

// dry runs send nothing, on any server.
func dry() []*cell {
	run := func(call string, do func(db *gorm.DB) *gorm.DB) *cell {
		return none("DryRun, "+call, func(p *probe) {
			stmt := do(p.db.Session(&gorm.Session{DryRun: true})).Statement
			require.NotEmpty(p, stmt.SQL.String())
		})
	}
	sql := func(call string, do func(db *gorm.DB) *gorm.DB) *cell {
		return none("ToSQL, "+call, func(p *probe) { require.NotEmpty(p, p.db.ToSQL(do)) })
	}
	var all []*cell
	for _, c := range []struct {
		call string
		do   func(db *gorm.DB) *gorm.DB
	}{
		{"First", func(db *gorm.DB) *gorm.DB { return db.First(&author{}) }},
		{"Find", func(db *gorm.DB) *gorm.DB { return db.Where("age > 1").Find(&[]author{}) }},
		{"Find FOR UPDATE", func(db *gorm.DB) *gorm.DB { return db.Clauses(forUpdate).Find(&[]author{}) }},
		{"Count", func(db *gorm.DB) *gorm.DB { return db.Model(&author{}).Count(new(int64)) }},
		{"Pluck", func(db *gorm.DB) *gorm.DB { return db.Model(&author{}).Pluck("name", &[]string{}) }},
		{"Create", func(db *gorm.DB) *gorm.DB { return db.Create(&author{Name: "Dee"}) }},
		{"Save", func(db *gorm.DB) *gorm.DB { return db.Save(&author{ID: 1, Name: "Dee"}) }},
		{"Update", func(db *gorm.DB) *gorm.DB { return db.Model(&author{ID: 1}).Update("age", 1) }},
		{"Delete", func(db *gorm.DB) *gorm.DB { return db.Delete(&author{ID: 1}) }},
		{"Exec", func(db *gorm.DB) *gorm.DB { return db.Exec("DELETE FROM books") }},
		{"Raw", func(db *gorm.DB) *gorm.DB { return db.Raw("SELECT 1").Scan(new(int)) }},
	} {
		all = append(all, run(c.call, c.do), sql(c.call, c.do))
	}
	all = append(all,
		none("building a statement and not running it", func(p *probe) {
			q := p.db.Model(&author{}).Where("age > 1").Order("id")
			require.NotNil(p, q.Statement)
		}),
		read("a read after a dry run", func(p *probe) {
			p.ok(p.db.Session(&gorm.Session{DryRun: true}).Find(&[]author{}).Error)
			p.rows(3, p.db.Find(&[]author{}))
		}),
		write("a write after a dry run", func(p *probe) {
			p.ok(p.db.Session(&gorm.Session{DryRun: true}).Create(&author{Name: "Dee"}).Error)
			p.rows(1, p.db.Create(&author{Name: "Dee"}))
		}),
	)
	return area("DryRun and ToSQL", all...)
}

// pools are statements that go straight to Statement.ConnPool, past GORM's callbacks.
func pools() []*cell {
	pool := func(p *probe) gorm.ConnPool { return p.db.Session(&gorm.Session{}).Statement.ConnPool }
	// Under PrepareStmt this is GORM's own store of statements, which is the primary's.
	const readsOrPrimary = `R|P`
	return area("Statement.ConnPool",
		mixed("QueryContext of a read", readsOrPrimary, func(p *probe) { p.drain(pool(p).QueryContext(p.ctx, "SELECT name FROM authors")) }),
		mixed("QueryRowContext of a read", readsOrPrimary, func(p *probe) {
			p.ok(pool(p).QueryRowContext(p.ctx, "SELECT name FROM authors").Scan(new(string)))
		}),
		write("QueryContext of a write", func(p *probe) {
			p.drain(pool(p).QueryContext(p.ctx, "INSERT INTO tags (name) VALUES ('pool') RETURNING id"))
		}).with(outside),
		write("QueryRowContext of a write", func(p *probe) {
			p.ok(pool(p).QueryRowContext(p.ctx, "SELECT nextval('ticks')").Scan(new(int64)))
		}).with(outside),
		write("ExecContext of a write", func(p *probe) {
			_, err := pool(p).ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
			p.ok(err)
		}).with(outside),
		mixed("ExecContext of a read", readsOrPrimary, func(p *probe) {
			_, err := pool(p).ExecContext(p.ctx, "SELECT 1")
			p.ok(err)
		}),
		write("PrepareContext", func(p *probe) {
			stmt, err := pool(p).PrepareContext(p.ctx, "SELECT name FROM authors WHERE id = $1")
			p.ok(err)
			p.ok(stmt.QueryRowContext(p.ctx, 1).Scan(new(string)))
			p.ok(stmt.Close())
		}).with(outside),
		write("BeginTx", func(p *probe) {
			tx := p.db.Begin()
			p.drain(tx.Statement.ConnPool.QueryContext(p.ctx, "SELECT name FROM authors"))
			_, err := tx.Statement.ConnPool.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
			p.ok(err)
			p.ok(tx.Commit().Error)
		}).with(outside),
		mixed("of a result handle, a read", `RR|RP`, func(p *probe) {
			found := p.db.Find(&[]author{})
			p.drain(found.Statement.ConnPool.QueryContext(p.ctx, "SELECT name FROM authors"))
		}).with(independent),
		mixed("of a result handle, a write", `RP`, func(p *probe) {
			found := p.db.Find(&[]author{})
			_, err := found.Statement.ConnPool.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
			p.ok(err)
		}),
		write("of a hook of a write, a read", func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterCreate": func(tx *gorm.DB) error {
				p.drain(tx.Statement.ConnPool.QueryContext(p.ctx, "SELECT name FROM authors"))
				return nil
			}})
			p.ok(p.db.WithContext(ctx).Create(&diary{Title: "x"}).Error)
		}),
		mixed("of a hook of a read, a write", `RP`, func(p *probe) {
			ctx := withHooks(p.ctx, hooks{"AfterFind": func(tx *gorm.DB) error {
				_, err := tx.Statement.ConnPool.ExecContext(p.ctx, "UPDATE books SET price = 1 WHERE id = 1")
				return err
			}})
			p.ok(p.db.WithContext(ctx).First(&diary{}).Error)
		}),
	)
}
