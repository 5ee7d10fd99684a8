package readsplit_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/retry"
)

// threeBook is a row of the view "three": three rows, too long for the server to
// send them at once, the last of which hangs on replica1.
type threeBook struct {
	ID     int64
	Title  string
	Server string
	Filler string
}

func (*threeBook) TableName() string { return "three" }

func (b *threeBook) AfterFind(tx *gorm.DB) error { return runHook(tx, "AfterFind") }

// writer has books whose rows break off.
type writer struct {
	ID    int64
	Name  string
	Books []longBook `gorm:"foreignKey:AuthorID"`
}

func (*writer) TableName() string { return "authors" }

// breakers end what hangs on replica1, again and again until the test is over.
var breakers = map[string]func(x *trap, ctx context.Context){
	"killed": func(x *trap, ctx context.Context) {
		_, _ = x.cluster.Replica(0).DB().ExecContext(ctx,
			"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'", x.schema)
	},
	"conflict": func(x *trap, ctx context.Context) {
		var hangs bool
		err := x.cluster.Replica(0).DB().QueryRowContext(ctx,
			"SELECT EXISTS (SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep')", x.schema).Scan(&hangs)
		if err != nil || !hangs {
			return
		}
		_, _ = x.admin.ExecContext(ctx, "UPDATE authors_t SET name = name")
		_, _ = x.admin.ExecContext(ctx, "VACUUM authors_t")
	},
}

// finishers are GORM's ways to read. Each returns from which servers the rows came
// that it gave out.
var finishers = map[string]struct {
	surfaces bool // the error, of rows that had been given out
	read     func(db *gorm.DB) ([]scannedFrom, error)
}{
	"Find": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []longBook
		err := db.Preload("Author").Find(&books).Error
		return longServers(books), err
	}},
	"Find of maps": {false, func(db *gorm.DB) (from []scannedFrom, err error) {
		var rows []map[string]any
		err = db.Model(&longBook{}).Find(&rows).Error
		for _, r := range rows {
			name, _ := r["server"].(string)
			from = append(from, scannedFrom(name))
		}
		return from, err
	}},
	"First": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var b longBook
		err := db.Where("filler <> ''").First(&b).Error
		return []scannedFrom{b.Server}, err
	}},
	"Take": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var b longBook
		err := db.Where("id >= 5000 AND filler <> ''").Take(&b).Error
		return []scannedFrom{b.Server}, err
	}},
	"Last": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var b longBook
		err := db.Where("filler <> ''").Last(&b).Error
		return []scannedFrom{b.Server}, err
	}},
	"Pluck": {false, func(db *gorm.DB) (from []scannedFrom, err error) {
		return from, db.Model(&longBook{}).Where("filler <> ''").Pluck("server", &from).Error
	}},
	"Count": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var n int64
		err := db.Model(&longBook{}).Where("filler <> ''").Count(&n).Error
		if n != 6000 {
			err = errors.Join(err, errors.New("not all rows"))
		}
		return []scannedFrom{"replica2"}, err // it does not say
	}},
	"FindInBatches": {false, func(db *gorm.DB) (from []scannedFrom, err error) {
		var books, all []longBook
		err = db.Where("filler <> ''").FindInBatches(&books, 2500, func(*gorm.DB, int) error {
			all = append(all, books...)
			return nil
		}).Error
		if from = longServers(all); len(from) == 6000 {
			clear(from) // batches in which nothing hangs may come from anywhere
		}
		return from, err
	}},
	"Joins": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []longBook
		err := db.Joins("Author").Where("filler <> ''").Find(&books).Error
		return longServers(books), err
	}},
	"Preload": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var w writer
		err := db.Preload("Books").First(&w, 1).Error
		return longServers(w.Books), err
	}},
	"Association Find": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []longBook
		err := db.Model(&writer{ID: 1}).Association("Books").Find(&books)
		return longServers(books), err
	}},
	"Raw Find": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []longBook
		err := db.Raw("SELECT * FROM long").Find(&books).Error
		return longServers(books), err
	}},
	"Raw First": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var b longBook
		err := db.Raw("SELECT * FROM long").First(&b).Error
		return []scannedFrom{b.Server}, err
	}},
	"generics Find": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		books, err := gorm.G[longBook](db).Preload("Author", nil).Find(db.Statement.Context)
		return longServers(books), err
	}},
	"generics Raw Find": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		books, err := gorm.G[longBook](db).Raw("SELECT * FROM long").Find(db.Statement.Context)
		return longServers(books), err
	}},

	// Small results are complete before their first row is given out.
	"small Scan": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []threeBook
		err := db.Model(&threeBook{}).Scan(&books).Error
		return threeServers(books), err
	}},
	"small Raw Scan": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []threeBook
		err := db.Raw("SELECT * FROM three").Scan(&books).Error
		return threeServers(books), err
	}},
	"small Raw Scan of one": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var b threeBook
		err := db.Raw("SELECT * FROM three").Scan(&b).Error
		return []scannedFrom{scannedFrom(b.Server)}, err
	}},
	"small Raw Scan of maps": {false, func(db *gorm.DB) (from []scannedFrom, err error) {
		var rows []map[string]any
		err = db.Raw("SELECT * FROM three").Scan(&rows).Error
		for _, r := range rows {
			name, _ := r["server"].(string)
			from = append(from, scannedFrom(name))
		}
		return from, err
	}},
	"small Rows": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		rows, err := db.Model(&threeBook{}).Rows()
		return scanRows(db, rows, err)
	}},
	"small Raw Rows": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		rows, err := db.Raw("SELECT * FROM three").Rows()
		return scanRows(db, rows, err)
	}},
	"small Row": {false, func(db *gorm.DB) (from []scannedFrom, err error) {
		from = make([]scannedFrom, 1)
		return from, db.Model(&threeBook{}).Select("server, filler").Row().Scan(&from[0], new(string))
	}},
	"small generics Scan": {false, func(db *gorm.DB) ([]scannedFrom, error) {
		var books []threeBook
		err := gorm.G[threeBook](db).Raw("SELECT * FROM three").Scan(db.Statement.Context, &books)
		return threeServers(books), err
	}},

	// Others have given out rows by then.
	"Scan":     {true, func(db *gorm.DB) ([]scannedFrom, error) { return nil, db.Model(&longBook{}).Scan(&[]longBook{}).Error }},
	"Raw Scan": {true, func(db *gorm.DB) ([]scannedFrom, error) { return nil, db.Raw("TABLE long").Scan(&[]longBook{}).Error }},
	"Row": {true, func(db *gorm.DB) ([]scannedFrom, error) {
		return nil, db.Raw("SELECT id FROM long WHERE filler <> ''").Row().Scan(new(int64))
	}},
	"Rows": {true, func(db *gorm.DB) ([]scannedFrom, error) {
		rows, err := db.Model(&longBook{}).Rows()
		if err != nil {
			return nil, errors.New("before the first row")
		}
		for rows.Next() {
		}
		return nil, errors.Join(rows.Err(), rows.Close())
	}},
}

