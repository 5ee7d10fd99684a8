package compare

import (
	"database/sql"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

var scanPrograms = []program{
	{"scan a struct", one(func(db *gorm.DB) (*gorm.DB, any) {
		var s struct {
			Name string
			N    int
		}
		return db.Model(&User{}).Select("name, age AS n").Where("id = ?", 1).Scan(&s), s
	})},
	{"scan nothing", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n int
		return db.Model(&User{}).Select("age").Where("1 = 0").Scan(&n), n
	})},
	{"scan a number", one(func(db *gorm.DB) (*gorm.DB, any) { var n int; return db.Raw("SELECT 6 * 7").Scan(&n), n })},
	{"scan numbers", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []int64
		return db.Raw("SELECT generate_series(1, 4)").Scan(&n), n
	})},
	{"scan into text", one(func(db *gorm.DB) (*gorm.DB, any) { var n string; return db.Raw("SELECT 6 * 7").Scan(&n), n })},
	{"scan null into text", one(func(db *gorm.DB) (*gorm.DB, any) { var n string; return db.Raw("SELECT NULL::text").Scan(&n), n })},
	{"scan null into a pointer", one(func(db *gorm.DB) (*gorm.DB, any) { var n *string; return db.Raw("SELECT NULL::text").Scan(&n), n })},
	{"scan null into sql types", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n struct {
			A sql.NullString
			B sql.NullInt64
			C sql.NullTime
			D sql.Null[int32]
		}
		return db.Raw("SELECT NULL AS a, 4 AS b, '2024-01-02'::timestamptz AS c, 5 AS d").Scan(&n), n
	})},
	{"scan text into a number", one(func(db *gorm.DB) (*gorm.DB, any) { var n int; return db.Raw("SELECT 'x'").Scan(&n), n })},
	{"scan a map", one(func(db *gorm.DB) (*gorm.DB, any) {
		m := map[string]any{}
		return db.Raw("SELECT 1 AS a, 'x' AS b, NULL AS c, true AS d, 1.5::float8 AS e, 2.25::numeric AS f").Scan(&m), m
	})},
	{"scan maps", one(func(db *gorm.DB) (*gorm.DB, any) {
		var m []map[string]any
		return db.Raw("SELECT * FROM lines ORDER BY text").Scan(&m), m
	})},
	{"scan models", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u []User
		return db.Raw("SELECT * FROM users ORDER BY id").Scan(&u), u
	})},
	{"scan too many columns", one(func(db *gorm.DB) (*gorm.DB, any) { var n int; return db.Raw("SELECT 1, 2").Scan(&n), n })},
	{"scan two columns of one name", one(func(db *gorm.DB) (*gorm.DB, any) {
		m := map[string]any{}
		return db.Raw("SELECT 1 AS a, 2 AS a").Scan(&m), m
	})},
	{"scan into a value", func(r *run) { r.guard(func() { r.did(r.db.Raw("SELECT 1").Scan(7)) }) }},
	{"scan into nil", func(r *run) { r.guard(func() { r.did(r.db.Raw("SELECT 1").Scan(nil)) }) }},
	{"scan what fails in the middle", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []int
		return db.Raw("SELECT 10 / (3 - g) FROM generate_series(1, 4) g").Scan(&n), n
	})},
	{"scan what fails after many rows", one(func(db *gorm.DB) (*gorm.DB, any) {
		var n []int
		tx := db.Raw("SELECT 1000 / (900 - g) FROM generate_series(1, 1000) g").Scan(&n)
		return tx, len(n)
	})},
	{"find what fails in the middle", one(func(db *gorm.DB) (*gorm.DB, any) {
		all := []Hooked{{Name: "kept"}}
		return db.Select("id, name, 10 / (2 - id) AS seen").Order("id").Find(&all), all
	})},
	{"find what cannot be converted in the middle", one(func(db *gorm.DB) (*gorm.DB, any) {
		var all []Hooked
		return db.Select("id, name, CASE WHEN id = 2 THEN 'x' ELSE '1' END AS seen").Order("id").Find(&all), all
	})},
	{"take what fails", one(func(db *gorm.DB) (*gorm.DB, any) {
		h := Hooked{Name: "kept"}
		return db.Select("id, name, 10 / (1 - id) AS seen").Order("id").Take(&h), h
	})},
	{"scan what returns a write", one(func(db *gorm.DB) (*gorm.DB, any) {
		var id []int
		return db.Raw("INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING length(text)").Scan(&id), id
	})},
	{"scan a function that writes", one(func(db *gorm.DB) (*gorm.DB, any) { var n int; return db.Raw("SELECT note('x')").Scan(&n), n })},
	{"scan a sequence", func(r *run) {
		for range 3 {
			var n int
			r.did(r.db.Raw("SELECT nextval('hookeds_id_seq')").Scan(&n), n)
		}
	}},
	{"scan an update", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u []User
		return db.Raw("UPDATE users SET age = age + 1 WHERE age < 30 RETURNING *").Scan(&u), len(u)
	})},
}

