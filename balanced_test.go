package readsplit_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// The name leads each connection to the next of two replicas, one of which does not
// replay. Nobody misses their own write, and the other one serves what it can.
func TestBalancedNameOneOfTwoBehind(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	for what, prepared := range map[string]bool{"plain": false, "prepared": true} {
		n := 1000
		if prepared {
			n = fewer(1000, 200)
		}
		t.Run(what, func(t *testing.T) {
			d := newDB(t, c, in, configured(patient), prepareStmt(prepared), oneReplica(c.Replica(0), database, name.port(), "", declared))
			require.NoError(t, d.Exec("DROP TABLE IF EXISTS counters").Error)
			counters(t, d, 8)
			spread(t, d, "replica1", "replica2")
			undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
			defer undone(t, undo)
			by := ownReadsOn(t, d, "replica2", n)
			assert.Zero(t, by["replica1"], "it had none of the writes")
			assert.Empty(t, d.log.matching("answers as several servers"), "it was declared")
		})
	}
}

// As before, behind PgBouncer in transaction mode, where two statements of one
// connection are run by two servers: PgBouncer is recognised by itself.
func TestBalancedNameBehindPgBouncer(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port())
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, pooler, " default_query_exec_mode=exec", nil))
	require.True(t, d.plugin.Status().Replicas[0].Balanced, "when the first read comes")
	require.Len(t, d.log.matching("warn", `replica "ro" answers as several servers`), 1)
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	assert.True(t, d.plugin.Status().Replicas[0].Pooled)
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	n := fewer(1000, 320)
	by := ownReadsOn(t, d, "replica2", n)
	assert.Zero(t, by["replica1"], "it had none of the writes")
	// What the plugin asks leaves nothing behind on the pooler's connections.
	for _, s := range c.Replicas() {
		assert.Zero(t, ask[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state LIKE 'idle in%'", database))
	}
}

// A name that was not declared is found out by what answers there.
func TestBalancedNameIsRecognised(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replica(0))
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", nil))
	counters(t, d, 8)
	replicasServe(t, d.DB)
	require.False(t, d.plugin.Status().Replicas[0].Balanced, "one server so far")
	name.lead(c.Replicas()...)
	undo := injected(t)(c.Replica(1).PauseReplay(t.Context()))
	defer undone(t, undo)
	eventually(t, "the name to be recognised", func() bool {
		spreadOnce(d) // opens connections
		_, missing := ownReads(t, d, 8, 80, nil)
		require.Zero(t, missing)
		return d.plugin.Status().Replicas[0].Balanced
	})
	assert.Len(t, d.log.matching("warn", `replica "ro" answers as several servers`), 1, "said once")
	by := ownReadsOn(t, d, "replica1", fewer(400, 160))
	assert.Zero(t, by["replica2"])
	backends := d.plugin.Status().Replicas[0].Backends
	require.Len(t, backends, 2)
	for _, b := range backends {
		assert.Contains(t, []int{c.Replica(0).Port(), c.Replica(1).Port()}, b.Port)
		assert.Equal(t, policy.RoleStandby, b.Role)
	}
}

// The bound on staleness holds on the connection: a replica that stands still is not
// read from by those who ask for nothing but MaxLag, once it is older than that.
func TestBalancedNameKeepsMaxLag(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, oneReplica(c.Replica(0), database, name.port(), "", declared), configured(func(c *readsplit.Config) { c.MaxLag = 2 * time.Second }))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	execOn(t, c.Primary(), "SELECT txid_current()")
	late := func() (by map[string]int) {
		by = map[string]int{}
		for range 40 {
			by[served(t, d.WithContext(ctx))]++
		}
		return by
	}
	eventually(t, "the bound to pass", func() bool {
		execOn(t, c.Primary(), "SELECT txid_current()")
		return d.plugin.Status().Replicas[0].Backends != nil && late()["replica1"] == 0
	})
	for range 5 {
		execOn(t, c.Primary(), "SELECT txid_current()")
		by := late()
		require.Zero(t, by["replica1"])
		require.Positive(t, by["replica2"])
	}
	// Who asks for less gets it there.
	spread(t, d, "replica1", "replica2")
}

