package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// breakRow is where a read of the view "long" is broken off on a replica that is
// to fail, after thousands of rows have been scanned.
const breakRow = 5000

// brittle makes views whose rows replica1 sends up to breakRow, and then hangs
// until it is killed.
func brittle(t *testing.T, x *trap) {
	t.Helper()
	x.past(t, `
		CREATE FUNCTION hang(bad boolean) RETURNS text LANGUAGE plpgsql STABLE AS $$
			BEGIN IF bad THEN PERFORM pg_sleep(600); END IF; RETURN ''; END $$;
		CREATE VIEW long AS SELECT i AS id, 'title ' || i AS title, 1 AS author_id, current_setting('cluster_name') AS server,
			repeat('x', 50) || hang(i = 5000 AND current_setting('cluster_name') = 'replica1') AS filler
			FROM generate_series(1, 6000) i;
		CREATE VIEW only_there AS SELECT * FROM long WHERE current_setting('cluster_name') = 'replica1'`)
	require.NoError(t, x.cluster.WaitCaughtUp(limit(t)))
}

// first prefers replica1 as long as it may be asked.
type first struct{}

// Name implements policy.Balancer.
func (first) Name() string { return "first" }

// Pick implements policy.Balancer.
func (first) Pick(_ *policy.Query, candidates []policy.Candidate) int {
	best := 0
	for i, c := range candidates {
		if c.Replica.Name < candidates[best].Replica.Name {
			best = i
		}
	}
	return best
}

func preferReplica1(c *readsplit.Config) { c.Balancer = first{} }

// killHanging kills the read that hangs on replica1, in the background; the
// channel tells when it is dead.
func (x *trap) killHanging(t *testing.T) <-chan struct{} {
	done := make(chan struct{})
	ctx := limit(t)
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			var killed bool
			err := x.cluster.Replica(0).DB().QueryRowContext(ctx,
				"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'", x.schema).Scan(&killed)
			if err == nil && killed {
				return
			}
		}
	}()
	return done
}

// scannedFrom counts the rows that were scanned, by the server that sent them.
type scannedFrom string

var (
	scannedMu sync.Mutex
	scanned   = map[string]int{}
)

// Scan implements sql.Scanner.
func (s *scannedFrom) Scan(v any) error {
	name, _ := v.(string)
	scannedMu.Lock()
	defer scannedMu.Unlock()
	scanned[name]++
	*s = scannedFrom(name)
	return nil
}

func forgetScanned() {
	scannedMu.Lock()
	defer scannedMu.Unlock()
	scanned = map[string]int{}
}

// longBook is a row of the view "long".
type longBook struct {
	ID       int64
	Title    string
	AuthorID int64
	Server   scannedFrom
	Author   *longAuthor
}

func (*longBook) TableName() string { return "long" }

func (b *longBook) AfterFind(tx *gorm.DB) error { return runHook(tx, "AfterFind") }

type longAuthor struct {
	ID     int64
	Name   string
	Server string
}

func (*longAuthor) TableName() string { return "authors" }

func (a *longAuthor) AfterFind(tx *gorm.DB) error { return runHook(tx, "AfterFind of author") }

