package readsplit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// A primary behind PgBouncer in transaction mode, as where it has more clients than
// connections: positions come through the pooler, too.
func TestPrimaryBehindPgBouncer(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	pooler := pgBouncer(t, c.Primary(), database, c.Primary().Port())
	d := newDB(t, c, in, configured(patient), configured(func(cfg *readsplit.Config) {
		cfg.Primary = postgres.Open(through(c.Primary(), database, pooler) + " default_query_exec_mode=exec")
	}))
	counters(t, d, 8)
	spread(t, d, "replica1", "replica2")
	undo := injected(t)(c.Replica(0).PauseReplay(t.Context()))
	defer undone(t, undo)
	by, missing := ownReads(t, d, 8, 160, nil)
	assert.Zero(t, missing)
	assert.Zero(t, by["replica1"], "it had none of the writes")
	assert.NotZero(t, by["replica2"])
	assert.NoError(t, d.Transaction(func(tx *gorm.DB) error {
		return tx.Exec("UPDATE counters SET n = 0").Error
	}))
	// What the plugin asks leaves nothing behind on the pooler's connections.
	assert.Zero(t, ask[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND state LIKE 'idle in%'", database))
}
