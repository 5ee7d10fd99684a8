package readsplit_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

// Users who only read, request after request by their tokens, while others write all
// the time and the replicas are behind: nobody goes back in time, and reads stay on
// replicas or return to them. Where nothing is asked for, they do go back.
func TestRequestsOfReadersAreMonotonic(t *testing.T) {
	for _, g := range levels {
		t.Run(g.String(), func(t *testing.T) {
			x := newTrap(t, configured(steady))
			t.Cleanup(func() { require.NoError(t, x.cluster.UndoAll()) })
			for i, d := range []time.Duration{30 * time.Millisecond, 60 * time.Millisecond} {
				_, err := x.cluster.Replica(i).Delay(limit(t), d)
				require.NoError(t, err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var writers, readers sync.WaitGroup
			writers.Go(func() {
				tick := time.NewTicker(2 * time.Millisecond) // replay keeps up, for want of nothing but its delay
				defer tick.Stop()
				for ; ctx.Err() == nil; <-tick.C {
					if _, err := x.admin.ExecContext(ctx, "INSERT INTO books_t (title) VALUES ('x')"); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
			var back, onReplica, total atomic.Int64
			for user := range 4 {
				readers.Go(func() {
					token, last := "", 0
					think := time.NewTimer(0)
					defer think.Stop()
					for range 20 {
						<-think.C
						think.Reset(time.Duration(20+20*user) * time.Millisecond)
						s := joined(token)
						s.SetGuarantee(g)
						if user%2 == 0 {
							s.Prefer(fmt.Sprint(user))
						}
						db := x.WithContext(readsplit.WithSession(t.Context(), s))
						var row struct {
							N      int
							Server string
						}
						for range 3 {
							if err := db.Raw("SELECT count(*) AS n, current_setting('cluster_name') AS server FROM books_t").Scan(&row).Error; err != nil {
								t.Error(err)
								return
							}
							total.Add(1)
							if isReplica(row.Server) {
								onReplica.Add(1)
							}
							if row.N < last {
								back.Add(1)
							}
							last = row.N
						}
						var err error
						if token, err = s.Token(t.Context()); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			readers.Wait()
			stop()
			writers.Wait()
			t.Logf("%d of %d on replicas, %d went back", onReplica.Load(), total.Load(), back.Load())
			if g == session.ReadYourWrites {
				assert.Positive(t, back.Load(), "or the test proves nothing")
				return
			}
			assert.Zero(t, back.Load())
			assert.Greater(t, onReplica.Load(), total.Load()/10)
		})
	}
}
