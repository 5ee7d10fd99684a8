package readsplit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// An ejected replica may be tried by a read. An explanation says so and does not take
// the trial from the read that needs it.
func TestExplainOfEjectedReplicas(t *testing.T) {
	d, all := ailing(t, cluster(t), monitor.Health{Eject: time.Hour, MaxEject: time.Hour, SlowStart: -1})
	fallIll(t, d, all[0], "replica1")
	fallIll(t, d, all[1], "replica2")
	eventually(t, "both to be ejected", func() bool {
		require.Equal(t, "primary", served(t, d.DB))
		st := d.plugin.Status()
		return !st.Replicas[0].EjectedUntil.IsZero() && !st.Replicas[1].EjectedUntil.IsZero()
	})
	asked := all[0].asked.Load() + all[1].asked.Load()
	var s explain.Statement
	eventually(t, "what is known of them to be new enough", func() bool {
		s = explained(t, nobody(), d.DB, func(tx *gorm.DB) *gorm.DB { return tx.Raw(whoSQL).Scan(new(string)) })[0]
		return s.Reason == policy.ReasonEjected && len(s.Servers) == 3
	})
	require.Equal(t, onWhichever, s.Servers)
	require.True(t, strings.HasSuffix(s.Before[0], "replica1 or replica2 is ejected: one read at a time tries it"), "%v", s)
	require.Equal(t, asked, all[0].asked.Load()+all[1].asked.Load(), "nobody was tried")
}
