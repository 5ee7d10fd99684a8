package readsplit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/internal/dnsdouble"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/testenv"
)

// discovering follows a source quickly, and has no other replicas. What a test is about
// is not how quick a machine answers.
func discovering(s discover.Source) dbOption {
	return configured(func(c *readsplit.Config) {
		c.Replicas = nil
		c.Discover = discover.Config{Source: s, Every: 20 * time.Millisecond, Timeout: 20 * time.Second, Grace: 50 * time.Millisecond}
		c.SampleTimeout, c.MaxSampleAge, c.MaxLag, c.MaxWait = 10*time.Second, 20*time.Second, 20*time.Second, 50*time.Millisecond
	})
}

// at is a server of a cluster as a source finds it.
func at(s *testenv.Server) discover.Server { return discover.Server{Host: "127.0.0.1", Port: s.Port()} }

// list is a source that a test changes.
type list struct {
	mu      sync.Mutex
	servers []discover.Server
	err     error
	lookups atomic.Int64
}

func listed(servers ...*testenv.Server) *list {
	l := &list{}
	l.set(servers...)
	return l
}

func (l *list) set(servers ...*testenv.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers = nil
	for _, s := range servers {
		l.servers = append(l.servers, at(s))
	}
}

func (l *list) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

func (l *list) Lookup(context.Context) ([]discover.Server, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lookups.Add(1)
	return l.servers, l.err
}

func (l *list) String() string { return "a list" }

// asked waits until the source was asked twice from now on: what it said before the
// second time is judged.
func (l *list) asked(t testing.TB) {
	t.Helper()
	from := l.lookups.Load()
	eventually(t, "two lookups", func() bool { return l.lookups.Load() >= from+2 })
}

// inUse are the names of the replicas that are not about to go.
func (d *testDB) inUse() (names []string) {
	for _, r := range d.plugin.Status().Replicas {
		names = append(names, r.Name)
	}
	slices.Sort(names)
	return names
}

// uses waits until these are the replicas.
func (d *testDB) uses(t testing.TB, servers ...*testenv.Server) {
	t.Helper()
	var names []string
	for _, s := range servers {
		names = append(names, s.Addr())
	}
	slices.Sort(names)
	eventually(t, fmt.Sprintf("%v to be the replicas", names), func() bool { return slices.Equal(d.inUse(), names) })
}

// discoveries is an observer that keeps what it is told.
type discoveries struct {
	mu  sync.Mutex
	all []string
}

func (o *discoveries) ObserveDiscovery(d observe.Discovery) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, d.Kind+" "+d.Server)
}

func (o *discoveries) count(what string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.all {
		if s == what {
			n++
		}
	}
	return n
}