// all reads rows to the end.
func all(r *run, rows *sql.Rows, err error) {
	r.saw(err)
	if err != nil {
		return
	}
	columns, err := rows.Columns()
	r.saw(columns, err)
	types, err := rows.ColumnTypes()
	r.saw(err)
	for _, t := range types {
		length, hasLength := t.Length()
		nullable, knows := t.Nullable()
		r.saw(t.Name(), t.DatabaseTypeName(), t.ScanType().String(), length, hasLength, nullable, knows)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		r.saw(rows.Scan(into...), values)
	}
	r.saw(rows.Err(), rows.NextResultSet(), rows.Close(), rows.Close())
}

var rowPrograms = []program{
	{"rows", func(r *run) {
		rows, err := r.db.Model(&User{}).Select("id, name, email, score, birthday, active").Order("id").Rows()
		all(r, rows, err)
	}},
	{"rows of a table", func(r *run) { rows, err := r.db.Table("lines").Order("text").Rows(); all(r, rows, err) }},
	{"rows of raw", func(r *run) { rows, err := r.db.Raw("SELECT * FROM notes ORDER BY at").Rows(); all(r, rows, err) }},
	{"rows of nothing", func(r *run) { rows, err := r.db.Raw("SELECT 1 WHERE false").Rows(); all(r, rows, err) }},
	{"rows of a mistake", func(r *run) { rows, err := r.db.Raw("SELEKT 1").Rows(); all(r, rows, err) }},
	{"rows of a table that is none", func(r *run) { rows, err := r.db.Table("nothing").Rows(); all(r, rows, err) }},
	{"rows that fail in the middle", func(r *run) {
		rows, err := r.db.Raw("SELECT 10 / (3 - g) FROM generate_series(1, 4) g").Rows()
		all(r, rows, err)
	}},
	{"rows that write", func(r *run) {
		rows, err := r.db.Raw("INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING text").Rows()
		all(r, rows, err)
		var n int64
		r.did(r.db.Model(&Note{}).Count(&n), n)
	}},
	{"rows left half-read", func(r *run) {
		rows, err := r.db.Model(&User{}).Order("id").Rows()
		r.saw(err, rows.Next())
		var u User
		r.saw(r.db.ScanRows(rows, &u), u)
		r.saw(rows.Close(), rows.Next(), rows.Err())
		r.saw(r.db.ScanRows(rows, &u))
		r.did(r.db.First(&u, 2), u)
	}},
	{"rows left open while another statement runs", func(r *run) {
		rows, err := r.db.Model(&User{}).Select("id").Order("id").Rows()
		r.saw(err)
		for rows.Next() {
			var id uint
			r.saw(rows.Scan(&id))
			var u User
			r.did(r.db.Preload("Pets").First(&u, id), u)
			r.did(r.db.Model(&u).UpdateColumn("age", gorm.Expr("age + 1")))
		}
		r.saw(rows.Err(), rows.Close())
		names(r)
	}},
	{"rows that are scanned by GORM", func(r *run) {
		rows, err := r.db.Table("users").Order("id").Rows()
		r.saw(err)
		for rows.Next() {
			var u User
			var m map[string]any
			r.saw(r.db.ScanRows(rows, &u), u.Name, r.db.ScanRows(rows, &m), m["name"])
		}
		r.saw(rows.Close())
	}},
	{"rows that are scanned with hooks", func(r *run) {
		rows, err := r.db.Model(&Hooked{}).Order("id").Rows()
		r.saw(err)
		for rows.Next() {
			var h Hooked
			r.saw(r.db.ScanRows(rows, &h), h)
		}
		r.saw(rows.Close())
	}},
	{"row", func(r *run) {
		var name string
		var age int
		r.saw(r.db.Model(&User{}).Select("name, age").Where("id = ?", 1).Row().Scan(&name, &age), name, age)
	}},
	{"row of nothing", func(r *run) {
		var name string
		row := r.db.Table("users").Select("name").Where("1 = 0").Row()
		r.saw(row.Err(), row.Scan(&name), name)
	}},
	{"row of the wrong width", func(r *run) {
		var name string
		r.saw(r.db.Raw("SELECT 1, 2").Row().Scan(&name))
	}},
	{"row of a division by zero", func(r *run) {
		var n int
		row := r.db.Raw("SELECT 1 / (id - 1) FROM users WHERE id = 1").Row()
		r.saw(row.Scan(&n), n)
	}},
	{"row of a mistake", func(r *run) {
		row := r.db.Raw("SELEKT 1").Row()
		r.guard(func() { var n int; r.saw(row.Err(), row.Scan(&n)) })
	}},
	{"row of a column that is none", func(r *run) {
		row := r.db.Table("users").Select("nothing").Row()
		r.guard(func() { var n int; r.saw(row.Err(), row.Scan(&n)) })
	}},
	{"row of a write", func(r *run) {
		var text string
		r.saw(r.db.Raw("UPDATE notes SET text = 'x' WHERE text = 'first' RETURNING text").Row().Scan(&text), text)
		var n int64
		r.did(r.db.Model(&Note{}).Where("text = 'x'").Count(&n), n)
	}},
	{"row for update", func(r *run) {
		var name string
		r.saw(r.db.Model(&User{}).Select("name").Clauses(clause.Locking{Strength: "UPDATE"}).Where("id = 1").Row().Scan(&name), name)
	}},
	{"rows with an error before", func(r *run) {
		db := r.db.Where("id = 1")
		_ = db.AddError(errApplication)
		rows, err := db.Model(&User{}).Rows()
		r.saw(rows == nil, err)
	}},
	{"a row with an error before", func(r *run) {
		db := r.db.Where("id = 1")
		_ = db.AddError(errApplication)
		r.guard(func() { r.saw(db.Model(&User{}).Row() == nil) })
	}},
	{"rows of two statements", func(r *run) { rows, err := r.db.Raw("SELECT 1; SELECT 2").Rows(); all(r, rows, err) }},
}