// A read-only transaction is checked where it begins, and for each statement where
// each has a snapshot of its own.
func TestBalancedNameInReadOnlyTransactions(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port())
	for what, link := range map[string]struct {
		port int
		with string
	}{"direct": {name.port(), ""}, "pooled": {pooler, " default_query_exec_mode=exec"}} {
		for _, level := range []sql.IsolationLevel{sql.LevelDefault, sql.LevelRepeatableRead} {
			t.Run(what+" "+level.String(), func(t *testing.T) {
				d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, link.port, link.with, declared))
				require.NoError(t, d.Exec("DROP TABLE IF EXISTS counters").Error)
				counters(t, d, 1)
				spread(t, d, "replica1", "replica2")
				undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
				defer undone(t, undo)
				onReplicas := 0
				for i := 1; i <= fewer(30, 12); i++ {
					ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
					require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = ? WHERE id = 0", i).Error)
					var n, again int
					var server string
					require.NoError(t, d.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
						if err := tx.Raw("SELECT n FROM counters WHERE id = 0").Scan(&n).Error; err != nil {
							return err
						}
						if level != sql.LevelRepeatableRead {
							if err := d.WithContext(ctx).Exec("UPDATE counters SET n = n + 1000 WHERE id = 0").Error; err != nil {
								return err
							}
						}
						if err := tx.Raw("SELECT n FROM counters WHERE id = 0").Scan(&again).Error; err != nil {
							return err
						}
						return tx.Raw(whoSQL).Scan(&server).Error
					}, &sql.TxOptions{ReadOnly: true, Isolation: level}))
					require.Equal(t, i, n)
					if level == sql.LevelRepeatableRead {
						require.Equal(t, n, again)
					} else {
						require.Equal(t, n+1000, again)
					}
					require.NotEqual(t, "replica1", server)
					if server == "replica2" {
						onReplicas++
					}
				}
				if what == "pooled" && level == sql.LevelRepeatableRead {
					assert.Zero(t, onReplicas, "nothing can be proven there")
				} else {
					assert.Positive(t, onReplicas)
				}
			})
		}
	}
}

// Reads that look for another connection to the name do not wait for each other's, also
// where there are few, and some of them are held by rows that are open.
func TestBalancedNameWithFewConnections(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", func(r *readsplit.Replica) {
		r.Balanced, r.Pool.MaxOpen = true, 3
	}))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	rows, err := d.WithContext(readsplit.AnyReplica(nobody())).Raw("SELECT generate_series(1, 100000)").Rows()
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	require.True(t, rows.Next())
	ended := make(chan int)
	go func() {
		_, missing := ownReads(t, d, 8, 240, nil)
		ended <- missing
	}()
	select {
	case missing := <-ended:
		assert.Zero(t, missing)
	case <-time.After(time.Minute):
		require.Fail(t, "reads wait for ever")
	}
	require.NoError(t, rows.Err())
}

// Explain says that a read would find out behind the name what it is shown, and asks
// nobody.
func TestExplainOfABalancedName(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(longNews), oneReplica(c.Replica(0), database, name.port(), "", declared))
	counters(t, d, 2)
	replicasServe(t, d.DB)
	find := func(tx *gorm.DB) *gorm.DB { return tx.Table("counters").Find(&[]map[string]any{}) }
	before := d.plugin.Status()
	s := explained(t, nobody(), d.DB, find)[0]
	assert.Equal(t, []string{"ro", "primary"}, s.Servers)
	require.NotEmpty(t, s.Before)
	assert.Contains(t, s.Before[len(s.Before)-1], "would ask the server that its connection to ro leads to")
	s = explained(t, readsplit.AnyReplica(nobody()), d.DB, find)[0]
	assert.Equal(t, []string{"ro"}, s.Servers)
	assert.Empty(t, s.Before)
	s = explained(t, readsplit.Fresh(nobody()), d.DB, find)[0]
	assert.Equal(t, []string{"primary"}, s.Servers)
	assert.Empty(t, s.Before)
	after := d.plugin.Status()
	assert.Equal(t, before.Replicas[0].Reads, after.Replicas[0].Reads)
	assert.Equal(t, before.Replicas[0].Pool.OpenConnections, after.Replicas[0].Pool.OpenConnections)
}

// moving counts up past the plugin, an order and its lines together, while f runs.
func moving(t testing.TB, d *testDB, f func()) {
	t.Helper()
	past := direct(t, d.cluster.Primary(), d.name)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := past.ExecContext(context.Background(), "WITH l AS (INSERT INTO books_b VALUES ($1, $1)) UPDATE authors_b SET id = $1", n); err != nil {
				t.Errorf("past the plugin: %v", err)
				return
			}
		}
	})
	defer writer.Wait()
	defer close(stop)
	f()
}

