package compare

import (
	"database/sql"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// wantedPrograms are programs that see that there is more than one server.
var wantedPrograms = []program{
	{"the type of a transaction's pool", func(r *run) {
		tx := r.db.Begin()
		_, is := tx.Statement.ConnPool.(*sql.Tx)
		r.saw(is, tx.Rollback().Error)
	}},
	{"the type of a handle's pool", func(r *run) { _, is := r.db.ConnPool.(*sql.DB); r.saw(is) }},
	{"the type of the dialector", func(r *run) { _, is := r.db.Dialector.(*postgres.Dialector); r.saw(is) }},
	{"who serves", func(r *run) {
		var recovery bool
		r.did(r.db.Raw("SELECT pg_is_in_recovery()").Scan(&recovery), recovery)
	}},
	{"the same text before and after a change of the table", func(r *run) {
		r.db = r.open(r.mode.config, nil)
		r.did(r.db.Exec("CREATE TABLE growing (id int)"))
		var m []map[string]any
		for range 3 {
			r.did(r.db.Raw("SELECT * FROM growing").Scan(&m), m)
		}
		r.did(r.db.Exec("ALTER TABLE growing ADD COLUMN a int"))
		r.did(r.db.Exec("INSERT INTO growing VALUES (1, 2)"))
		r.did(r.db.Raw("SELECT * FROM growing").Scan(&m), m)
	}},
	{"a setting of a pool of one", func(r *run) {
		db := r.open(r.mode.config, nil)
		pool, err := db.DB()
		r.saw(err)
		pool.SetMaxOpenConns(1)
		r.did(db.Exec("SET app.tenant = '7'"))
		var tenant string
		r.did(db.Raw("SELECT current_setting('app.tenant', true)").Scan(&tenant), tenant)
	}},
	{"the outcome of a rollback without a beginning", func(r *run) {
		tx := r.db.Session(&gorm.Session{}).Rollback()
		r.saw(tx.Error)
	}},
}
