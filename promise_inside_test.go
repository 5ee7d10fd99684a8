package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/session"
)

// invented is a server that answers at once: a primary whose run is started's.
type invented struct{ started func() int64 }

func (i invented) sample() lsn.Sample {
	return lsn.Sample{
		Server: lsn.Server{System: 1, Started: i.started()}, Timeline: 2, Flush: 1 << 20, Insert: 1 << 20,
		BlockSize: 8192, SegmentSize: 16 << 20, Version: 150018,
	}
}

func (i invented) Sample(context.Context) (lsn.Sample, bool, error) { return i.sample(), false, nil }

func (i invented) Position(context.Context) (lsn.LSN, bool, bool, error) { return 0, false, true, nil }

func (i invented) Capture(context.Context) (c lsn.Capture, connected bool, err error) {
	return lsn.Capture{}, false, nil // a sample captures too
}

func (i invented) Nudge(context.Context) error { return nil }

func (i invented) Close() error { return nil }

func always(n int64) func() int64 { return func() int64 { return n } }

// What looks for promoted replicas that nobody follows and an election take the same
// two locks: they must not wait for each other.
func TestStraysDuringElections(t *testing.T) {
	var run atomic.Int64
	rt := &router{}
	rt.cfg.SampleTimeout = time.Second
	rt.plugin = &Plugin{main: rt, db: &gorm.DB{Config: &gorm.Config{Logger: logger.Discard}}}
	rt.monitor = monitor.New(monitor.Config{
		Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
		Replicas:    []monitor.Target{{Name: "promoted", Source: invented{always(1)}}},
		SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
	})
	rt.asks = rt.monitor
	rt.monitor.Start()
	f := &follower{of: rt, target: newTarget(-1), conns: make(map[*heldConn]lsn.Server), said: make(map[string]bool), promote: make(map[placed]time.Time)}
	rt.follow = f
	f.hosts = []failover.Host{{Name: "a", Source: invented{func() int64 { return run.Add(1) }}}} // restarts all the time
	f.watch = failover.New(failover.Config{
		Hosts: f.hosts, SampleEvery: time.Millisecond, SampleTimeout: time.Second, MaxSampleAge: time.Hour, OnOutcome: f.outcome,
	})
	f.watch.Start()

	var looked atomic.Int64
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			f.mu.Lock()
			f.promote[placed{rt, 0}] = time.Now().Add(-time.Minute) // a while ago
			f.mu.Unlock()
			rt.strays()
			looked.Add(1)
		}
	}()
	deadline := time.NewTimer(1500 * time.Millisecond)
	defer deadline.Stop()
	<-deadline.C
	close(stop)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		require.FailNow(t, "deadlock of Watch.mu and follower.mu", "after %d looks and %d elections", looked.Load(), run.Load())
	}
	f.watch.Close()
	rt.monitor.Close()
}

// A resolver over the plugin's own primary has the same follower: a replica of its own
// that was promoted is none of the plugin's, which may have no replica in that place.
func TestStraysAreOfTheirRouter(t *testing.T) {
	routerOf := func(replicas ...monitor.Target) *router {
		rt := &router{monitor: monitor.New(monitor.Config{
			Primary: monitor.Target{Name: primaryName, Source: invented{always(1)}}, Replicas: replicas,
			SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
		})}
		rt.plugin = &Plugin{main: rt, db: &gorm.DB{Config: &gorm.Config{Logger: logger.Discard}}}
		rt.asks = rt.monitor
		rt.monitor.Start()
		t.Cleanup(rt.monitor.Close)
		return rt
	}
	main := routerOf()
	resolver := routerOf(monitor.Target{Name: "promoted", Source: invented{always(1)}})
	f := &follower{of: main, target: newTarget(-1), promote: make(map[placed]time.Time)}
	f.watch = failover.New(failover.Config{SampleEvery: time.Hour, SampleTimeout: time.Second, MaxSampleAge: time.Hour, OnOutcome: f.outcome})
	main.follow, resolver.follow = f, f
	require.Eventually(t, func() bool { _, writable := resolver.monitor.Writable(0); return writable }, 10*time.Second, time.Millisecond)
	resolver.quietly(monitor.Change{Replica: 0, State: monitor.StateWritable})
	f.mu.Lock()
	f.promote[placed{resolver, 0}] = time.Now().Add(-strayAfter)
	f.mu.Unlock()
	require.Empty(t, main.strays())
	require.Equal(t, []int{0}, resolver.strays())
	require.Empty(t, resolver.strays(), "once")
}

// A session that was shown something by a read that ended later is not bound by less
// because an earlier read is recorded after it.
func TestConcurrentReadsDoNotForgetWhatWasShown(t *testing.T) {
	rt := &router{}
	rt.self = []*router{rt}
	rt.watched, rt.cfg.Guarantee = true, session.MonotonicReads
	rt.members.list.Store(&[]*server{{}})
	rt.monitor = monitor.New(monitor.Config{
		Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
		SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
	})
	rt.asks = rt.monitor
	rt.monitor.Start()
	defer rt.monitor.Close()
	m := &marks{session: NewSession()}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil { // the captures that other sessions ask for
			rt.monitor.AwaitCapture(ctx, rt.monitor.NextCapture(), time.Now().Add(10*time.Millisecond))
		}
	})
	var lost atomic.Int64
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				mine := rt.monitor.NextCapture() // no earlier one covers what this read shows
				rt.shown(m, nil, 0, nil)
				if m.session.ledgerOf(rt).seen.Load().capture < mine {
					lost.Add(1)
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d captures", rt.monitor.NextCapture())
	assert.Zero(t, lost.Load(), "reads that an earlier one made forgotten")
}

type nowhere struct{}

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, errors.New("nowhere") }
func (nowhere) Driver() driver.Driver                        { return nil }

// Drain, another Drain of the same replica and the death of its server may close idle
// connections at the same time: the pool keeps the limit that it had.
func TestIdleConnectionsAreClosedByTwo(t *testing.T) {
	db := sql.OpenDB(nowhere{})
	defer func() { _ = db.Close() }()
	db.SetMaxIdleConns(7)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2000 {
				closeIdle(db)
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 7, reflect.ValueOf(db).Elem().FieldByName("maxIdleCount").Int())
}