var findOrPrograms = []program{
	{"first or init, found", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.FirstOrInit(&u, User{Name: "ann"}), &u })},
	{"first or init, not found", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Attrs(User{Age: 1}).FirstOrInit(&u, User{Name: "gus"}), &u
	})},
	{"first or init, assign", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Assign(map[string]any{"age": 2}).FirstOrInit(&u, map[string]any{"name": "ann"}), &u
	})},
	{"first or init, then save", func(r *run) {
		for _, n := range []string{"ann", "gus", "gus"} {
			var u User
			r.did(r.db.Where(User{Name: n}).FirstOrInit(&u), u)
			u.Age++
			r.did(r.db.Save(&u), u)
		}
		names(r)
	}},
	{"first or create, found", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.FirstOrCreate(&u, User{Name: "ann"}), &u })},
	{"first or create, not found", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Attrs(User{Age: 1}).FirstOrCreate(&u, User{Name: "gus"}), &u
	})},
	{"first or create, assign", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Where("name = ?", "ann").Assign(User{Age: 77}).FirstOrCreate(&u), &u
	})},
	{"first or create twice", func(r *run) {
		for range 3 {
			var l Language
			r.did(r.db.Where(Language{Code: "it"}).Attrs(Language{Name: "Italian"}).FirstOrCreate(&l), l)
		}
	}},
	{"first or create fails", one(func(db *gorm.DB) (*gorm.DB, any) {
		var u User
		return db.Attrs(User{Email: ptr("ann@example.org")}).FirstOrCreate(&u, User{Name: "gus"}), &u
	})},
	{"first or create by a mistake", one(func(db *gorm.DB) (*gorm.DB, any) { var u User; return db.Where("nothing = 1").FirstOrCreate(&u), &u })},
	{"first or create with hooks", one(func(db *gorm.DB) (*gorm.DB, any) {
		var h Hooked
		return db.Assign(Hooked{Seen: 9}).FirstOrCreate(&h, Hooked{Name: "new"}), &h
	})},
	{"first or create in a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			var u User
			r.did(tx.FirstOrCreate(&u, User{Name: "gus"}), u)
			r.did(tx.FirstOrCreate(&u, User{Name: "gus"}), u)
			return errApplication
		}))
		names(r)
	}},
	{"first or create on a map", one(func(db *gorm.DB) (*gorm.DB, any) {
		m := map[string]any{}
		return db.Model(&User{}).FirstOrCreate(&m, map[string]any{"name": "gus"}), m
	})},
}
