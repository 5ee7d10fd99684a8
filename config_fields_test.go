package readsplit_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/testenv"
)

// fieldTest opens a plugin, changes one field of its configuration, and returns
// both.
type fieldTest struct {
	c        *testenv.Cluster
	database string
}

// both opens two plugins that differ in what change does.
func (f fieldTest) both(t *testing.T, change func(*readsplit.Config)) (base, changed *testDB) {
	t.Helper()
	return newDB(t, f.c, inDatabase(f.database)), newDB(t, f.c, inDatabase(f.database), configured(change))
}

// TestConfigEveryField changes every field alone, and shows another server, another
// wait or another error. A field without a test fails, as it may have no effect.
func TestConfigEveryField(t *testing.T) {
	c := cluster(t)
	admin := newDB(t, c, configured(func(c *readsplit.Config) { c.ForbidNudge = true })) // it would end what others stage
	counters(t, admin, 4)
	require.NoError(t, c.WaitCaughtUp(t.Context()))
	f := fieldTest{c: c, database: admin.name}
	tests := map[string]func(*testing.T){
		"Config.Replicas":               f.replicas,
		"Config.Discover":               f.discover,
		"Config.Discovered":             f.discovered,
		"Config.DiscoverOpen":           f.discoverOpen,
		"Config.Primary":                f.primary,
		"Config.FollowPrimary":          f.followPrimary,
		"Config.Resolvers":              f.resolvers,
		"Config.PrimaryPool":            f.primaryPool,
		"Config.NotFound":               f.notFound,
		"Config.Settings":               f.settings,
		"Config.PrimaryBudget":          testPrimaryBudget,
		"Config.Instances":              testInstances,
		"Config.ReadFunctions":          f.functions("touch", true, func(c *readsplit.Config) { c.ReadFunctions = []string{"touch"} }),
		"Config.WriteFunctions":         f.functions("total", false, func(c *readsplit.Config) { c.WriteFunctions = []string{"total"} }),
		"Config.Default":                f.preference,
		"Config.MaxLag":                 f.maxLag,
		"Config.SampleEvery":            f.sampleEvery,
		"Config.IdleSampleEvery":        f.idleSampleEvery,
		"Config.MaxSampleAge":           f.maxSampleAge,
		"Config.SampleTimeout":          testSampleTimeout,
		"Config.MaxWait":                f.maxWait,
		"Config.StickyWindow":           f.stickyWindow,
		"Config.PrimaryLost":            testPrimaryLost,
		"Config.Balancer":               f.balancer,
		"Config.Policies":               f.policies,
		"Config.Zone":                   f.zone,
		"Config.Spill":                  f.spill,
		"Config.Pool":                   f.poolMaxOpen(func(c *readsplit.Config, p readsplit.Pool) { c.Pool = p }),
		"Config.Retry":                  f.retry,
		"Config.Health":                 f.health,
		"Config.Traffic":                f.traffic,
		"Config.Guarantee":              f.guarantee,
		"Config.TokenLifetime":          f.tokenLifetime,
		"Config.AttemptTimeout":         f.attemptTimeout,
		"Config.ConflictGroup":          testConflictGroup,
		"Config.Groups":                 f.described,
		"Replica.Reserved":              f.reserved,
		"Replica.Logical":               f.logical,
		"Config.TokenKeys":              f.tokenKeys,
		"Config.Service":                f.service,
		"Config.GuardErrors":            f.guardErrors,
		"Config.Observers":              f.observers,
		"Config.LogServers":             f.logServers,
		"Config.ForbidNudge":            f.forbidNudge,
		"Config.SQLServer":              testSQLServerField,
		"Config.ForbidServerWait":       TestServerWaitsForOwnWrites, // waits, and polls where that is forbidden
		"Replica.Name":                  f.name,
		"Replica.Dialector":             f.dialector,
		"Replica.Zone":                  f.replicaZone,
		"Replica.Weight":                f.weight,
		"Replica.Groups":                f.groups,
		"Replica.AllowPrimaryAsReplica": f.allowPrimary,
		"Replica.Balanced":              f.balanced,
		"Replica.StatedLag":             f.statedLag,
		"Replica.Pool":                  f.poolMaxOpen(func(c *readsplit.Config, p readsplit.Pool) { c.Replicas[0].Pool = p }),
		"Pool.MaxOpen":                  f.poolMaxOpen(func(c *readsplit.Config, p readsplit.Pool) { c.Pool.MaxOpen = p.MaxOpen }),
		"Pool.MaxIdle":                  f.poolMaxIdle,
		"Pool.MaxLifetime":              f.poolMaxLifetime,
		"Pool.MaxIdleTime":              f.poolMaxIdleTime,
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[readsplit.Config](), reflect.TypeFor[readsplit.Replica](), reflect.TypeFor[readsplit.Pool]()} {
		for i := range typ.NumField() {
			name := typ.Name() + "." + typ.Field(i).Name
			test := tests[name]
			delete(tests, name)
			if assert.NotNil(t, test, "%s has no test: what has no effect does not exist", name) {
				t.Run(name, test)
			}
		}
	}
	assert.Empty(t, tests, "fields that do not exist")
}

