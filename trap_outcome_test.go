package readsplit_test

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// A write whose commit is broken off says that nobody knows what became of it, by
// the same error whichever way it was written; its session reads from the primary.
func TestUnknownOutcomeIsTyped(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.past(t, `
			CREATE FUNCTION new_book(t text) RETURNS bigint LANGUAGE sql AS 'INSERT INTO books_t (title) VALUES (t) RETURNING id';
			CREATE PROCEDURE add_book(t text) LANGUAGE plpgsql AS 'BEGIN INSERT INTO books_t (title) VALUES (t); END'`)
		x.slowCommit(t, 60)
		x.past(t, `CREATE CONSTRAINT TRIGGER nap_too AFTER UPDATE ON books_t DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW WHEN (NEW.title = 'slow') EXECUTE FUNCTION nap()`)
		for name, write := range waysToWrite {
			if strings.HasPrefix(name, "Delete") || name == "of a nested association" {
				continue // there is nothing slow in them
			}
			t.Run(name, func(t *testing.T) {
				db, _ := x.session()
				ended := make(chan error, 1)
				go func() { ended <- write(db, &book{Title: "slow"}) }()
				x.sleeping(t)
				x.killSleeping(t)
				err := <-ended
				require.Error(t, err)
				require.Equal(t, policy.ReasonUnsure, reason(t, db.Find(&[]book{})))
				var own *pgconn.PgError
				require.ErrorAs(t, err, &own)
				require.Equal(t, "57P01", own.Code)
				require.ErrorIs(t, err, retry.ErrOutcomeUnknown)
				require.ErrorContains(t, err, "read the row again through the same session")
			})
		}
	}, gormConfigured(func(c *gorm.Config) { c.TranslateError = true }))
}

// Programs defer a Rollback, whose error must not hide the first one.
func TestUnknownOutcomeAndADeferredRollback(t *testing.T) {
	x := newTrap(t)
	x.slowCommit(t, 60)
	db, _ := x.session()
	tx := db.Begin()
	require.NoError(t, tx.Create(&book{Title: "slow"}).Error)
	ended := make(chan struct{})
	go func() { tx.Commit(); close(ended) }()
	x.sleeping(t)
	x.killSleeping(t)
	<-ended
	require.ErrorIs(t, tx.Error, retry.ErrOutcomeUnknown)
	require.ErrorIs(t, tx.Rollback().Error, sql.ErrTxDone)
	require.ErrorIs(t, tx.Error, retry.ErrOutcomeUnknown)
}

