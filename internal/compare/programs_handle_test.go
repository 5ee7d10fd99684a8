package compare

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

var sessionPrograms = []program{
	{"dry run of everything", func(r *run) {
		db := r.db.Session(&gorm.Session{DryRun: true})
		show := func(tx *gorm.DB) { r.did(tx); r.saw(tx.Statement.SQL.String(), tx.Statement.Vars) }
		show(db.Create(&User{Name: "gus"}))
		show(db.Create(&Hooked{Name: "x"}))
		show(db.First(&User{}, 1))
		show(db.Preload("Pets").Find(&[]User{}))
		show(db.Model(&User{}).Where("id = 1").Update("name", "x"))
		show(db.Delete(&User{}, 1))
		show(db.Save(&User{Model: gorm.Model{ID: 1}, Name: "x"}))
		show(db.Raw("SELECT ?", 1).Scan(&struct{}{}))
		show(db.Exec("DELETE FROM notes WHERE text = ?", "x"))
		var n int64
		show(db.Model(&User{}).Count(&n))
		show(db.Where("id = 1").FirstOrCreate(&User{}))
		names(r)
	}},
	{"dry run of rows", func(r *run) {
		db := r.db.Session(&gorm.Session{DryRun: true})
		rows, err := db.Model(&User{}).Rows()
		r.saw(rows == nil, err)
		r.guard(func() { r.saw(db.Model(&User{}).Row() == nil) })
	}},
	{"dry run in a transaction", func(r *run) {
		r.saw(r.db.Session(&gorm.Session{DryRun: true}).Transaction(func(tx *gorm.DB) error { return tx.Create(&Note{Text: "x"}).Error }))
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			return tx.Session(&gorm.Session{DryRun: true}).Create(&Note{Text: "x"}).Error
		}))
	}},
	{"dry run, the context is over", func(r *run) {
		tx := r.db.WithContext(ended(r)).Session(&gorm.Session{DryRun: true}).First(&User{}, 1)
		r.did(tx)
		r.saw(tx.Statement.SQL.String())
	}},
	{"to SQL", func(r *run) {
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Where("name = ?", "o'neill").Find(&[]User{}) }))
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Create(&User{Name: "gus"}) }))
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Model(&User{}).Where("id = 1").Updates(User{Name: "x"}) }))
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Delete(&User{}, 1) }))
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Exec("DELETE FROM notes WHERE at < ?", now) }))
		r.saw(r.db.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Raw("SELECT ?", []int{1, 2}).Scan(&struct{}{}) }))
		names(r)
	}},
	{"explain", func(r *run) {
		tx := r.db.Session(&gorm.Session{DryRun: true}).Where("name = ?", "x").Find(&[]User{})
		r.saw(r.db.Dialector.Explain(tx.Statement.SQL.String(), tx.Statement.Vars...))
	}},
	{"session without hooks", func(r *run) {
		db := r.db.Session(&gorm.Session{SkipHooks: true})
		h := Hooked{Name: "x"}
		r.did(db.Create(&h), h)
		r.did(db.Find(&[]Hooked{}))
		r.did(db.Delete(&h))
	}},
	{"session without a default transaction", func(r *run) {
		db := r.db.Session(&gorm.Session{SkipDefaultTransaction: true})
		u := User{Name: "gus", Pets: []Pet{{ID: 1, Name: "taken"}}, Company: &Company{Name: "Coop", Size: -1}}
		r.did(db.Create(&u))
		r.did(db.Create(&User{Name: "hal", Pets: []Pet{{Name: "elk"}}}))
		names(r)
	}},
	{"session with prepared statements", func(r *run) {
		db := r.db.Session(&gorm.Session{PrepareStmt: true})
		for i := range 3 {
			var u User
			r.did(db.First(&u, i+1), u.Name)
			r.did(db.Model(&u).Update("age", i))
		}
		r.did(db.Exec("SELEKT"))
		var n int
		r.saw(db.Raw("SELECT 1").Row().Scan(&n), n)
	}},
	{"session of a new context", func(r *run) {
		type key struct{}
		db := r.db.Session(&gorm.Session{Context: context.WithValue(r.ctx, key{}, 1)})
		r.saw(db.Statement.Context.Value(key{}), db.First(&User{}, 1).Statement.Context.Value(key{}))
	}},
	{"session with a logger of its own", func(r *run) {
		db := r.db.Session(&gorm.Session{Logger: logger.Discard})
		r.did(db.First(&User{}, 1))
		r.did(db.Debug().First(&User{}, 1))
		r.did(r.db.Debug().First(&User{}, 1))
	}},
	{"session with a clock of its own", func(r *run) {
		db := r.db.Session(&gorm.Session{NowFunc: func() time.Time { return now.Add(time.Hour) }})
		u := User{Name: "gus"}
		r.did(db.Create(&u), u)
	}},
	{"session of everything", func(r *run) {
		db := r.db.Session(&gorm.Session{
			PrepareStmt: true, NewDB: true, Initialized: true, SkipHooks: true, SkipDefaultTransaction: true, DisableNestedTransaction: true,
			AllowGlobalUpdate: true, FullSaveAssociations: true, PropagateUnscoped: true, QueryFields: true, CreateBatchSize: 2,
		})
		u := []User{{Name: "gus"}, {Name: "hal"}, {Name: "ida"}}
		r.did(db.Create(&u), u)
		r.did(db.Unscoped().Order("id").Preload("Manager").Find(&u), u)
		r.did(db.Model(&User{}).Update("age", 3))
		names(r)
	}},
	{"settings of a statement", func(r *run) {
		db := r.db.Set("app:key", 1).InstanceSet("own", 2)
		v, ok := db.Get("app:key")
		r.saw(v, ok)
		tx := db.First(&User{}, 1)
		v, ok = tx.Get("app:key")
		r.saw(v, ok)
		v, ok = tx.InstanceGet("own")
		r.saw(v, ok)
	}},
}