func longServers(books []longBook) (from []scannedFrom) {
	for i, b := range books {
		if b.ID != books[0].ID+int64(i) {
			return []scannedFrom{"a row is missing or there twice"}
		}
		from = append(from, b.Server)
	}
	return from
}

func threeServers(books []threeBook) (from []scannedFrom) {
	for _, b := range books {
		from = append(from, scannedFrom(b.Server))
	}
	return from
}

func scanRows(db *gorm.DB, rows *sql.Rows, err error) (from []scannedFrom, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var b threeBook
		if err := db.ScanRows(rows, &b); err != nil {
			return nil, err
		}
		from = append(from, scannedFrom(b.Server))
	}
	return from, errors.Join(rows.Err(), rows.Close())
}

// Whatever way of GORM's a read takes, a replica that fails in the middle of its
// rows costs no error as long as no row has reached the application. With -short each
// fails in both ways and runs in both modes, but one way in each.
func TestT21EveryFinisher(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		brittle(t, x)
		x.past(t, `CREATE VIEW three AS SELECT i AS id, 'title ' || i AS title, current_setting('cluster_name') AS server,
			repeat('x', 5000) || hang(i = 3 AND current_setting('cluster_name') = 'replica1') AS filler FROM generate_series(1, 3) i`)
		r := x.cluster.Replica(0)
		t.Cleanup(func() {
			execOn(t, r, "ALTER SYSTEM RESET max_standby_streaming_delay")
			execOn(t, r, "SELECT pg_reload_conf()")
		})
		for i, name := range slices.Sorted(maps.Keys(finishers)) {
			f := finishers[name]
			for how, breakOff := range breakers {
				if testing.Short() && (i%2 == 0) != (x.PrepareStmt == (how == "killed")) {
					continue
				}
				t.Run(how+"/"+name, func(t *testing.T) {
					// What replay still has of the test before would be first where it does not wait.
					execOn(t, r, "ALTER SYSTEM SET max_standby_streaming_delay = "+map[string]string{"conflict": "0", "killed": "-1"}[how])
					execOn(t, r, "SELECT pg_reload_conf()")
					back := func() bool { return served(t, x.WithContext(anySession())) == "replica1" }
					eventually(t, "replica1 serves again", back)
					hooked := 0
					ctx := readsplit.Group(withHooks(hooks{"AfterFind": func(*gorm.DB) error { hooked++; return nil }}), "all")
					before := retried(x)
					breaking, stop := context.WithCancel(context.Background())
					broken := make(chan struct{})
					go func() {
						defer close(broken)
						tick := time.NewTicker(2 * time.Millisecond)
						defer tick.Stop()
						for ; breaking.Err() == nil; <-tick.C {
							breakOff(x, breaking)
						}
					}()
					from, err := f.read(x.WithContext(ctx))
					stop()
					<-broken
					if f.surfaces {
						require.Error(t, err)
						assert.Equal(t, retry.Elsewhere, retry.OfRead(err).Action, "%v", err)
						assert.Equal(t, how == "conflict", retry.ConflictOf(err) != retry.ConflictNone, "%v", err)
						return
					}
					require.NoError(t, err)
					assert.Greater(t, retried(x), before, "nothing has failed")
					assert.NotEmpty(t, from)
					assert.NotContains(t, from, scannedFrom("replica1"))
					assert.Contains(t, []int{0, len(from)}, hooked, "AfterFind runs once for each row, or never")
				})
			}
		}
	}, configured(preferReplica1), configured(func(c *readsplit.Config) {
		// Who names a group is not kept away from it by the conflicts of before.
		c.Replicas[0].Groups, c.Replicas[1].Groups = []string{"all"}, []string{"all"}
	}))
}

func retried(x *trap) (n uint64) {
	for _, count := range x.plugin.Status().Retries {
		n += count
	}
	return n
}

// anySession is a context whose session has written nothing.
func anySession() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}