// What is known to have failed is not called unknown.
func TestDefiniteOutcomesAreNotUnknown(t *testing.T) {
	eachTxMode(t, func(t *testing.T, x *trap) {
		x.past(t, `ALTER TABLE books_t ADD CONSTRAINT late UNIQUE (title) DEFERRABLE INITIALLY DEFERRED`)
		x.past(t, `CREATE FUNCTION cancelled() RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM pg_cancel_backend(pg_backend_pid()), pg_sleep(60); RETURN 1; END'`)
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		pool, err := x.DB.DB()
		require.NoError(t, err)
		for name, fails := range map[string]func(db *gorm.DB) error{
			"constraint":           func(db *gorm.DB) error { return db.Exec("INSERT INTO authors (name) VALUES ('Ann')").Error },
			"constraint at commit": func(db *gorm.DB) error { return db.Create(&book{Title: "one"}).Error },
			"explicitly": func(db *gorm.DB) error {
				return db.Transaction(func(tx *gorm.DB) error { return tx.Create(&book{Title: "one"}).Error })
			},
			"serialization": func(db *gorm.DB) error {
				return db.Transaction(func(tx *gorm.DB) error {
					require.NoError(t, tx.Find(&[]author{}).Error)
					x.past(t, "UPDATE authors_t SET name = name")
					return tx.Exec("UPDATE authors SET name = 'Bea'").Error
				}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
			},
			"swallowed": func(db *gorm.DB) error {
				return db.Transaction(func(tx *gorm.DB) error {
					require.NoError(t, tx.Create(&book{Title: "b"}).Error)
					require.Error(t, tx.Exec("INSERT INTO nowhere VALUES (1)").Error)
					return nil
				})
			},
			"context over before": func(db *gorm.DB) error { return db.WithContext(gone).Create(&book{Title: "b"}).Error },
			"context over before COMMIT": func(db *gorm.DB) error {
				ctx, cancel := context.WithCancel(db.Statement.Context)
				tx := db.WithContext(ctx).Begin()
				require.NoError(t, tx.Exec("INSERT INTO books (title) VALUES ('b')").Error)
				cancel()
				return tx.Commit().Error
			},
			"cancelled by the server": func(db *gorm.DB) error { // as by statement_timeout, which knows no COMMIT
				return db.Exec("INSERT INTO books (title) SELECT 'b' FROM cancelled()").Error
			},
			"no connection to be had": func(db *gorm.DB) error {
				pool.SetMaxOpenConns(1)
				defer pool.SetMaxOpenConns(0)
				conn, err := pool.Conn(context.Background())
				require.NoError(t, err)
				defer conn.Close()
				ctx, cancel := context.WithTimeout(db.Statement.Context, 20*time.Millisecond)
				defer cancel()
				err = db.WithContext(ctx).Exec("INSERT INTO books (title) VALUES ('b')").Error
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return err
			},
		} {
			t.Run(name, func(t *testing.T) {
				unsure := x.plugin.Status().Unsure
				db, _ := x.session()
				err := fails(db)
				require.Error(t, err)
				require.NotErrorIs(t, err, retry.ErrOutcomeUnknown)
				require.Equal(t, unsure, x.plugin.Status().Unsure, "%v", err)
			})
		}
	})
}

// The wait for a synchronous replica is broken off, the answer to a COMMIT is lost,
// a backend is killed in COMMIT: the row is there or is not, the error is the same,
// and the session finds out.
func TestUnknownOutcomeOnAPrimary(t *testing.T) {
	c := breakable(t)
	cut := newCutter(t, c.Primary().Addr())
	d := newDB(t, c, configured(quick), configured(boundless), connected("port="+cut.port()))
	require.NoError(t, d.Exec("CREATE TABLE writes (note text)").Error)
	there := func(ctx context.Context, note string) (n int) {
		eventually(t, "the primary to answer", func() bool {
			tx := d.WithContext(ctx).Raw("SELECT count(*) FROM writes WHERE note = ?", note).Scan(&n)
			decision, _ := readsplit.DecisionOf(tx)
			return tx.Error == nil && assert.False(t, decision.Replica)
		})
		return n
	}
	session := func() context.Context { return readsplit.WithSession(context.Background(), readsplit.NewSession()) }

	t.Run("the answer is lost", func(t *testing.T) {
		ctx := session()
		tx := d.WithContext(ctx).Begin()
		require.NoError(t, tx.Exec("INSERT INTO writes VALUES ('lost')").Error)
		cut.armed.Store(true)
		err := tx.Commit().Error
		require.ErrorIs(t, err, retry.ErrOutcomeUnknown)
		require.Equal(t, retry.Unknown, retry.OfWrite(err))
		require.Equal(t, 1, there(ctx, "lost"), "it was committed")
	})
	t.Run("cancelled in the wait for a replica", func(t *testing.T) {
		end := unacknowledged(t, c)
		defer end()
		ctx := session()
		short, stop := untilItWaits(ctx, c, d.name)
		defer stop()
		err := d.WithContext(short).Exec("INSERT INTO writes VALUES ('sync')").Error
		require.ErrorIs(t, err, retry.ErrOutcomeUnknown)
		require.ErrorIs(t, err, context.Canceled)
		eventually(t, "the row to be there", func() bool { return there(ctx, "sync") == 1 })
		release(t, c, d.name)
	})
	t.Run("the backend is killed in COMMIT", func(t *testing.T) {
		require.NoError(t, d.Exec(`
			CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
			CREATE CONSTRAINT TRIGGER nap AFTER INSERT ON writes DEFERRABLE INITIALLY DEFERRED
				FOR EACH ROW WHEN (NEW.note = 'killed') EXECUTE FUNCTION nap()`).Error)
		ctx := session()
		ended := make(chan error, 1)
		go func() {
			ended <- d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
				return tx.Exec("INSERT INTO writes VALUES ('killed')").Error
			})
		}()
		var pid int
		eventually(t, "the commit to sleep", func() bool {
			return c.Primary().DB().QueryRowContext(t.Context(), "SELECT pid FROM pg_stat_activity WHERE datname = $1 AND wait_event = 'PgSleep'", d.name).Scan(&pid) == nil
		})
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		require.ErrorIs(t, <-ended, retry.ErrOutcomeUnknown)
		require.Equal(t, 0, there(ctx, "killed"))
	})
}