// SRV records are followed while an application reads: nobody notices who comes and
// goes, and a DNS server that fails, or knows nobody for a moment, takes nobody out.
func TestDiscoverBySRV(t *testing.T) {
	c := breakable(t)
	ns, err := dnsdouble.New()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ns.Close()) })
	const name = "_postgresql._tcp.example"
	says := func(servers ...*testenv.Server) {
		var all []dnsdouble.SRV
		for _, s := range servers {
			all = append(all, dnsdouble.SRV{Target: "localhost.", Port: uint16(s.Port()), Weight: 10})
		}
		ns.Services(name, all...)
	}
	one, two := c.Replica(0), c.Replica(1)
	says(one)
	told := &discoveries{}
	d := newDB(t, c, discovering(discover.SRV(name, discover.DNSOptions{Resolver: ns.Resolver()})),
		configured(func(c *readsplit.Config) { c.Observers = []any{told} }))
	counters(t, d, 16)
	called := func(s *testenv.Server) string { return fmt.Sprintf("localhost:%d", s.Port()) }
	assert.Equal(t, []string{called(one)}, d.inUse(), "when db.Use returns")
	u := startUsers(t, d, 16, nil)
	u.busy(t, one)
	asked := func() {
		from := ns.Asked()
		eventually(t, "the DNS to be asked", func() bool { return ns.Asked() >= from+6 })
	}

	says(one, two)
	u.busy(t, two)
	says(two)
	eventually(t, "the first to be taken out", func() bool { return slices.Equal(d.inUse(), []string{called(two)}) })
	gone := time.Now()
	eventually(t, "its connections to be closed", func() bool {
		return ask[int](t, one, "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.name) == 0
	})
	u.during(t, 50, func() bool { return len(d.inUse()) == 1 })
	assert.False(t, u.servedSince(one, gone))

	ns.Refuse(true)
	eventually(t, "the failure to be known", func() bool { return d.plugin.Status().Discovery.Err != nil })
	asked()
	assert.Equal(t, []string{called(two)}, d.inUse(), "the last answer counts")
	ns.Refuse(false)
	says()
	eventually(t, "the empty answer to be known", func() bool { return d.plugin.Status().Discovery.Empty })
	asked()
	assert.Equal(t, []string{called(two)}, d.inUse(), "nobody is a mistake")
	says(one, two)
	eventually(t, "the first to serve again", func() bool { return u.servedSince(one, gone) })
	u.right(t)
	assert.Zero(t, u.lost.Load())

	st := d.plugin.Status()
	assert.Equal(t, "srv "+name, st.Discovery.Source)
	require.NoError(t, st.Discovery.Err)
	require.Len(t, st.Discovery.Servers, 2)
	assert.Equal(t, discover.Server{Name: called(one), Host: "localhost", Port: one.Port(), Weight: 1}, st.Discovery.Servers[slices.IndexFunc(st.Discovery.Servers, func(f discover.Found) bool { return f.Port == one.Port() })].Server)
	assert.True(t, st.Replicas[0].Discovered)
	assert.Equal(t, 1, told.count("failed "))
	assert.Equal(t, 1, told.count("empty "))
	assert.Equal(t, 2, told.count("added "+called(one)))
	assert.Len(t, d.log.matching("warn", "discovery by srv "+name+" fails, and the replicas stay as they are"), 1, "once")
	assert.Len(t, d.log.matching("has answers again"), 1)
	assert.NotEmpty(t, d.log.matching("warn", called(one), "taken out of service"))
}

// A name of all servers names the primary too: it is known, and not read from, and
// nobody is warned.
func TestDiscoverTheHostsOfADSN(t *testing.T) {
	c := cluster(t)
	all := c.Servers()
	dsn := hostsOf(all...)
	d := newDB(t, c, discovering(discover.Hosts(dsn)))
	p := c.Primary()
	d.eligible(t, "replica1", "replica2")
	st := d.plugin.Status()
	require.Len(t, st.Replicas, 3)
	for _, r := range st.Replicas {
		assert.True(t, r.Discovered)
		assert.Equal(t, r.Name == p.Addr(), r.IsPrimary, r.Name)
	}
	assert.Empty(t, d.log.matching("it is a PRIMARY"))
	assert.Len(t, d.log.matching("info", p.Addr(), "is the primary itself"), 1)
	assert.Zero(t, d.plugin.Status().Replicas[slices.Index(d.names(), p.Addr())].Reads)
}

func (d *testDB) names() (names []string) {
	for _, r := range d.plugin.Status().Replicas {
		names = append(names, r.Name)
	}
	return names
}

