package readsplit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// R2: a commit that is acknowledged before it is flushed lies beyond the flush
// position. However synchronous_commit was turned off, its session waits for the
// insert position.
func TestR02AsynchronousCommit(t *testing.T) {
	// The WAL writer would flush the commits before anybody could miss them.
	c := testenv.Start(t, testenv.Setting("wal_writer_delay", "10s"), testenv.Setting("wal_writer_flush_after", "1GB"), testenv.Setting("autovacuum", "off"))

	update := func(db *gorm.DB, n int) error { return db.Exec("UPDATE counters SET n = ? WHERE id = 1", n).Error }
	onePooled := func(t *testing.T, d *testDB) {
		pool, err := d.DB.DB()
		require.NoError(t, err)
		pool.SetMaxOpenConns(1)
	}
	reconnecting := func(t *testing.T, d *testDB) {
		pool, err := d.DB.DB()
		require.NoError(t, err)
		pool.SetMaxIdleConns(0)
	}
	const function = `CREATE FUNCTION quick() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('synchronous_commit', 'off', true); RETURN new; END $$`
	const trigger = "CREATE TRIGGER quick BEFORE UPDATE ON counters FOR EACH ROW EXECUTE FUNCTION quick()"

	for name, mode := range map[string]struct {
		option  string // of the DSN
		prepare func(t *testing.T, d *testDB)
		write   func(db *gorm.DB, n int) error
	}{
		"SET LOCAL": {write: func(db *gorm.DB, n int) error {
			return db.Transaction(func(tx *gorm.DB) error {
				if err := tx.Exec("SET LOCAL synchronous_commit = off").Error; err != nil {
					return err
				}
				return update(tx, n)
			})
		}},
		"SET LOCAL after the write": {write: func(db *gorm.DB, n int) error {
			return db.Transaction(func(tx *gorm.DB) error {
				if err := update(tx, n); err != nil {
					return err
				}
				return tx.Exec("SET LOCAL synchronous_commit TO 'off'").Error
			})
		}},
		"set_config": {write: func(db *gorm.DB, n int) error {
			return db.Transaction(func(tx *gorm.DB) error {
				var value string
				if err := tx.Raw("SELECT set_config('synchronous' || '_commit', 'off', true)").Scan(&value).Error; err != nil {
					return err
				}
				return update(tx, n)
			})
		}},
		"SET": {prepare: func(t *testing.T, d *testDB) {
			onePooled(t, d)
			require.NoError(t, d.Exec("SET synchronous_commit = off").Error)
		}, write: update},
		"SET in a transaction": {prepare: func(t *testing.T, d *testDB) {
			onePooled(t, d)
			require.NoError(t, d.Transaction(func(tx *gorm.DB) error { return tx.Exec("SET synchronous_commit = off").Error }))
		}, write: update},
		"ALTER ROLE": {prepare: func(t *testing.T, d *testDB) {
			reconnecting(t, d)
			execOn(t, c.Primary(), "ALTER ROLE postgres IN DATABASE "+d.name+" SET synchronous_commit = off")
		}, write: update},
		"ALTER DATABASE": {prepare: func(t *testing.T, d *testDB) {
			reconnecting(t, d)
			require.NoError(t, d.Exec("ALTER DATABASE "+d.name+" SET synchronous_commit = off").Error)
		}, write: update},
		"DSN": {option: "options='-c synchronous_commit=off'", write: update},
		"trigger": {prepare: func(t *testing.T, d *testDB) {
			require.NoError(t, d.Exec(function).Error)
			require.NoError(t, d.Exec(trigger).Error)
		}, write: update},
		"trigger made elsewhere": {prepare: func(t *testing.T, d *testDB) {
			db := direct(t, c.Primary(), d.name)
			_, err := db.ExecContext(t.Context(), function)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), trigger)
			require.NoError(t, err)
			// The catalogue is looked at with each full sample.
			created := time.Now()
			eventually(t, "a sample", func() bool { return d.plugin.Status().Primary.Sampled.After(created) })
		}, write: update},
	} {
		t.Run(name, func(t *testing.T) {
			readsplit.ForgetAsync() // of the others, each of which must be found out
			d := newDB(t, c, connected(mode.option))
			counters(t, d, 1)
			flush := func() {
				execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'flush', '')")
				require.NoError(t, c.WaitCaughtUp(t.Context()))
			}
			flush()
			if mode.prepare != nil {
				mode.prepare(t, d)
			}
			replica := direct(t, c.Replica(0), d.name)
			session := readsplit.WithSession(t.Context(), readsplit.NewSession())
			// MaxLag has a margin for asynchronous commits; Stale lifts it, so that the
			// session's position alone decides.
			reads := d.WithContext(readsplit.Stale(session))
			rounds := fewer(40, 16)
			late, over := 0, limit(t)
			for n := 1; n <= rounds || late <= rounds/2 && over.Err() == nil; n++ {
				require.NoError(t, mode.write(d.WithContext(session), n))
				var there, got int
				require.NoError(t, replica.QueryRowContext(t.Context(), "SELECT n FROM counters WHERE id = 1").Scan(&there))
				if there != n {
					late++
				}
				require.NoError(t, reads.Raw("SELECT n FROM counters WHERE id = 1").Scan(&got).Error)
				require.Equal(t, n, got, "round %d, and the replica itself shows %d", n, there)
			}
			assert.Greater(t, late, rounds/2, "the replicas must have been late, or this proves nothing")

			// Once the commit is flushed, replicas serve the session again.
			flush()
			eventually(t, "the session to be served by a replica", func() bool { return served(t, reads) != "primary" })
		})
	}
}

