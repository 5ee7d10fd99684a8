package readsplit_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// A decision tells 64 replicas apart by bits. What a preload is bound to, and what a
// session's reads have shown, is one replica, wherever it stands in the configuration.
func TestMoreThan64Replicas(t *testing.T) {
	x := newTrap(t, configured(func(c *readsplit.Config) {
		steady(c)
		c.SampleEvery, c.MaxSampleAge, c.SampleTimeout = time.Second, time.Minute, 10*time.Second
		servers := c.Replicas
		c.Replicas = nil
		for i := range 66 {
			c.Replicas = append(c.Replicas, readsplit.Replica{Name: fmt.Sprint("other", i), Dialector: servers[i%2].Dialector, Pool: readsplit.Pool{MaxOpen: 1}})
		}
		for _, r := range servers {
			r.Groups, r.Pool = []string{"late"}, readsplit.Pool{MaxOpen: 1}
			c.Replicas = append(c.Replicas, r)
		}
	}))
	late := readsplit.Group(context.Background(), "late")
	eventually(t, "one of the last replicas serves", func() bool { return isReplica(served(t, x.WithContext(late))) })
	for i := range 20 {
		var a author
		tx := x.WithContext(late).Preload("Books").First(&a)
		require.NoError(t, tx.Error)
		onReplica(t, a.Server)
		require.Equal(t, a.Server, a.Books[0].Server, "preload %d", i)
	}
	s := readsplit.NewSession()
	s.SetGuarantee(session.MonotonicReads)
	ctx := readsplit.WithSession(late, s)
	first := served(t, x.WithContext(ctx))
	for range 20 {
		require.Equal(t, first, served(t, x.WithContext(ctx)), "the replica that has shown everything serves again")
	}
}
