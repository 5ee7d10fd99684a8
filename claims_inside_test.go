package readsplit

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/session"
)

// The short look at a claim says what the long one says, or that it does not know.
func TestKnownClaimsAsClaimed(t *testing.T) {
	rt := &router{monitor: monitor.New(monitor.Config{})}
	rt.asks = rt.monitor
	rt.cfg.StickyWindow = time.Hour
	h := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	now := time.Now()
	answered := 0
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		some := func() bool { return rng.IntN(4) == 0 }
		var c session.Claim
		if rng.IntN(3) > 0 {
			c.Position, c.At = lsn.Position{History: h, LSN: lsn.LSN(1 + rng.IntN(4))}, now.Add(-time.Duration(rng.IntN(9))*time.Second)
		}
		if some() {
			c.Unsure = now.Add(time.Minute)
		}
		if some() {
			c.Until = now.Add(time.Minute)
		}
		var need lsn.Position
		if some() {
			need = lsn.Position{History: h, LSN: lsn.LSN(1 + rng.IntN(4))}
		}
		var r register
		r.update(func(session.Claim) session.Claim { return c })
		if some() {
			r.wroteAt(now.Add(-time.Duration(rng.IntN(9)) * time.Second))
		}
		short, long := policy.Query{Need: need}, policy.Query{Need: need}
		at, ok := rt.known(&r, &short)
		if !ok {
			require.Equal(t, policy.Query{Need: need}, short, "what is not known changes nothing")
			continue
		}
		answered++
		require.Equal(t, rt.claimed(context.Background(), &r, false, &long, &patience{}), at, "%+v", c)
		require.Equal(t, long, short, "%+v", c)
	}
	require.Greater(t, answered, 500)

	for name, c := range map[string]session.Claim{"a capture": {Capture: 1}, "to verify": {Position: lsn.Position{History: h, LSN: 1}, Verify: 1}} {
		var r register
		r.p.Store(&c)
		_, ok := rt.known(&r, &policy.Query{})
		require.False(t, ok, name)
	}
}