// What is configured and found, or found under two addresses, is used once.
func TestDiscoverNobodyTwice(t *testing.T) {
	c := cluster(t)
	one, two := c.Replica(0), c.Replica(1)
	source := discover.Static(at(one), at(two), discover.Server{Host: "localhost", Port: two.Port()}, discover.Server{Name: "primary", Host: "10.255.255.1"})
	d := newDB(t, c, discovering(source), configured(func(c *readsplit.Config) {
		c.Replicas = []readsplit.Replica{{Name: "replica1"}}
	}))
	eventually(t, "the second replica", func() bool { return len(d.inUse()) == 2 && d.plugin.Status().Replicas[1].LagKnown })
	why := map[string]string{}
	for _, f := range d.plugin.Status().Discovery.Servers {
		if f.Why != nil {
			why[f.Name] = f.Why.Error()
		}
	}
	local := fmt.Sprintf("localhost:%d", two.Port())
	if _, used := why[two.Addr()]; used {
		local = two.Addr() // by chance, and it stays
	}
	require.Len(t, why, 3, "%v", why)
	assert.Contains(t, why[one.Addr()], `Config.Replicas' "replica1" already`)
	assert.Contains(t, why[local], "it is the same server as replica")
	assert.Contains(t, why["primary"], "which is how the primary is called")
	assert.Len(t, d.log.matching("warn", local, "is not used"), 1)
	d.eligible(t, "replica1", "replica2")
}

// The standbys that the primary streams to, which has to be asked by a role that may see
// them.
func TestDiscoverStandbys(t *testing.T) {
	c := breakable(t)
	locate := func(s discover.Standby) (discover.Server, bool) {
		known := c.Server(s.ApplicationName)
		if known == nil || s.Address != "127.0.0.1" {
			return discover.Server{}, false
		}
		return at(known), true
	}
	source := discover.Standbys(discover.StandbyOptions{Locate: locate})
	lookup := func(s discover.Source) ([]discover.Server, error) {
		found, err := s.Lookup(limit(t))
		slices.SortFunc(found, func(a, b discover.Server) int { return a.Port - b.Port })
		return found, err
	}
	both := []discover.Server{at(c.Replica(0)), at(c.Replica(1))}
	slices.SortFunc(both, func(a, b discover.Server) int { return a.Port - b.Port })
	eventually(t, "both standbys to stream", func() bool {
		found, err := lookup(discover.Bound(source, c.Primary().DB()))
		return err == nil && slices.EqualFunc(found, both, func(a, b discover.Server) bool { return a.Port == b.Port })
	})

	_, err := lookup(discover.Bound(source, c.Replica(0).DB()))
	assert.ErrorContains(t, err, "is a standby itself")
	execOn(t, c.Primary(), "DROP ROLE IF EXISTS nosy")
	execOn(t, c.Primary(), "CREATE ROLE nosy")
	t.Cleanup(func() { execOn(t, c.Primary(), "DROP ROLE nosy") })
	conn, err := c.Primary().DB().Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = conn.ExecContext(t.Context(), "SET ROLE nosy")
	require.NoError(t, err)
	_, err = lookup(discover.Bound(source, conn))
	assert.ErrorIs(t, err, discover.ErrRight)
	_, err = conn.ExecContext(t.Context(), "RESET ROLE")
	require.NoError(t, err)
	execOn(t, c.Primary(), "GRANT pg_monitor TO nosy")
	_, err = conn.ExecContext(t.Context(), "SET ROLE nosy")
	require.NoError(t, err)
	found, err := lookup(discover.Bound(source, conn))
	require.NoError(t, err)
	assert.Equal(t, both, found, "pg_monitor is enough")
	_, err = conn.ExecContext(t.Context(), "RESET ROLE")
	require.NoError(t, err)

	d := newDB(t, c, discovering(source))
	d.uses(t, c.Replica(0), c.Replica(1))
	d.eligible(t, "replica1", "replica2")
}