// What one plugin was shown holds for the others over the same primary: a SET stays on
// the connection of the one, and the session reads through the other.
func TestR02AsynchronousCommitThroughAnotherPlugin(t *testing.T) {
	c := testenv.Start(t, testenv.Setting("wal_writer_delay", "10s"), testenv.Setting("wal_writer_flush_after", "1GB"), testenv.Setting("autovacuum", "off"))
	d := newDB(t, c)
	counters(t, d, 1)
	execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'flush', '')")
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	other := newDB(t, c, inDatabase(d.name))
	pool, err := other.DB.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	require.NoError(t, other.Exec("SET synchronous_commit = off").Error)
	session := readsplit.WithSession(t.Context(), readsplit.NewSession())
	later := newDB(t, c, inDatabase(d.name)) // whoever comes later has not seen it either
	for n := 1; n <= fewer(16, 8); n++ {
		require.NoError(t, other.WithContext(session).Exec("UPDATE counters SET n = ? WHERE id = 1", n).Error)
		var got int
		require.NoError(t, d.WithContext(readsplit.Stale(session)).Raw("SELECT n FROM counters WHERE id = 1").Scan(&got).Error)
		require.Equal(t, n, got, "round %d", n)
		require.NoError(t, later.WithContext(readsplit.Stale(session)).Raw("SELECT n FROM counters WHERE id = 1").Scan(&got).Error)
		require.Equal(t, n, got, "round %d, through the one that came later", n)
		// Else a position from before would lie beyond what is flushed, and keep the
		// session on the primary by itself.
		execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'flush', '')")
		require.NoError(t, c.WaitCaughtUp(t.Context()))
	}
}

// MaxLag counts from the acknowledgement, also for those whose session did not write: a
// commit that is not flushed yet is in no sample of the primary that goes by what is
// flushed.
func TestR05AsynchronousCommitIsWithinMaxLag(t *testing.T) {
	c := testenv.Start(t, testenv.Setting("wal_writer_delay", "10s"), testenv.Setting("wal_writer_flush_after", "1GB"), testenv.Setting("autovacuum", "off"))
	after := func(set string) func(tx *gorm.DB) error {
		return func(tx *gorm.DB) error {
			if err := tx.Exec(set).Error; err != nil {
				return err
			}
			return tx.Exec("UPDATE counters SET n = 1 WHERE id = 1").Error
		}
	}
	for name, write := range map[string]func(tx *gorm.DB) error{
		"SET LOCAL":  after("SET LOCAL synchronous_commit = off"),
		"set_config": after("SELECT set_config('synchronous_commit', 'off', true)"),
		"unseen": func(tx *gorm.DB) error {
			raw, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			_, err := raw.ExecContext(t.Context(), "SET LOCAL synchronous_commit = off; UPDATE counters SET n = 1 WHERE id = 1")
			return err
		},
		"SET LOCAL after SQLTx": func(tx *gorm.DB) error {
			_, ok := readsplit.SQLTx(tx)
			require.True(t, ok)
			return after("SET LOCAL synchronous_commit = off")(tx)
		},
	} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, through another plugin %v", name, elsewhere), func(t *testing.T) {
				d := newDB(t, c, configured(func(c *readsplit.Config) {
					c.MaxLag, c.MaxSampleAge, c.StickyWindow = time.Second, time.Second, 2*time.Second
				}))
				counters(t, d, 1)
				execOn(t, c.Primary(), "SELECT pg_logical_emit_message(true, 'flush', '')")
				require.NoError(t, c.WaitCaughtUp(t.Context()))
				writer := d
				if elsewhere {
					writer = newDB(t, c, inDatabase(d.name))
				}
				d.eligible(t, "replica1", "replica2")
				require.NoError(t, writer.WithContext(nobody()).Transaction(write))
				acknowledged := time.Now()
				for seen := false; !seen; {
					var got int
					began := time.Now()
					require.NoError(t, d.WithContext(nobody()).Raw("SELECT n FROM counters WHERE id = 1").Scan(&got).Error)
					seen = got == 1
					require.True(t, seen || began.Sub(acknowledged) <= time.Second, "not seen after %v", began.Sub(acknowledged))
				}
			})
		}
	}
}
