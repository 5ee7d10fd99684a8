package readsplit_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

// With PrepareStmt behind a pooler that keeps no prepared statements, also the first
// reads succeed, which come before anybody knows of the pooler.
func TestBalancedNamePreparedBehindPgBouncer(t *testing.T) {
	c := cluster(t)
	database, in := onDatabase(t, c)
	name := newName(t, c.Replicas()...)
	pooler := pgBouncer(t, c.Replica(0), database, name.port())
	for what, change := range map[string]func(*readsplit.Replica){"declared": declared, "found": nil} {
		t.Run(what, func(t *testing.T) {
			d := newDB(t, c, in, prepareStmt(true), configured(longNews), oneReplica(c.Replica(0), database, pooler, " default_query_exec_mode=exec", change))
			require.NoError(t, d.Exec("DROP TABLE IF EXISTS counters").Error)
			counters(t, d, 8)
			require.NoError(t, c.WaitCaughtUp(limit(t)))
			var all sync.WaitGroup
			for range 16 {
				all.Go(func() {
					for range 20 {
						var n int
						assert.NoError(t, d.WithContext(readsplit.Stale(nobody())).Raw("SELECT n FROM counters WHERE id = ?", 1).Scan(&n).Error)
						assert.NoError(t, d.WithContext(readsplit.AnyReplica(nobody())).Table("counters").Select("n").Where("id = ?", 2).Take(&n).Error)
					}
				})
			}
			all.Wait()
			assert.Positive(t, d.plugin.Status().Replicas[0].Reads)
		})
	}
}