type authorB struct {
	ID     int64
	Server string  `gorm:"->"`
	Books  []bookB `gorm:"foreignKey:AuthorID"`
}

type bookB struct {
	ID       int64
	AuthorID int64
}

func (authorB) TableName() string { return "authors_b" }
func (bookB) TableName() string   { return "books_b" }

// newMoving opens a database behind one name, one of whose two servers stands still
// while the other moves on.
func newMoving(t *testing.T, change func(c *readsplit.Config)) *testDB {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", func(r *readsplit.Replica) {
		// Fewer than there are readers, so that each gets one after the other of them.
		r.Balanced, r.Pool.MaxOpen = true, 4
	}), configured(change))
	require.NoError(t, d.Exec("CREATE TABLE authors_b (id bigint)").Error)
	require.NoError(t, d.Exec("INSERT INTO authors_b VALUES (0)").Error)
	require.NoError(t, d.Exec("CREATE TABLE books_b (id bigint, author_id bigint)").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	spread(t, d, "replica1", "replica2")
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	t.Cleanup(func() { undone(t, undo) })
	return d
}

// What a session has been shown by one of the servers behind the name the next read
// shows too, although it comes to another one that has not got it and serves others.
func TestBalancedNameIsMonotonic(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", func(r *readsplit.Replica) {
		r.Balanced, r.Pool.MaxLifetime = true, 1 // each read has a connection of its own
	}), configured(func(c *readsplit.Config) {
		c.Guarantee, c.MaxLag, c.SampleTimeout = session.MonotonicReads, readsplit.Off, 10*time.Second
	}))
	require.NoError(t, d.Exec("CREATE TABLE authors_b AS SELECT 0::bigint AS id").Error)
	require.NoError(t, c.WaitCaughtUp(limit(t)))
	spread(t, d, "replica1", "replica2")
	// What sessions have to see of the table is known before replay is paused: asked for
	// later, it would be what the primary has by then.
	eventually(t, "a new session to read from the name", func() bool {
		return served(t, d.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))) != "primary"
	})
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	past := direct(t, c.Primary(), database)
	read := func(ctx context.Context) (row authorB) {
		require.NoError(t, d.WithContext(ctx).Select("id, current_setting('cluster_name') AS server").Take(&row).Error)
		return row
	}
	sees := func(ctx context.Context, server string, id int64) {
		t.Helper()
		eventually(t, "a read on "+server, func() bool {
			row := read(ctx)
			return row.Server == server && row.ID == id
		})
	}
	for i := range int64(8) {
		name.lead(c.Replica(1))
		_, err := past.ExecContext(limit(t), "UPDATE authors_b SET id = $1", i+1)
		require.NoError(t, err)
		ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
		sees(ctx, "replica2", i+1)
		name.lead(c.Replica(0))
		sees(readsplit.WithSession(context.Background(), readsplit.NewSession()), "replica1", 0)
		for range 3 {
			row := read(ctx)
			require.Equal(t, i+1, row.ID, "on %s", row.Server)
			require.Equal(t, "primary", row.Server, "nobody else has it")
		}
	}
}

// A preload is not older than its parent, though another server may serve it.
func TestBalancedNamePreload(t *testing.T) {
	d := newMoving(t, func(c *readsplit.Config) { c.MaxLag = readsplit.Off })
	for what, mark := range map[string]func(context.Context) context.Context{
		"normal": readsplit.UseReplica, "stale": readsplit.Stale, "any replica": readsplit.AnyReplica,
	} {
		t.Run(what, func(t *testing.T) {
			var without, moved atomic.Int64
			read := func() error {
				var row authorB
				err := d.WithContext(mark(context.Background())).Preload("Books").Take(&row).Error
				if err == nil && row.ID > 0 {
					moved.Add(1)
					if len(row.Books) == 0 {
						without.Add(1)
					}
				}
				return err
			}
			moving(t, d, func() {
				// At the same time, or all of them get the connection that was used last.
				eventually(t, "a row that has moved", func() bool {
					var all sync.WaitGroup
					for range 8 {
						all.Go(func() {
							for range fewer(40, 12) {
								if err := read(); err != nil {
									t.Errorf("read: %v", err)
									return
								}
							}
						})
					}
					all.Wait()
					return moved.Load() > 0
				})
			})
			assert.Zero(t, without.Load(), "orders without their lines")
		})
	}
}

// fewer is n, or few with -short.
func fewer(n, few int) int {
	if testing.Short() {
		return few
	}
	return n
}
