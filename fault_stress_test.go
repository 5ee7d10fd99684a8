package readsplit_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// Sixty users, and faults of the replicas at random, also together. In the end all
// is well, and at no moment did anybody miss their own write or get an error.
func TestFaultStress(t *testing.T) {
	c := breakable(t)
	d := newDB(t, c, configured(patient), configured(impatient))
	counters(t, d, 60)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	u := startUsers(t, d, 60, nil)
	begun := time.Now()
	for time.Since(begun) < 5*time.Second {
		r := c.Replica(rng.IntN(2))
		inject := []func(context.Context) (testenv.Undo, error){
			r.Kill, r.Stop, r.CrashBackend, r.Cut, r.PauseReplay, r.Freeze,
			func(ctx context.Context) (testenv.Undo, error) { return r.Delay(ctx, 100*time.Millisecond) },
		}[rng.IntN(7)]
		undo, err := inject(t.Context())
		if err != nil {
			continue // makes no sense on a server that is down already
		}
		from := u.reads.Load()
		eventually(t, "reads", func() bool { return u.reads.Load() > from+int64(20+rng.IntN(200)) })
		if rng.IntN(3) > 0 {
			undone(t, undo)
		}
	}
	require.NoError(t, c.UndoAll())
	d.eligible(t, "replica1", "replica2")
	u.right(t)
	assert.Zero(t, u.lost.Load())
	for id := range 60 {
		ctx := readsplit.WithSession(t.Context(), readsplit.NewSession())
		var there, here int64
		require.NoError(t, d.WithContext(readsplit.Fresh(ctx)).Raw("SELECT n FROM counters WHERE id = ?", id).Scan(&there).Error)
		require.NoError(t, d.Raw("SELECT n FROM counters WHERE id = ?", id).Scan(&here).Error)
		assert.Equal(t, there, here)
	}
	eventually(t, "nothing to be in flight", func() bool {
		st := d.plugin.Status()
		return st.Replicas[0].InFlight+st.Replicas[1].InFlight == 0
	})
}
