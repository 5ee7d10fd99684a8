package readsplit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/session"
)

// used returns what db.Use says of a configuration.
func used(t testing.TB, cfg readsplit.Config) error {
	t.Helper()
	db, err := gorm.Open(postgres.Open(cluster(t).Primary().DSN()), &gorm.Config{Logger: &logRecorder{}})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	p := readsplit.New(cfg)
	err = db.Use(p)
	if err == nil {
		require.NoError(t, p.Close(context.Background()))
	} else {
		// Nothing is left behind: the handle works as if nothing had been tried.
		assert.Equal(t, "primary", served(t, db))
	}
	return err
}

// Every problem is reported at once, with the field, the value and the remedy.
func TestConfigReportsEveryProblem(t *testing.T) {
	var nothing *postgres.Dialector
	good := postgres.Open("host=127.0.0.1")
	err := used(t, readsplit.Config{
		Replicas: []readsplit.Replica{
			{Dialector: good},
			{Name: "a", Dialector: good},
			{Name: "a", Dialector: good, Weight: -3},
			{Name: "primary", Dialector: good},
			{Name: "b"},
			{Name: "c", Dialector: nothing},
			{Name: "d", Dialector: good, Groups: []string{"reports", ""}},
			{Name: "e", Dialector: postgres.Open("host=127.0.0.1 port=many password=hunter2")},
			{Name: "f", Dialector: postgres.Open("postgres://user:hunter2@127.0.0.1:port/db")},
			{Name: "g", Dialector: good, Pool: readsplit.Pool{MaxOpen: -1, MaxIdle: -2}},
			{Name: "h", Dialector: good, Weight: policy.MaxWeight + 1},
			{Name: "i", Dialector: good, StatedLag: -1},
			{Name: "j", Dialector: good, StatedLag: time.Hour},
		},
		Default:       7,
		MaxLag:        -2,
		SampleEvery:   time.Minute,
		MaxSampleAge:  time.Second,
		SampleTimeout: -time.Second,

		IdleSampleEvery: time.Second,
		MaxWait:         -5 * time.Millisecond,
		StickyWindow:    time.Millisecond,
		PrimaryLost:     9,
		Guarantee:       3,
		Policies:        []policy.Policy{policy.CaughtUp(), nil},
		NotFound:        7,
		Spill:           policy.Spill{InFlight: -2, Latency: -2, Lag: -time.Second},
		PrimaryPool:     readsplit.Pool{MaxOpen: -4},
		Resolvers:       []readsplit.Resolver{{}, {Name: "x", Replicas: []readsplit.Replica{{}}}},
		Pool:            readsplit.Pool{MaxLifetime: -1, MaxIdleTime: -time.Hour},
		Retry:           retry.Backoff{Attempts: -7},
		PrimaryBudget:   overload.Budget{Reads: -4, Beyond: overload.Fail, MaxWait: time.Second},
		Instances:       -1,
		AttemptTimeout:  -time.Second,
		ConflictGroup:   "report",
		TokenKeys:       [][]byte{[]byte("hunter2")},
	})
	require.Error(t, err)
	for _, want := range []string{
		"Config.Replicas[0].Name is empty",
		`Config.Replicas[2].Name is "a"`,
		"Config.Replicas[2].Weight is -3",
		`Config.Replicas[3].Name is "primary"`,
		"Config.Replicas[4].Dialector is nil",
		"Config.Replicas[5].Dialector is nil",
		"Config.Replicas[6].Groups[1] is empty",
		`Config.Replicas[7].Dialector ("e")`,
		`Config.Replicas[8].Dialector ("f")`,
		"Config.Replicas[9].Pool.MaxOpen is -1",
		"Config.Replicas[9].Pool.MaxIdle is -2",
		"Config.Replicas[10].Weight is 1048577: it must be 1048576 or less",
		"Config.Replicas[11].StatedLag is -1ns: it must be positive",
		"Config.Replicas[12].StatedLag is 1h0m0s and Config.StickyWindow is 1ms, shorter than StatedLag + MaxSampleAge, 1h0m1s",
		"Config.Spill: readsplit: Spill.InFlight is -2", "Spill.Latency is -2ns", "Spill.Lag is -1s",
		"Config.Default is 7",
		"Config.MaxLag is -2ns",
		"Config.SampleTimeout is -1s",
		"Config.MaxWait is -5ms",
		"Config.MaxSampleAge is 1s, shorter than Config.SampleEvery, 1m0s",
		"Config.IdleSampleEvery is 1s, shorter than Config.SampleEvery, 1m0s",
		"Config.PrimaryLost is 9",
		"Config.Guarantee is 3: it must be session.ReadYourWrites, session.MonotonicReads or session.Causal",
		"Config.Policies[1] is nil",
		"Config.NotFound is 7",
		"Config.PrimaryPool.MaxOpen is -4",
		"Config.Resolvers[0] has neither a Name nor Tables",
		"Config.Resolvers[1].Replicas[0].Name is empty",
		"Config.Resolvers[1].Replicas[0].Dialector is nil",
		"Config.Pool.MaxLifetime is -1ns",
		"Config.Pool.MaxIdleTime is -1h0m0s",
		"Config.Retry: readsplit: Backoff.Attempts is -7",
		"Config.PrimaryBudget: readsplit: Budget.Reads is -4", "Budget.MaxWait is 1s, and Beyond is overload.Fail",
		"Config.Instances is -1",
		"Config.AttemptTimeout is -1s",
		`Config.ConflictGroup is "report": no replica is in this group; add it to the Groups of the replicas meant for reports, or name one of ["reports"]`,
		"Config.TokenKeys: readsplit: token keys: key 1 has 7 bytes",
	} {
		assert.ErrorContains(t, err, want)
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		assert.True(t, strings.HasPrefix(line, "readsplit: "), line)
	}
	assert.Len(t, strings.Split(err.Error(), "\n"), 40, "each once")
	assert.NotContains(t, err.Error(), "hunter2")
	assert.NotContains(t, err.Error(), "postgres://")
	assert.NotContains(t, err.Error(), "port=many")
}

