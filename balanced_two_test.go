package readsplit_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// A read that neither of two names of several servers can serve goes to the primary,
// although each time it comes back to the other one than before.
func TestTwoBalancedNamesThatAreBehind(t *testing.T) {
	c := breakable(t)
	database, in := onDatabase(t, c)
	d := newDB(t, c, in, configured(func(cfg *readsplit.Config) {
		cfg.MaxWait, cfg.MaxLag, cfg.Balancer, cfg.SampleTimeout = 50*time.Millisecond, readsplit.Off, policy.RoundRobin(), 10*time.Second
		cfg.Replicas = nil
		for _, name := range []string{"east", "west"} {
			cfg.Replicas = append(cfg.Replicas, readsplit.Replica{
				Name: name, Balanced: true, Dialector: postgres.Open(through(c.Replica(0), database, newName(t, c.Replicas()...).port())),
			})
		}
	}))
	counters(t, d, 1)
	spread(t, d, "replica1", "replica2")
	for _, s := range c.Replicas() {
		undo := injected(t)(s.PauseReplay(t.Context()))
		defer undone(t, undo)
	}
	ctx := sessionContext()
	require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = 7 WHERE id = 0").Error)
	type answered struct {
		n      int
		server string
		why    policy.Reason
	}
	ended := make(chan answered, 1)
	go func() {
		var row struct {
			N      int
			Server string
		}
		tx := d.WithContext(ctx).Table("counters").Select(readersSelect).Where("id = 0").Take(&row)
		decision, _ := readsplit.DecisionOf(tx)
		ended <- answered{row.N, row.Server, decision.Reason}
	}()
	select {
	case got := <-ended:
		assert.Equal(t, answered{7, "primary", policy.ReasonBehindSession}, got)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the read goes from one name to the other for ever")
	}
}
