package readsplit_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
)

// panicker panics whatever it is told.
type panicker struct{}

func (panicker) ObserveDecision(context.Context, observe.Decision)   { panic("decision") }
func (panicker) ObserveStatement(context.Context, observe.Statement) { panic("statement") }
func (panicker) ObserveRetry(context.Context, observe.Retry)         { panic("retry") }
func (panicker) ObserveChange(observe.Change)                        { panic("change") }
func (panicker) ObserveCapture(observe.Capture)                      { panic("capture") }
func (panicker) ObserveToken(observe.Token)                          { panic("token") }

func TestAnObserverThatPanicsHarmsNobody(t *testing.T) {
	ring := observe.NewRing(100)
	d := newDB(t, cluster(t), configured(boundless), configured(func(c *readsplit.Config) {
		c.Observers = []any{panicker{}, ring, panicker{}}
	}))
	counters(t, d, 4)
	known(t, d.plugin)
	d.eligible(t, "replica1", "replica2")
	user := readsplit.WithSession(t.Context(), readsplit.NewSession())
	require.NoError(t, d.WithContext(user).Exec("UPDATE counters SET n = n + 1").Error)
	for range 20 {
		var sum int
		require.NoError(t, d.WithContext(user).Raw("SELECT sum(n) FROM counters").Scan(&sum).Error)
		assert.Equal(t, 5, sum)
	}
	tx := d.WithContext(user).Begin()
	require.NoError(t, tx.Error)
	require.NoError(t, tx.Exec("UPDATE counters SET n = n + 1").Error)
	require.NoError(t, tx.Commit().Error)
	require.NoError(t, d.plugin.Drain(limit(t), "replica1"), "nothing is left running")
	require.NoError(t, d.plugin.Resume("replica1"))
	assert.GreaterOrEqual(t, len(ring.Decisions()), 20, "told all the same")
	assert.NotEmpty(t, ring.Changes())
}
