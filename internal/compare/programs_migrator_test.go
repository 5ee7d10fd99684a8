package compare

import (
	"gorm.io/gorm"
)

// MigratedOne and the other two are one table that grows and changes.
type MigratedOne struct {
	ID   uint
	Name string `gorm:"size:10"`
}

// TableName is the same for all three.
func (MigratedOne) TableName() string { return "migrated" }

// MigratedTwo has more than MigratedOne.
type MigratedTwo struct {
	ID     uint
	Name   string `gorm:"size:50;index"`
	Age    int    `gorm:"default:7;not null;comment:in years"`
	UserID *uint
	User   *User
}

// TableName is the same for all three.
func (MigratedTwo) TableName() string { return "migrated" }

// MigratedThree has changed types.
type MigratedThree struct {
	ID   uint
	Name string `gorm:"type:text;uniqueIndex:by_name"`
	Age  int64  `gorm:"default:8"`
}

// TableName is the same for all three.
func (MigratedThree) TableName() string { return "migrated" }

func rowsOf(r *run, table string) {
	var m []map[string]any
	r.did(r.db.Table(table).Find(&m), m)
}

// alonePrograms gives each program a handle that no other program has prepared
// statements on: a table of the same name with other columns would make them
// stale.
func alonePrograms(all []program) []program {
	for i, p := range all {
		all[i].do = func(r *run) {
			r.anyOrder = true // AutoMigrate goes through maps
			r.db = r.open(r.mode.config, nil)
			p.do(r)
		}
	}
	return all
}

