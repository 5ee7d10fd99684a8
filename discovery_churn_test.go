package readsplit_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
)

// unreachable is a dialector of a server that refuses every connection. Its pool is its
// own, as that of postgres.Open is.
type unreachable struct{ gorm.Dialector }

func (u unreachable) Initialize(db *gorm.DB) error {
	db.ConnPool = sql.OpenDB(refusing{})
	return nil
}

type refusing struct{}

func (refusing) Connect(context.Context) (driver.Conn, error) { return nil, errors.New("refused") }
func (refusing) Driver() driver.Driver                        { return nil }

// Where addresses are as short-lived as pods, 10,000 of them leave nothing behind: no
// goroutine, no memory. (Places that a decision looks at are taken over: monitor
// TestPlacesOfTenThousandReplicas.)
func TestTenThousandReplacementsLeaveNothing(t *testing.T) {
	c := cluster(t)
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	p := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(c.Replica(0).DSN())}}, SampleTimeout: 10 * time.Second})
	require.NoError(t, db.Use(p))
	t.Cleanup(func() { require.NoError(t, p.Close(limit(t))) })
	members := discover.Members(adding{p})
	replace := func(from, to int) {
		for i := from; i < to; i++ {
			require.NoError(t, members.Add(t.Context(), []discover.Server{{Name: fmt.Sprintf("10.0.%d.%d:5432", i/256, i%256)}})[0])
			if i >= 2 {
				members.Remove(t.Context(), discover.Server{Name: fmt.Sprintf("10.0.%d.%d:5432", (i-2)/256, (i-2)%256)})
			}
		}
	}
	size := func() (bytes uint64, goroutines int) {
		runtime.GC()
		runtime.GC() // what finalizers and pools let go
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	replace(0, 1000)
	before, goroutines := size()
	replace(1000, 10000)
	after, now := size()
	assert.Less(t, after, before+2<<20, "bytes: %d to %d; 9,000 replicas of 1 kB each would be 9 MB", before, after)
	assert.LessOrEqual(t, now, goroutines+20, "goroutines")
	t.Logf("heap %d kB to %d kB, goroutines %d to %d", before>>10, after>>10, goroutines, now)

	st := p.Status()
	require.Len(t, st.Replicas, 3)
	assert.Len(t, st.Connections, 2, "of servers that answer")
}

// adding is what an application does that follows a source by itself.
type adding struct{ p *readsplit.Plugin }

func (a adding) Add(_ context.Context, servers []discover.Server) []error {
	errs := make([]error, len(servers))
	for i, s := range servers {
		errs[i] = a.p.AddReplica("", readsplit.Replica{Name: s.Name, Dialector: unreachable{postgres.Open("")}})
	}
	return errs
}

func (a adding) Change(discover.Server) {}

func (a adding) Remove(ctx context.Context, s discover.Server) { _ = a.p.RemoveReplica(ctx, s.Name) }