// Whoever receives WAL to keep it (pg_receivewal) streams like a standby, and cannot be
// read from.
func TestDiscoverStandbysLeavesOutWhoOnlyKeeps(t *testing.T) {
	c := breakable(t)
	// It never answers, which the servers of tests bear for 5 s.
	receiver, err := pgconn.Connect(limit(t), c.Primary().DSN()+" replication=true application_name=pg_receivewal wal_sender_timeout=0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, receiver.Close(context.Background())) })
	where := ask[string](t, c.Primary(), "SELECT pg_current_wal_flush_lsn()::text")
	receiver.Frontend().SendQuery(&pgproto3.Query{String: "START_REPLICATION PHYSICAL " + where})
	require.NoError(t, receiver.Frontend().Flush())
	eventually(t, "it and both standbys to stream", func() bool {
		return ask[int](t, c.Primary(), "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'pg_receivewal' AND state IN ('catchup', 'streaming') OR replay_lsn IS NOT NULL AND state = 'streaming'") == 3
	})
	var names []string
	_, err = discover.Standbys(discover.StandbyOptions{Primary: c.Primary().DB(), Locate: func(s discover.Standby) (discover.Server, bool) {
		names = append(names, s.ApplicationName)
		return discover.Server{}, false
	}}).Lookup(limit(t))
	require.NoError(t, err)
	slices.Sort(names)
	assert.Equal(t, []string{"replica1", "replica2"}, names)
}

// A standby that is away has not left while its slot is there.
func TestDiscoverStandbysBySlots(t *testing.T) {
	c := breakable(t)
	p, r := c.Primary(), c.Replica(0)
	execOn(t, p, "SELECT pg_create_physical_replication_slot('of_replica1')")
	execOn(t, r, "ALTER SYSTEM SET primary_slot_name = 'of_replica1'")
	execOn(t, r, "SELECT pg_reload_conf()")
	drop := func() {
		execOn(t, r, "ALTER SYSTEM RESET primary_slot_name")
		execOn(t, r, "SELECT pg_reload_conf()")
		eventually(t, "the slot to be free", func() bool {
			return ask[int](t, p, "SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'of_replica1' AND NOT active") == 1
		})
		execOn(t, p, "SELECT pg_drop_replication_slot('of_replica1')")
	}
	dropped := sync.OnceFunc(drop)
	t.Cleanup(dropped)
	eventually(t, "the slot to be used", func() bool {
		return ask[int](t, p, "SELECT count(*) FROM pg_replication_slots s JOIN pg_stat_replication r ON r.pid = s.active_pid WHERE slot_name = 'of_replica1' AND r.state = 'streaming' AND r.replay_lsn IS NOT NULL") == 1
	})
	source := discover.Standbys(discover.StandbyOptions{Primary: p.DB(), Locate: func(s discover.Standby) (discover.Server, bool) {
		return discover.Server{Name: s.ApplicationName, Host: s.Address}, s.ApplicationName == "replica1"
	}})
	want := []discover.Server{{Name: "replica1", Host: "127.0.0.1"}}
	found, err := source.Lookup(limit(t))
	require.NoError(t, err)
	require.Equal(t, want, found)

	undo := injected(t)(r.Cut(t.Context()))
	eventually(t, "the primary to notice", func() bool {
		return ask[int](t, p, "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'replica1'") == 0
	})
	found, err = source.Lookup(limit(t))
	require.NoError(t, err)
	assert.Equal(t, want, found, "it has a slot")
	undone(t, undo)
	dropped()
	undo = injected(t)(r.Cut(t.Context()))
	eventually(t, "the primary to notice", func() bool {
		return ask[int](t, p, "SELECT count(*) FROM pg_stat_replication WHERE application_name = 'replica1'") == 0
	})
	found, err = source.Lookup(limit(t))
	require.NoError(t, err)
	assert.Empty(t, found)
	undone(t, undo)
}

// After a failover that is followed the new primary is asked for its standbys.
func TestDiscoverStandbysAfterAFailover(t *testing.T) {
	c := breakable(t)
	one, two := c.Replica(0), c.Replica(1)
	source := discover.Standbys(discover.StandbyOptions{Locate: func(s discover.Standby) (discover.Server, bool) {
		known := c.Server(s.ApplicationName)
		if known == nil {
			return discover.Server{}, false
		}
		return at(known), true
	}})
	d := newDB(t, c, connected(hostsOf(c.Primary(), one)), unopened(), discovering(source))
	d.uses(t, one, two)
	injected(t)(one.Promote(t.Context()))
	injected(t)(two.Follow(t.Context(), one))
	eventually(t, "the promoted one to be followed", func() bool { return d.plugin.Status().Primary.Host == one.Addr() })
	d.uses(t, two)
	require.NoError(t, d.Exec("CREATE TABLE after (i int)").Error)
	d.eligible(t, "replica2")
	assert.Empty(t, d.log.matching("it is a PRIMARY"))
}

// A source that is dead delays the start by no more than its timeout, and Close not at
// all.
func TestDiscoverADeadSource(t *testing.T) {
	asked := make(chan struct{}, 1024)
	hangs := discover.Func("hangs", func(ctx context.Context) ([]discover.Server, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	c := cluster(t)
	open := func(timeout time.Duration) (*readsplit.Plugin, *gorm.DB) {
		db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: &logRecorder{}})
		require.NoError(t, err)
		pool, err := db.DB()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, pool.Close()) })
		return readsplit.New(readsplit.Config{Discover: discover.Config{Source: hangs, Timeout: timeout, Every: time.Millisecond}}), db
	}
	p, db := open(10 * time.Millisecond)
	require.NoError(t, db.Use(p))
	require.ErrorIs(t, p.Status().Discovery.Err, context.DeadlineExceeded)
	assert.Equal(t, "primary", served(t, db))
	<-asked
	<-asked // the goroutine's own
	require.NoError(t, p.Close(limit(t)))

	// During the first lookup, which would take an hour.
	p, db = open(time.Hour)
	for len(asked) > 0 {
		<-asked
	}
	began, used := time.Now(), make(chan error, 1)
	go func() { used <- db.Use(p) }()
	<-asked
	require.NoError(t, p.Close(limit(t)))
	require.NoError(t, <-used)
	assert.Less(t, time.Since(began), time.Minute)
	assert.Equal(t, "primary", served(t, db))
}