var migratorPrograms = alonePrograms([]program{
	{"migrate what is there", func(r *run) { r.saw(r.db.AutoMigrate(&User{}, &Company{}, &Line{})) }},
	{"migrate something new", func(r *run) {
		r.saw(r.db.AutoMigrate(&MigratedOne{}), r.db.Migrator().HasTable(&MigratedOne{}))
		r.did(r.db.Create(&MigratedOne{Name: "x"}))
		var m MigratedOne
		r.did(r.db.First(&m), m)
	}},
	{"migrate and grow", func(r *run) {
		r.saw(r.db.AutoMigrate(&MigratedOne{}))
		r.did(r.db.Create(&MigratedOne{Name: "x"}))
		r.saw(r.db.AutoMigrate(&MigratedTwo{}))
		r.did(r.db.Create(&MigratedTwo{Name: "a longer name than ten", UserID: ptr(uint(1))}))
		var m []MigratedTwo
		r.did(r.db.Preload("User").Order("id").Find(&m), m)
		r.saw(r.db.AutoMigrate(&MigratedThree{}))
		var n []MigratedThree
		r.did(r.db.Select("id", "name").Order("id").Find(&n), n)
	}},
	{"migrate twice", func(r *run) {
		for range 3 {
			r.saw(r.db.AutoMigrate(&MigratedTwo{}))
		}
	}},
	{"migrate in a transaction", func(r *run) {
		r.saw(r.db.Transaction(func(tx *gorm.DB) error {
			r.saw(tx.AutoMigrate(&MigratedOne{}), tx.Migrator().HasTable("migrated"))
			r.did(tx.Create(&MigratedOne{Name: "x"}))
			return errApplication
		}))
		r.saw(r.db.Migrator().HasTable("migrated"))
	}},
	{"migrate what fails", func(r *run) {
		r.saw(r.db.AutoMigrate(&MigratedOne{}))
		r.did(r.db.Create([]MigratedOne{{Name: "same"}, {Name: "same"}}))
		r.saw(r.db.AutoMigrate(&MigratedThree{}))
		rowsOf(r, "migrated")
	}},
	{"tables, one by one", func(r *run) {
		m := r.db.Migrator()
		r.saw(m.CreateTable(&MigratedOne{}), m.CreateTable(&MigratedOne{}))
		r.saw(m.HasTable("migrated"), m.HasTable("nothing"))
		r.saw(m.RenameTable("migrated", "renamed"), m.HasTable("migrated"), m.HasTable("renamed"))
		r.saw(m.DropTable("renamed"), m.HasTable("renamed"), m.DropTable("renamed"))
		tables, err := m.GetTables()
		r.saw(len(tables), err, m.CurrentDatabase() == r.database)
	}},
	{"columns, one by one", func(r *run) {
		m := r.db.Migrator()
		r.saw(m.CreateTable(&MigratedOne{}))
		r.saw(m.AddColumn(&MigratedTwo{}, "Age"), m.HasColumn(&MigratedTwo{}, "age"), m.HasColumn(&MigratedTwo{}, "UserID"))
		r.saw(m.AlterColumn(&MigratedThree{}, "Name"), m.RenameColumn(&MigratedOne{}, "name", "title"), m.DropColumn("migrated", "age"))
		r.saw(m.AddColumn(&MigratedTwo{}, "Nothing"), m.DropColumn("migrated", "nothing"))
		columns, err := m.ColumnTypes("migrated")
		r.saw(err)
		for _, c := range columns {
			length, hasLength := c.Length()
			null, knowsNull := c.Nullable()
			key, knowsKey := c.PrimaryKey()
			def, hasDefault := c.DefaultValue()
			r.saw(c.Name(), c.DatabaseTypeName(), length, hasLength, null, knowsNull, key, knowsKey, def, hasDefault)
		}
	}},
	{"indexes, one by one", func(r *run) {
		m := r.db.Migrator()
		r.saw(m.CreateTable(&MigratedTwo{}))
		r.saw(m.HasIndex(&MigratedTwo{}, "Name"), m.DropIndex(&MigratedTwo{}, "Name"), m.HasIndex(&MigratedTwo{}, "Name"), m.CreateIndex(&MigratedTwo{}, "Name"))
		r.saw(m.RenameIndex(&MigratedTwo{}, "idx_migrated_name", "renamed"), m.HasIndex("migrated", "renamed"), m.DropIndex(&MigratedTwo{}, "nothing"))
		indexes, err := m.GetIndexes("migrated")
		r.saw(err)
		for _, i := range indexes {
			unique, ok := i.Unique()
			r.saw(i.Name(), i.Columns(), unique, ok)
		}
	}},
	{"constraints, one by one", func(r *run) {
		m := r.db.Migrator()
		r.saw(m.CreateTable(&MigratedTwo{}))
		r.saw(m.HasConstraint(&MigratedTwo{}, "User"), m.DropConstraint(&MigratedTwo{}, "User"), m.HasConstraint(&MigratedTwo{}, "User"), m.CreateConstraint(&MigratedTwo{}, "User"))
		r.saw(m.HasConstraint(&Company{}, "size_not_negative"), m.HasConstraint(&Company{}, "nothing"))
	}},
	{"views", func(r *run) {
		m := r.db.Migrator()
		option := gorm.ViewOption{Query: r.db.Model(&User{}).Select("id, name").Where("age > ?", 20)}
		r.saw(m.CreateView("grown", option), m.CreateView("grown", option))
		rowsOf(r, "grown")
		r.saw(m.DropView("grown"))
		var n int64
		r.did(r.db.Table("grown").Count(&n), n)
	}},
	{"types of a table", func(r *run) {
		columns, err := r.db.Migrator().ColumnTypes(&User{})
		r.saw(err)
		for _, c := range columns {
			r.saw(c.Name(), c.DatabaseTypeName())
			t, ok := c.ColumnType()
			r.saw(t, ok)
		}
		kind, err := r.db.Migrator().TableType("users")
		r.saw(err)
		if err == nil {
			comment, ok := kind.Comment()
			r.saw(kind.Schema(), kind.Name(), kind.Type(), comment, ok)
		}
	}},
	{"migrate on a chain", func(r *run) {
		r.saw(r.db.Table("another").AutoMigrate(&MigratedOne{}))
		r.did(r.db.Table("another").Create(&MigratedOne{Name: "x"}))
		rowsOf(r, "another")
	}},
	{"migrate with a dry run", func(r *run) {
		r.saw(r.db.Session(&gorm.Session{DryRun: true}).AutoMigrate(&MigratedOne{}))
		r.saw(r.db.Migrator().HasTable("migrated"))
	}},
	{"migrate, the context is over", func(r *run) {
		r.saw(r.db.WithContext(ended(r)).AutoMigrate(&MigratedOne{}))
		r.saw(r.db.WithContext(ended(r)).Migrator().HasTable("users"))
	}},
	{"change a table between reads", func(r *run) {
		r.did(r.db.Exec("CREATE TABLE shifting (id int, a text)"))
		r.did(r.db.Exec("INSERT INTO shifting VALUES (1, 'x')"))
		var n []string
		r.did(r.db.Raw("SELECT a FROM shifting").Scan(&n), n)
		r.did(r.db.Exec("ALTER TABLE shifting ADD COLUMN b int DEFAULT 5"))
		var m []map[string]any
		r.did(r.db.Raw("SELECT id, a, b FROM shifting").Scan(&m), m)
		r.did(r.db.Exec("DROP TABLE shifting"))
		r.did(r.db.Raw("SELECT id, a, b, 1 FROM shifting").Scan(&m), m)
	}},
})