// nobody is a context whose session has written nothing.
func nobody() context.Context {
	return readsplit.WithSession(context.Background(), readsplit.NewSession())
}

// servers returns who serves n reads, by name.
func servers(t testing.TB, d *testDB, ctx context.Context, n int) map[string]int {
	t.Helper()
	by := map[string]int{}
	for range n {
		by[served(t, d.WithContext(ctx))]++
	}
	return by
}

// lagging makes the replicas apply every commit d after it was made, while somebody
// else goes on writing.
func lagging(t testing.TB, c *testenv.Cluster, d time.Duration) (undo func()) {
	t.Helper()
	var undos []testenv.Undo
	for _, r := range c.Replicas() {
		undos = append(undos, injected(t)(r.Delay(t.Context(), d)))
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				_, err := c.Primary().DB().ExecContext(context.Background(), "SELECT pg_logical_emit_message(true, 'other', '')")
				assert.NoError(t, err)
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		for _, u := range undos {
			undone(t, u)
		}
	}
}

func (f fieldTest) replicas(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Replicas = nil })
	assert.NotContains(t, servers(t, base, nobody(), 20), "primary")
	assert.Equal(t, map[string]int{"primary": 20}, servers(t, changed, nobody(), 20))
	tx := changed.Raw(whoSQL).Scan(new(string))
	decision, ok := readsplit.DecisionOf(tx)
	require.True(t, ok)
	assert.Equal(t, policy.ReasonNoReplicas, decision.Reason)
	assert.Empty(t, changed.plugin.Status().Replicas)
}

func (f fieldTest) preference(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Default = readsplit.PreferPrimary })
	assert.NotContains(t, servers(t, base, nobody(), 20), "primary")
	assert.Equal(t, map[string]int{"primary": 20}, servers(t, changed, nobody(), 20))
}

func (f fieldTest) maxLag(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.MaxLag = 100 * time.Millisecond })
	defer lagging(t, f.c, 900*time.Millisecond)()
	eventually(t, "a lag beyond 100 ms", func() bool { return servers(t, changed, nobody(), 20)["primary"] == 20 })
	eventually(t, "a lag within 2 s", func() bool { return servers(t, base, nobody(), 20)["primary"] == 0 })
}

func (f fieldTest) sampleEvery(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.SampleEvery = 900 * time.Millisecond })
	shortest := func(d *testDB) time.Duration {
		shortest, last := time.Hour, d.plugin.Status().Replicas[0].Sampled
		for n := 0; n < 3; <-time.After(time.Millisecond) {
			if now := d.plugin.Status().Replicas[0].Sampled; now != last {
				if n > 0 { // the first pause of all is any
					shortest = min(shortest, now.Sub(last))
				}
				last = now
				n++
			}
		}
		return shortest
	}
	eventually(t, "two samples in time", func() bool { return shortest(base) < 400*time.Millisecond })
	assert.Greater(t, shortest(changed), 800*time.Millisecond)
}

// An answer that takes longer than news may be old is old when it arrives.
func (f fieldTest) maxSampleAge(t *testing.T) {
	away, err := f.c.Replica(0).Away(0)
	require.NoError(t, err)
	t.Cleanup(away.Close)
	far := oneReplica(f.c.Replica(0), f.database, away.Port(), "", nil)
	base := newDB(t, f.c, inDatabase(f.database), far)
	changed := newDB(t, f.c, inDatabase(f.database), far, configured(func(c *readsplit.Config) { c.MaxSampleAge = 200 * time.Millisecond }))
	away.Set(120 * time.Millisecond)
	defer away.Set(0)
	eventually(t, "old news", func() bool {
		return served(t, changed.WithContext(nobody())) == "primary" && changed.plugin.Status().Reasons[policy.ReasonOldNews] > 0
	})
	assert.Equal(t, map[string]int{"replica1": 3}, servers(t, base, nobody(), 3))
	assert.Zero(t, base.plugin.Status().Reasons[policy.ReasonOldNews])
}