func TestT21MidRowFailure(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		brittle(t, x)
		retries := func() uint64 {
			var n uint64
			for _, count := range x.plugin.Status().Retries {
				n += count
			}
			return n
		}
		// recovered asserts that the read was run again once, on the other replica.
		recovered := func(t *testing.T, tx *gorm.DB, before uint64) {
			t.Helper()
			require.NoError(t, tx.Error)
			d, ok := readsplit.DecisionOf(tx)
			require.True(t, ok)
			require.Equal(t, "replica2", d.Server)
			require.Equal(t, 2, d.Attempts)
			require.Equal(t, before+1, retries())
		}
		back := func(t *testing.T) {
			t.Helper()
			eventually(t, "replica1 serves again", func() bool { return served(t, x.DB) == "replica1" })
		}

		t.Run("structs", func(t *testing.T) {
			back(t)
			forgetScanned()
			ran := map[string]int{}
			count := func(name string) func(tx *gorm.DB) error {
				return func(*gorm.DB) error { ran[name]++; return nil }
			}
			ctx := withHooks(hooks{"AfterFind": count("book"), "AfterFind of author": count("author")})
			before, killed := retries(), x.killHanging(t)
			var books []longBook
			tx := x.WithContext(ctx).Preload("Author").Find(&books)
			<-killed
			recovered(t, tx, before)
			require.Greater(t, scanned["replica1"], breakRow/2, "it failed in the middle")
			require.Equal(t, 6000, scanned["replica2"])
			require.Len(t, books, 6000)
			require.EqualValues(t, 6000, tx.RowsAffected)
			for i, b := range books {
				require.EqualValues(t, i+1, b.ID)
				require.EqualValues(t, "replica2", b.Server)
				require.Equal(t, "replica2", b.Author.Server)
			}
			require.Equal(t, map[string]int{"book": 6000, "author": 1}, ran)
		})
		t.Run("maps", func(t *testing.T) {
			back(t)
			before, killed := retries(), x.killHanging(t)
			rows := []map[string]any{{"mine": true}}
			tx := x.Table("long").Find(&rows)
			<-killed
			recovered(t, tx, before)
			require.Len(t, rows, 6001, "GORM appends")
			require.Equal(t, map[string]any{"mine": true}, rows[0])
			require.EqualValues(t, 1, rows[1]["id"])
			require.Equal(t, "replica2", rows[1]["server"])
		})
		t.Run("a column", func(t *testing.T) {
			back(t)
			before, killed := retries(), x.killHanging(t)
			var servers []string
			tx := x.Table("long").Where("filler <> ''").Pluck("server", &servers)
			<-killed
			recovered(t, tx, before)
			require.Len(t, servers, 6000)
			require.NotContains(t, servers, "replica1")
		})
		// The second run finds nothing: the destination holds what it held.
		t.Run("a struct, at the close of its rows", func(t *testing.T) {
			for _, mine := range []longBook{{}, {Title: "mine", AuthorID: 7}} {
				back(t)
				before, killed := retries(), x.killHanging(t)
				forgetScanned()
				got := mine
				tx := x.Table("only_there").Find(&got)
				<-killed
				recovered(t, tx, before)
				require.Equal(t, map[string]int{"replica1": 1}, scanned)
				require.Equal(t, mine, got)
				require.Zero(t, tx.RowsAffected)
			}
		})
		t.Run("a map, at the close of its rows", func(t *testing.T) {
			back(t)
			before, killed := retries(), x.killHanging(t)
			got := map[string]any{"mine": 7}
			tx := x.Table("only_there").Find(&got)
			<-killed
			recovered(t, tx, before)
			require.Equal(t, map[string]any{"mine": 7}, got)
		})
		t.Run("a number", func(t *testing.T) {
			back(t)
			before, killed := retries(), x.killHanging(t)
			got := 7
			tx := x.Table("only_there").Select("id").Where("filler <> ''").Find(&got)
			<-killed
			recovered(t, tx, before)
			require.Equal(t, 7, got)
		})
		t.Run("not found by the second run", func(t *testing.T) {
			back(t)
			killed := x.killHanging(t)
			tx := x.Table("only_there").Where("filler = ''").Take(&longBook{})
			<-killed
			require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound)
		})
		t.Run("WithResult", func(t *testing.T) {
			back(t)
			before, killed := retries(), x.killHanging(t)
			result := gorm.WithResult()
			books, err := gorm.G[longBook](x.DB, result).Find(context.Background())
			<-killed
			require.NoError(t, err)
			require.NoError(t, result.Error)
			require.EqualValues(t, 6000, result.RowsAffected)
			require.Len(t, books, 6000)
			require.Equal(t, before+1, retries())
		})
		require.Zero(t, x.plugin.Status().Unsure)
	}, configured(preferReplica1))
}

// A translated error is not what the plugin judges.
func TestT24ErrorsAreJudgedWhereTheyHappen(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		brittle(t, x)
		killed := x.killHanging(t)
		var books []longBook
		forgetScanned()
		tx := x.Session(&gorm.Session{}).Find(&books)
		<-killed
		require.NoError(t, tx.Error)
		require.Len(t, books, 6000)

		// A scan that fails for each row leaves one error in which the driver's
		// own is only text; and it is not the server's fault.
		type badBook struct{ ID bool }
		eventually(t, "replica1 serves again", func() bool { return served(t, x.DB) == "replica1" })
		tx = x.Table("books").Select("'no' AS id").Find(&[]badBook{})
		require.Error(t, tx.Error)
		d, ok := readsplit.DecisionOf(tx)
		require.True(t, ok)
		require.Equal(t, 1, d.Attempts)
		require.Equal(t, "replica1", d.Server)

		// An application's own translation.
		tx = x.Table("nowhere").Find(&[]book{})
		require.ErrorContains(t, tx.Error, "42P01")
		require.Equal(t, policy.ReasonSchemaBehind, reason(t, tx))
	}, configured(preferReplica1), gormConfigured(func(c *gorm.Config) { c.TranslateError = true }))
}

