package readsplit_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// pointTo leads new connections to another server and leaves the others alone, as a
// change of DNS does.
func (a *address) pointTo(s *testenv.Server) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.target = s
}

// The name of a replica moves to another server, while the old one still answers
// over the connections that are open, and falls behind.
func TestNameOfAReplicaMoves(t *testing.T) {
	c := breakable(t)
	name := newAddress(t, c.Replica(0))
	database := newDatabaseName(t)
	require.NoError(t, c.CreateDatabase(t.Context(), database))
	d := newDB(t, c, inDatabase(database), configured(patient), configured(func(cfg *readsplit.Config) {
		_, port, err := net.SplitHostPort(name.listener.Addr().String())
		require.NoError(t, err)
		cfg.Replicas = []readsplit.Replica{{
			Name:      "by name",
			Dialector: postgres.Open(fmt.Sprintf("%s host=127.0.0.1 port=%s", c.Replica(0).DSNFor(database), port)),
		}}
	}))
	counters(t, d, 16)
	d.eligible(t, "replica1")
	u := startUsers(t, d, 16, nil)
	u.busy(t, c.Replica(0))

	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	name.pointTo(c.Replica(1))
	u.busy(t, c.Replica(1))
	eventually(t, "no connection to be left to the server that the name has left", func() bool {
		return ask[int](t, c.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.name) == 0
	})
	u.during(t, 200, func() bool { return !d.plugin.Status().Replicas[0].Balanced })
	u.right(t)
	assert.Zero(t, u.lost.Load())
	d.eligible(t, "replica2")
	assert.False(t, d.plugin.Status().Replicas[0].Balanced, "one server after the other, not several")
}

// Reads that run on the server that a name has left are broken off and run elsewhere. They
// say nothing of the server that the name leads to now: it is not ejected for them.
func TestNameMovesUnderReads(t *testing.T) {
	c := breakable(t)
	name := newName(t, c.Replica(0))
	database, in := onDatabase(t, c)
	d := newDB(t, c, in, configured(patient), oneReplica(c.Replica(0), database, name.port(), "", nil))
	require.NoError(t, d.Exec(`CREATE FUNCTION lasts() RETURNS text STABLE LANGUAGE plpgsql AS
		$$BEGIN IF current_setting('cluster_name') = 'replica1' THEN PERFORM pg_sleep(120); END IF; RETURN current_setting('cluster_name'); END$$`).Error)
	known(t, d.plugin)
	d.eligible(t, "replica1")
	const reads = 8
	served := make(chan error, reads)
	for range reads {
		go func() {
			var server string
			err := d.WithContext(readsplit.Stale(nobody())).Raw("SELECT lasts()").Scan(&server).Error
			if err == nil && server == "replica1" {
				err = errors.New("served by the server that the name has left")
			}
			served <- err
		}()
	}
	eventually(t, "the reads to run", func() bool {
		return ask[int](t, c.Replica(0), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state = 'active' AND query LIKE 'SELECT lasts%'", d.name) == reads
	})
	name.lead(c.Replica(1))
	_ = d.WithContext(readsplit.Stale(nobody())).Raw(whoSQL).Scan(new(string)) // over a new connection
	for range reads {
		require.NoError(t, <-served)
	}
	d.eligible(t, "replica2")
	assert.Empty(t, d.log.matching("it is left alone for a while"))
	assert.False(t, d.plugin.Status().Replicas[0].Balanced)
}

// The pool of a replica is the application's own. A connection that it gives back when the
// name has moved is from before that, and does not make several servers of the name.
func TestNameMovesUnderTheApplicationsOwnPool(t *testing.T) {
	c := breakable(t)
	name := newName(t, c.Replica(0))
	database, in := onDatabase(t, c)
	own, err := sql.Open("pgx", through(c.Replica(0), database, name.port()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.Close()) })
	d := newDB(t, c, in, configured(patient), configured(func(c *readsplit.Config) {
		c.Replicas = []readsplit.Replica{{
			Name: "ro", Dialector: postgres.New(postgres.Config{Conn: own}),
			Pool: readsplit.Pool{MaxLifetime: 1}, // each read has a connection of its own
		}}
	}))
	d.eligible(t, "replica1")
	held, err := own.Conn(t.Context())
	require.NoError(t, err)
	name.lead(c.Replica(1))
	d.eligible(t, "replica2")
	require.NoError(t, held.Close())
	require.Equal(t, 1, own.Stats().Idle)
	d.eligible(t, "replica2")
	assert.Zero(t, own.Stats().Idle, "it is closed")
	assert.False(t, d.plugin.Status().Replicas[0].Balanced)
}