func testSampleTimeout(t *testing.T) {
	c := breakable(t)
	took := func(change func(*readsplit.Config)) time.Duration {
		d := newDB(t, c, configured(func(c *readsplit.Config) { c.Replicas = c.Replicas[:1] }), configured(change))
		replicasServe(t, d.WithContext(nobody()))
		began := time.Now() // before the freeze, which may be noticed before it is reported
		undo := injected(t)(c.Replica(0).Freeze(t.Context()))
		defer undone(t, undo)
		require.Equal(t, "primary", served(t, d.WithContext(readsplit.Stale(nobody()))))
		return time.Since(began)
	}
	quick := took(func(c *readsplit.Config) { c.SampleTimeout = 100 * time.Millisecond })
	slow := took(func(c *readsplit.Config) { c.SampleTimeout = 2 * time.Second })
	assert.Less(t, quick, slow)
	assert.Greater(t, slow, 2500*time.Millisecond, "two questions")
}

func (f fieldTest) maxWait(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.MaxWait = 10 * time.Second })
	off := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) { c.MaxWait = readsplit.Off }))
	for _, r := range f.c.Replicas() {
		defer undone(t, injected(t)(r.Delay(t.Context(), 150*time.Millisecond)))
	}
	read := func(d *testDB) (string, policy.Reason) {
		ctx := nobody()
		require.NoError(t, d.WithContext(ctx).Exec("UPDATE counters SET n = n + 1").Error)
		var name string
		tx := d.WithContext(ctx).Raw(whoSQL).Scan(&name)
		require.NoError(t, tx.Error)
		decision, _ := readsplit.DecisionOf(tx)
		return name, decision.Reason
	}
	name, _ := read(base)
	assert.Equal(t, "primary", name)
	name, reason := read(off)
	assert.Equal(t, "primary", name)
	assert.Contains(t, []policy.Reason{policy.ReasonBehindSession, policy.ReasonPositionPending}, reason)
	name, reason = read(changed)
	assert.NotEqual(t, "primary", name)
	assert.Equal(t, policy.ReasonWaited, reason)
}

func (f fieldTest) stickyWindow(t *testing.T) {
	base := newDB(t, f.c, inDatabase(f.database), configured(quick))
	changed := newDB(t, f.c, inDatabase(f.database), configured(quick), configured(func(c *readsplit.Config) { c.StickyWindow = time.Minute }))
	// Both judge the same token, which nobody can trust.
	s := readsplit.NewSession()
	ctx := readsplit.WithSession(t.Context(), s)
	s.Join("r1.nothing")
	joined := time.Now()
	for _, d := range []*testDB{base, changed} {
		require.Equal(t, "primary", served(t, d.WithContext(ctx)))
	}
	eventually(t, "the window to end", func() bool { return served(t, base.WithContext(ctx)) != "primary" })
	assert.GreaterOrEqual(t, time.Since(joined), time.Second)
	assert.Equal(t, map[string]int{"primary": 20}, servers(t, changed, ctx, 20))
}

func testPrimaryLost(t *testing.T) {
	c := breakable(t)
	// Lag is known no more, and the replicas are known all the same.
	soon := configured(func(c *readsplit.Config) { c.SampleEvery, c.MaxLag = 50*time.Millisecond, 500*time.Millisecond })
	base := newDB(t, c, soon)
	changed := newDB(t, c, inDatabase(base.name), soon, configured(func(c *readsplit.Config) { c.PrimaryLost = readsplit.Refuse }))
	undo := injected(t)(c.Primary().Stop(t.Context()))
	defer undone(t, undo)
	// Until it is known to be lost, reads that no replica is right for fail as it does.
	read := func(d *testDB) error { return d.WithContext(nobody()).Raw(whoSQL).Scan(new(string)).Error }
	eventually(t, "the refusal", func() bool { return errors.Is(read(changed), readsplit.ErrPrimaryLost) && read(base) == nil })
	require.ErrorIs(t, read(changed), readsplit.ErrPrimaryLost)
	assert.NotContains(t, servers(t, base, nobody(), 20), "primary")
}

// always picks the candidate of one name.
type always string

func (a always) Name() string { return "always" }

func (a always) Pick(_ *policy.Query, c []policy.Candidate) int {
	for i := range c {
		if c[i].Replica.Name == string(a) {
			return i
		}
	}
	return 0
}

func (f fieldTest) balancer(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Balancer = always("replica2") })
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica2": 40}, servers(t, changed, nobody(), 40))
}

func (f fieldTest) policies(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		c.Policies = []policy.Policy{policy.Func("not replica2", func(_ *policy.Query, _ *policy.Snapshot, r *policy.Replica, _ time.Time) policy.Reason {
			if r.Name == "replica2" {
				return policy.ReasonObjected
			}
			return policy.ReasonNone
		})}
	})
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica1": 40}, servers(t, changed, nobody(), 40))
}