// The sticky window is what protects where there is no position: it must outlast
// the staleness that is allowed. Where only the staleness is set, it follows.
func TestConfigStickyWindow(t *testing.T) {
	err := used(t, readsplit.Config{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, StickyWindow: 2900 * time.Millisecond})
	assert.ErrorContains(t, err, "Config.StickyWindow is 2.9s, shorter than MaxLag + MaxSampleAge, 3s")
	assert.NoError(t, used(t, readsplit.Config{MaxLag: 2 * time.Second, MaxSampleAge: time.Second, StickyWindow: 3 * time.Second}))
	assert.NoError(t, used(t, readsplit.Config{MaxLag: time.Minute}))
	assert.NoError(t, used(t, readsplit.Config{MaxLag: readsplit.Off, StickyWindow: time.Millisecond}))
	assert.NoError(t, used(t, readsplit.Config{}))
}

// A token must count for as long as it can be needed. Where only the bounds are set,
// it follows.
func TestConfigTokenLifetime(t *testing.T) {
	least := session.Lifetime(2*time.Second, time.Second, 5*time.Second)
	err := used(t, readsplit.Config{TokenLifetime: least - 1})
	assert.ErrorContains(t, err, "Config.TokenLifetime is 5m5.999999999s, shorter than 5m6s")
	assert.NoError(t, used(t, readsplit.Config{TokenLifetime: least}))
	assert.NoError(t, used(t, readsplit.Config{TokenLifetime: session.MaxTokenLifetime}))
	err = used(t, readsplit.Config{TokenLifetime: session.MaxTokenLifetime + 1})
	assert.ErrorContains(t, err, "at most 720h0m0s")
	assert.ErrorContains(t, used(t, readsplit.Config{TokenLifetime: readsplit.Off}), "Config.TokenLifetime is -1ns")
	err = used(t, readsplit.Config{MaxLag: readsplit.Off, TokenLifetime: time.Hour})
	assert.ErrorContains(t, err, "Config.TokenLifetime is 1h0m0s, shorter than 720h0m0s")
	assert.NoError(t, used(t, readsplit.Config{MaxLag: time.Hour}))
	assert.NoError(t, used(t, readsplit.Config{MaxLag: 40 * 24 * time.Hour}))
}

func TestConfigOtherDialect(t *testing.T) {
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{})
	require.NoError(t, err)
	err = db.Use(readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{{Name: "a", Dialector: tests.DummyDialector{}}}}))
	require.ErrorContains(t, err, `"dummy"`)
}

// A group that no replica is in is an error of the statement, which names those
// that there are.
func TestConfigUnknownGroup(t *testing.T) {
	d := newDB(t, cluster(t), configured(func(c *readsplit.Config) { c.Replicas[0].Groups = []string{"reports", "exports"} }))
	ctx := readsplit.Group(t.Context(), "report")
	err := d.WithContext(ctx).Raw(whoSQL).Scan(new(string)).Error
	require.ErrorIs(t, err, readsplit.ErrUnknownGroup)
	assert.ErrorContains(t, err, `"report": the groups are exports, reports`)
	// A write has no use for a group.
	require.NoError(t, d.WithContext(ctx).Exec("CREATE TABLE t (id int)").Error)
	require.ErrorIs(t, d.WithContext(readsplit.Fresh(ctx)).Raw(whoSQL).Scan(new(string)).Error, readsplit.ErrUnknownGroup, "a mistake shows wherever the read goes")
}