// cutter stands before a server and, once armed, loses the answer to the next
// COMMIT.
type cutter struct {
	listener net.Listener
	target   string
	armed    atomic.Bool
	all      sync.WaitGroup
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	c := &cutter{listener: l, target: target}
	c.all.Go(c.accept)
	t.Cleanup(func() { _ = l.Close(); c.all.Wait() })
	return c
}

func (c *cutter) port() string {
	_, port, _ := net.SplitHostPort(c.listener.Addr().String())
	return port
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		end := sync.OnceFunc(func() { _ = client.Close(); _ = server.Close() })
		var answered atomic.Bool // do not pass on what comes from here
		c.all.Go(func() {
			defer end()
			buf := make([]byte, 64<<10)
			for {
				n, err := client.Read(buf)
				if err != nil {
					return
				}
				if bytes.Contains(bytes.ToLower(buf[:n]), []byte("commit")) && c.armed.CompareAndSwap(true, false) {
					answered.Store(true)
				}
				if _, err := server.Write(buf[:n]); err != nil {
					return
				}
			}
		})
		c.all.Go(func() {
			defer end()
			buf := make([]byte, 64<<10)
			for {
				n, err := server.Read(buf)
				if err != nil || answered.Load() {
					return
				}
				if _, err := client.Write(buf[:n]); err != nil {
					return
				}
			}
		})
	}
}

// The rows of a write are what they are without the plugin: values, NULLs, types.
func TestRowsOfAWriteAsWithoutThePlugin(t *testing.T) {
	eachMode(t, func(t *testing.T, x *trap) {
		x.past(t, "CREATE TABLE kinds (id int, n numeric(10,2), t text, v varchar(7), b bytea, at timestamptz, j jsonb, a int[], ok boolean)")
		insert := `INSERT INTO kinds VALUES (1, 1.5, 'x', 'y', '\x0102', '2024-01-02 03:04:05Z', '{"k": 1}', '{1,2}', true),
			(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) RETURNING *`
		type column struct {
			name, typ, scan     string
			length, prec, scale int64
			hasLength, hasScale bool
		}
		look := func(db *gorm.DB) (columns []column, values []map[string]any, row []any) {
			rows, err := db.Raw(insert).Rows()
			require.NoError(t, err)
			types, err := rows.ColumnTypes()
			require.NoError(t, err)
			for _, c := range types {
				d := column{name: c.Name(), typ: c.DatabaseTypeName(), scan: c.ScanType().String()}
				d.length, d.hasLength = c.Length()
				d.prec, d.scale, d.hasScale = c.DecimalSize()
				columns = append(columns, d)
			}
			for rows.Next() {
				v := map[string]any{}
				require.NoError(t, db.ScanRows(rows, &v))
				values = append(values, v)
			}
			require.NoError(t, rows.Err())
			require.NoError(t, rows.Close())
			row = make([]any, 9)
			into := make([]any, len(row))
			for i := range row {
				into[i] = &row[i]
			}
			require.NoError(t, db.Raw(insert).Row().Scan(into...))
			return columns, values, row
		}
		columns, values, row := look(openGORM(t, x, false))
		require.Len(t, values, 2)
		gotColumns, gotValues, gotRow := look(x.DB)
		assert.Equal(t, columns, gotColumns)
		assert.Equal(t, values, gotValues)
		assert.Equal(t, row, gotRow)
		assert.Zero(t, x.plugin.Status().Unsure)
	})
}