func (f fieldTest) retry(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.Retry = retry.Backoff{Attempts: -1} })
	const long = "SELECT count(*) FROM generate_series(1, 3000) a, generate_series(1, 3000) b"
	terminated := func(d *testDB) error {
		done := make(chan error, 1)
		go func() { done <- d.WithContext(nobody()).Raw(long).Scan(new(int)).Error }()
		eventually(t, "the read to be ended", func() bool {
			ended := 0
			for _, r := range f.c.Replicas() {
				ended += ask[int](t, r, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE state = 'active' AND query = $1", long)
			}
			return ended > 0
		})
		return <-done
	}
	require.NoError(t, terminated(base))
	require.ErrorContains(t, terminated(changed), "57P01")
}

func (f fieldTest) tokenKeys(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.TokenKeys = [][]byte{[]byte("0123456789abcdef")} })
	ctx := nobody()
	require.NoError(t, base.WithContext(ctx).Exec("UPDATE counters SET n = n + 1").Error)
	require.NoError(t, f.c.WaitCaughtUp(t.Context()))
	// Both have the session; the first key that there is signs.
	signed := tokenOf(t, ctx)
	_, err := readsplit.Config{}.ParseToken(signed)
	_, withKey := readsplit.Config{TokenKeys: [][]byte{[]byte("0123456789abcdef")}}.ParseToken(signed)
	require.True(t, (err == nil) != (withKey == nil))
	if withKey == nil {
		base, changed = changed, base
	}
	ctx = elsewhere(t, signed)
	eventually(t, "the token to count", func() bool { return served(t, base.WithContext(ctx)) != "primary" })
	assert.Equal(t, map[string]int{"primary": 10}, servers(t, changed, ctx, 10))
	assert.EqualValues(t, 1, changed.plugin.Status().Tokens.Refused)
}

func (f fieldTest) guardErrors(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) { c.GuardErrors = true })
	write := func(d *testDB) error {
		return d.WithContext(readsplit.ReadOnly(t.Context())).Exec("UPDATE counters SET n = 0").Error
	}
	require.Panics(t, func() { _ = write(base) })
	var refused *readonlyguard.Error
	require.ErrorAs(t, write(changed), &refused)
}

func (f fieldTest) forbidNudge(t *testing.T) {
	d := newDB(t, f.c, inDatabase(f.database), configured(quick), configured(func(c *readsplit.Config) { c.ForbidNudge = true }))
	d.eligible(t, "replica1", "replica2")
	ctx := nobody()
	insert := func() string { return ask[string](t, f.c.Primary(), "SELECT pg_current_wal_insert_lsn()::text") }
	var end func()
	var position string
	eventually(t, "the bound to break, and nothing to be written", func() bool {
		// Whatever the server itself writes meanwhile (running transactions, every 15 s)
		// finishes the record: again then.
		if end != nil {
			end()
			d.eligible(t, "replica1", "replica2")
		}
		end = unfinished(t, f.c, f.database)
		position = insert()
		for began := time.Now(); served(t, d.WithContext(nobody())) != "primary"; {
			if time.Since(began) > 3*time.Second {
				return false
			}
		}
		by := servers(t, d, ctx, 50)
		decision, ok := readsplit.DecisionOf(d.WithContext(ctx).Raw(whoSQL).Scan(new(string)))
		require.True(t, ok)
		if insert() != position {
			return false
		}
		assert.Equal(t, map[string]int{"primary": 50}, by)
		assert.Equal(t, policy.ReasonLagging, decision.Reason)
		return true
	})
	// With a nudge, the same state throws nobody out.
	base := newDB(t, f.c, inDatabase(f.database), configured(quick))
	eventually(t, "the nudge", func() bool { return served(t, base.WithContext(ctx)) != "primary" })
	assert.NotEqual(t, position, insert())
	end()
	// Whoever comes next finds a primary whose log ends with a whole record.
	require.NoError(t, base.Exec("UPDATE counters SET n = n").Error)
	require.NoError(t, f.c.WaitCaughtUp(t.Context()))
}

func (f fieldTest) name(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		c.Replicas[0].Dialector = postgres.Open(f.c.Replica(0).DSNFor(f.database))
		c.Replicas[0].Name = "north"
	})
	for d, name := range map[*testDB]string{base: "replica1", changed: "north"} {
		eventually(t, "a read on it", func() bool {
			var server string
			decision, ok := readsplit.DecisionOf(d.WithContext(nobody()).Raw(whoSQL).Scan(&server))
			return ok && server == "replica1" && decision.Server == name
		})
		assert.Equal(t, name, d.plugin.Status().Replicas[0].Name)
	}
}

func (f fieldTest) dialector(t *testing.T) {
	base, changed := f.both(t, func(c *readsplit.Config) {
		c.Replicas[0].Dialector = postgres.Open(f.c.Replica(1).DSNFor(f.database))
	})
	eventually(t, "both to serve", func() bool { return len(servers(t, base, nobody(), 40)) == 2 })
	assert.Equal(t, map[string]int{"replica2": 40}, servers(t, changed, nobody(), 40))
}