func TestT22MidRowErrorsOfRows(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		brittle(t, x)
		back := func() {
			eventually(t, "replica1 serves again", func() bool { return served(t, x.DB) == "replica1" })
		}
		back()
		killed := x.killHanging(t)
		rows, err := x.Table("long").Rows()
		require.NoError(t, err)
		n := 0
		for rows.Next() {
			n++
		}
		<-killed
		require.Equal(t, retry.Elsewhere, retry.OfRead(rows.Err()).Action, "%v", rows.Err())
		require.Greater(t, n, breakRow/2)
		require.NoError(t, rows.Close())

		back()
		killed = x.killHanging(t)
		var all []map[string]any
		err = x.Raw("SELECT * FROM long").Scan(&all).Error
		<-killed
		require.Error(t, err)
		require.Equal(t, retry.Elsewhere, retry.OfRead(err).Action, "%v", err)

		back()
		killed = x.killHanging(t)
		var title string
		err = x.Raw("SELECT title FROM long WHERE filler <> ''").Row().Scan(&title)
		<-killed
		require.Error(t, err)
		back()
	}, configured(preferReplica1))
}

func TestT20NotRunAgain(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		brittle(t, x)
		retries := func() int { return len(x.plugin.Status().Retries) }
		unfinished := func(err error) {
			t.Helper()
			require.Error(t, err)
			require.Zero(t, retries())
		}

		// In a read-only transaction on a replica.
		killed := x.killHanging(t)
		unfinished(x.Transaction(func(tx *gorm.DB) error {
			require.Equal(t, "replica1", served(t, tx))
			return tx.Find(&[]longBook{}).Error
		}, &sql.TxOptions{ReadOnly: true}))
		<-killed

		// On the primary: in a transaction, on a connection, and otherwise.
		x.past(t, `CREATE VIEW hangs AS SELECT i AS id, hang(i = 5000) AS title, '' AS server FROM generate_series(1, 6000) i`)
		for name, read := range map[string]func() error{
			"transaction": func() error {
				return x.Transaction(func(tx *gorm.DB) error { return tx.Table("hangs").Find(&[]book{}).Error })
			},
			"connection": func() error {
				return x.Connection(func(tx *gorm.DB) error { return tx.Table("hangs").Find(&[]book{}).Error })
			},
			"fresh": func() error { return x.fresh().Table("hangs").Find(&[]book{}).Error },
		} {
			t.Run(name, func(t *testing.T) {
				ended := make(chan error, 1)
				go func() { ended <- read() }()
				x.sleeping(t)
				x.killSleeping(t)
				unfinished(<-ended)
			})
		}

		t.Run("caller gone", func(t *testing.T) {
			eventually(t, "replica1 serves again", func() bool { return served(t, x.DB) == "replica1" })
			ctx, cancel := context.WithCancel(context.Background())
			ended := make(chan error, 1)
			go func() { ended <- x.WithContext(ctx).Find(&[]longBook{}).Error }()
			eventually(t, "the read hangs", func() bool {
				return ask[int](t, x.cluster.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'", x.schema) > 0
			})
			cancel()
			err := <-ended
			require.ErrorIs(t, err, context.Canceled)
			unfinished(err)
		})
		t.Run("not found", func(t *testing.T) {
			tx := x.Where("id = ?", -1).First(&book{})
			require.ErrorIs(t, tx.Error, gorm.ErrRecordNotFound)
			d, _ := readsplit.DecisionOf(tx)
			require.True(t, d.Replica)
			require.Equal(t, 1, d.Attempts)
			require.Zero(t, retries())
		})
		t.Run("the statement's own fault", func(t *testing.T) {
			tx := x.Raw("SELECT 1/0").Scan(new(int))
			require.ErrorContains(t, tx.Error, "22012")
			require.Zero(t, retries())
		})
		t.Run("pooled connections that broke", func(t *testing.T) {
			for _, s := range x.cluster.Replicas() {
				execOn(t, s, "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1", x.schema)
			}
			for range 20 {
				served(t, x.DB) // never an error
			}
		})
	}, configured(preferReplica1))
}