// Reads that are under way where a server is taken out end there.
func TestDiscoverDrainsWhoIsGone(t *testing.T) {
	c := cluster(t)
	one, two := c.Replica(0), c.Replica(1)
	source := listed(one)
	d := newDB(t, c, discovering(source))
	d.eligible(t, "replica1")
	rows, err := d.Raw("SELECT i, current_setting('cluster_name') FROM generate_series(1, 100000) i").Rows()
	require.NoError(t, err)
	source.set(two)
	eventually(t, "it to be taken out", func() bool {
		return slices.Equal(d.inUse(), []string{one.Addr(), two.Addr()}) || slices.Equal(d.inUse(), []string{two.Addr(), one.Addr()})
	})
	d.eligible(t, "replica2")
	seen := 0
	for rows.Next() {
		seen++
	}
	require.NoError(t, rows.Err())
	require.NoError(t, rows.Close())
	assert.Equal(t, 100000, seen)
	d.uses(t, two)
}

// A name that flaps closes no connection, and an operator's word counts.
func TestDiscoverFlappingName(t *testing.T) {
	c := cluster(t)
	one, two := c.Replica(0), c.Replica(1)
	source := listed(one, two)
	d := newDB(t, c, discovering(source), configured(func(c *readsplit.Config) { c.Discover.Grace = time.Hour; c.Discover.EmptyGrace = time.Hour }))
	d.eligible(t, "replica1", "replica2")
	const backends = "SELECT coalesce(min(pid), 0) FROM pg_stat_activity WHERE datname = $1 AND query = $2"
	before := ask[int](t, one, backends, d.name, whoSQL)
	require.NotZero(t, before)
	for i := range 6 {
		source.set(two)
		source.asked(t)
		if i == 3 {
			source.fail(errors.New("no"))
			source.asked(t)
			source.fail(nil)
		}
		source.set(one, two)
		source.asked(t)
	}
	d.eligible(t, "replica1", "replica2")
	assert.Equal(t, before, ask[int](t, one, backends, d.name, whoSQL), "its connections are those from before")
	assert.Empty(t, d.log.matching("taken out"))

	require.NoError(t, d.plugin.RemoveReplica(limit(t), one.Addr()))
	source.asked(t)
	assert.Equal(t, []string{two.Addr()}, d.inUse(), "an operator has removed it, and it stays so while the name has it")
}