var handlePrograms = []program{
	{"the pool of a handle", func(r *run) {
		pool, err := r.db.DB()
		r.saw(err, pool.PingContext(r.ctx))
		var n int
		r.saw(pool.QueryRowContext(r.ctx, "SELECT count(*) FROM users").Scan(&n), n)
		again, err := r.db.First(&User{}, 1).DB()
		r.saw(err, again == pool)
		again, err = r.db.Create(&Note{Text: "x"}).DB()
		r.saw(err, again == pool)
	}},
	{"the pool of a transaction", func(r *run) {
		pool, _ := r.db.DB()
		tx := r.db.Begin()
		again, err := tx.DB()
		r.saw(err, again == pool)
		nameOf(r, tx)
		again, err = tx.DB()
		r.saw(err, again == pool, tx.Rollback().Error)
	}},
	{"the pool's limits", func(r *run) {
		db := r.open(gorm.Config{}, nil)
		pool, err := db.DB()
		r.saw(err)
		pool.SetMaxOpenConns(1)
		pool.SetMaxIdleConns(1)
		r.saw(pool.Stats().MaxOpenConnections)
		for range 3 {
			r.did(rename(db, "new"))
			nameOf(r, db)
			r.saw(db.Transaction(func(tx *gorm.DB) error { nameOf(r, tx); return rename(tx, "newer").Error }))
		}
		rows, err := db.Raw("INSERT INTO notes (text) VALUES ('x') RETURNING text").Rows()
		all(r, rows, err)
		nameOf(r, db)
	}},
	{"one connection", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			var a, b int
			r.did(tx.Raw("SELECT pg_backend_pid()").Scan(&a))
			r.did(tx.Raw("SELECT pg_backend_pid()").Scan(&b))
			r.saw(a == b)
			nameOf(r, tx)
			r.did(rename(tx, "new"))
			nameOf(r, tx)
			r.saw(tx.Transaction(func(tx *gorm.DB) error { return rename(tx, "newer").Error }))
			r.did(tx.Create(&User{Name: "gus", Pets: []Pet{{Name: "elk"}}}))
		})
		nameOf(r, r.db)
		names(r)
	}},
	{"one connection, an error", func(r *run) {
		r.saw(r.db.Connection(func(*gorm.DB) error { return errApplication }))
		r.guard(func() { _ = r.db.Connection(func(*gorm.DB) error { panic("on a connection") }) })
		r.saw(r.db.WithContext(ended(r)).Connection(func(*gorm.DB) error { return nil }))
	}},
	{"one connection of a transaction", func(r *run) {
		tx := r.db.Begin()
		r.guard(func() {
			r.saw(tx.Connection(func(*gorm.DB) error { return nil }))
		})
		r.saw(tx.Rollback().Error)
	}},
	{"one connection, used wildly", func(r *run) {
		connected(r, func(tx *gorm.DB) {
			r.did(tx.Where("age = 30").Order("id").Find(&[]User{}))
			r.did(tx.Model(&User{}).Where("id = 2").Update("age", 1))
			var n int64
			r.did(tx.Session(&gorm.Session{NewDB: true}).Model(&User{}).Count(&n), n)
		})
	}},
	{"a pool that the application gives", func(r *run) {
		pool, err := sql.Open("pgx", clusterDSN(r))
		r.saw(err)
		defer func() { r.saw(pool.Close()) }()
		db, err := gorm.Open(postgres.New(postgres.Config{Conn: pool}), &gorm.Config{Logger: r.log, NowFunc: func() time.Time { return now }})
		r.saw(err)
		if r.plugin != nil {
			plugin := r.newPlugin()
			r.own = append(r.own, opened{plugin: plugin})
			r.broken = db.Use(plugin)
		}
		db = db.WithContext(r.ctx)
		nameOf(r, db)
		r.did(rename(db, "new"))
		nameOf(r, db)
		same, err := db.DB()
		r.saw(err, same == pool)
	}},
	{"the pool is closed", func(r *run) {
		db := r.open(gorm.Config{}, nil)
		pool, _ := db.DB()
		r.did(rename(db, "new"))
		r.saw(pool.Close())
		r.did(rename(db, "newer"))
		r.saw(db.Begin().Error)
	}},
	{"statement fields", func(r *run) {
		tx := r.db.Model(&User{}).Where("age > ?", 20).Order("id").Limit(2)
		r.did(tx)
		r.saw(tx.Statement.Quote("name"), tx.Statement.Quote(clause.Column{Table: "t", Name: "c"}))
		r.saw(tx.Statement.Parse(&User{}), tx.Statement.Schema.Table, tx.Statement.Schema.PrioritizedPrimaryField.DBName)
		r.saw(tx.Dialector.Name(), tx.Name())
	}},
	{"names of a dialect", func(r *run) {
		r.saw(r.db.Dialector.Name(), r.db.NamingStrategy.TableName("OrderItem"))
		field := (&gorm.Statement{DB: r.db}).Parse(&User{})
		r.saw(field)
	}},
	{"savepoints and translation of the dialect", func(r *run) {
		_, points := r.db.Dialector.(gorm.SavePointerDialectorInterface)
		_, translates := r.db.Dialector.(gorm.ErrorTranslator)
		r.saw(points, translates)
	}},
	{"a connector of the pool", func(r *run) {
		_, has := r.db.ConnPool.(gorm.GetDBConnector)
		_, begins := r.db.ConnPool.(gorm.ConnPoolBeginner)
		_, begin := r.db.ConnPool.(gorm.TxBeginner)
		_, commits := r.db.ConnPool.(gorm.TxCommitter)
		r.saw(has || true, begins || begin, commits)
		tx := r.db.Begin()
		_, commits = tx.Statement.ConnPool.(gorm.TxCommitter)
		_, is := tx.Statement.ConnPool.(gorm.Tx)
		r.saw(commits, is, tx.Rollback().Error)
	}},
	{"what is prepared, under prepared statements", func(r *run) {
		_, is := r.db.ConnPool.(*gorm.PreparedStmtDB)
		r.saw(is)
		tx := r.db.Begin()
		_, is = tx.Statement.ConnPool.(*gorm.PreparedStmtTX)
		r.saw(is, tx.Rollback().Error)
	}},
	{"queries on the statement's pool", func(r *run) {
		rows, err := r.db.Statement.ConnPool.QueryContext(r.ctx, "SELECT name FROM users ORDER BY id")
		all(r, rows, err)
		_, err = r.db.Statement.ConnPool.ExecContext(r.ctx, "UPDATE users SET name = 'x' WHERE id = 1")
		r.saw(err)
		var n string
		r.saw(r.db.Statement.ConnPool.QueryRowContext(r.ctx, "SELECT name FROM users WHERE id = 1").Scan(&n), n)
		tx := r.db.First(&User{}, 1)
		r.saw(tx.Statement.ConnPool.QueryRowContext(r.ctx, "SELECT name FROM users WHERE id = $1", 2).Scan(&n), n)
		stmt, err := r.db.Statement.ConnPool.PrepareContext(r.ctx, "SELECT count(*) FROM users")
		r.saw(err)
		var c int
		r.saw(stmt.QueryRowContext(r.ctx).Scan(&c), c, stmt.Close())
	}},
	{"a transaction on the pool of a handle", func(r *run) {
		pool, _ := r.db.DB()
		tx, err := pool.BeginTx(r.ctx, nil)
		r.saw(err)
		db := r.db.Session(&gorm.Session{NewDB: true, SkipDefaultTransaction: true})
		db.Statement.ConnPool = tx
		r.did(rename(db, "new"))
		nameOf(r, db)
		r.saw(tx.Rollback())
		nameOf(r, r.db)
	}},
}