func TestT23RefusedAsAWrite(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		// Views hide what they call from the text.
		x.past(t, `
			CREATE SEQUENCE numbers;
			CREATE FUNCTION bump() RETURNS bigint LANGUAGE plpgsql STABLE AS 'BEGIN RETURN nextval(''numbers''); END';
			CREATE VIEW bumped AS SELECT bump() AS id, current_setting('cluster_name') AS server;
			CREATE FUNCTION note(t text) RETURNS text LANGUAGE plpgsql VOLATILE AS
				'BEGIN INSERT INTO books_t (title) VALUES (t); RETURN current_setting(''cluster_name''); END';
			CREATE FUNCTION called(t text) RETURNS text LANGUAGE sql VOLATILE AS 'SELECT note(t)';
			CREATE VIEW noted AS SELECT note('noted') AS server`)
		x.stale(t)
		status := func() (refused, unsure uint64) { st := x.plugin.Status(); return st.Refused, st.Unsure }

		for name, read := range map[string]func(db *gorm.DB, server *string) *gorm.DB{
			"Find": func(db *gorm.DB, s *string) *gorm.DB { return db.Table("noted").Find(s) },
			"Pluck": func(db *gorm.DB, s *string) *gorm.DB {
				return db.Table("bumped").Select("server").Where("id > 0").Find(s)
			},
			"Raw": func(db *gorm.DB, s *string) *gorm.DB { return db.Raw("TABLE noted").Scan(s) },
			"Row": func(db *gorm.DB, s *string) *gorm.DB {
				_ = db.AddError(db.Raw("SELECT * FROM noted").Row().Scan(s))
				return db
			},
			"Rows": func(db *gorm.DB, s *string) *gorm.DB {
				rows, err := db.Raw("SELECT * FROM noted").Rows()
				require.NoError(t, err)
				require.True(t, rows.Next())
				_ = db.AddError(rows.Scan(s))
				_ = db.AddError(rows.Close())
				return db
			},
		} {
			t.Run(name, func(t *testing.T) {
				db, _ := x.session()
				reads(t, db, false, "one")
				refused, _ := status()
				var server string
				require.NoError(t, read(db, &server).Error)
				require.Equal(t, "primary", server)
				after, unsure := status()
				require.Equal(t, refused+1, after, "tried once, on one replica")
				require.Zero(t, unsure)
				reads(t, db, true, x.titles(t)...)
			})
		}
		t.Run("Exec", func(t *testing.T) {
			db, _ := x.session()
			tx := db.Exec("SELECT * FROM noted")
			require.NoError(t, tx.Error)
			require.Equal(t, policy.ReasonRefusedByReplica, reason(t, tx))
			reads(t, db, true, x.titles(t)...)
		})
		t.Run("a function by its name is no proven read", func(t *testing.T) {
			db, _ := x.session()
			refused, _ := status()
			var server string
			tx := db.Raw("SELECT called('called')").Scan(&server)
			require.NoError(t, tx.Error)
			require.Equal(t, "primary", server)
			require.Equal(t, policy.ReasonUnknownStatement, reason(t, tx))
			after, _ := status()
			require.Equal(t, refused, after)
			reads(t, db, true, x.titles(t)...)
		})
	}, saidToRead("note"))
}

// A cache replaces gorm:query; what runs again is what stands there then.
func TestT33ReplacedQuery(t *testing.T) {
	x := newTrap(t, configured(preferReplica1))
	brittle(t, x)
	ran := 0
	original := x.Callback().Query().Get("gorm:query")
	require.NoError(t, x.Callback().Query().Replace("gorm:query", func(db *gorm.DB) {
		ran++
		original(db)
	}))
	killed := x.killHanging(t)
	forgetScanned()
	var books []longBook
	require.NoError(t, x.Find(&books).Error)
	<-killed
	require.Len(t, books, 6000)
	require.Equal(t, 2, ran)

	require.NoError(t, x.Callback().Query().Replace("gorm:query", func(*gorm.DB) {}))
	tx := x.Find(&books)
	require.NoError(t, tx.Error)
	_, ok := readsplit.DecisionOf(tx)
	require.False(t, ok, "a cache has answered")
}
