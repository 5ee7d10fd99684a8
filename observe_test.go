package readsplit_test

import (
	"bytes"
	"fmt"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// captureCount counts questions to the primary.
type captureCount struct {
	mu   sync.Mutex
	n    int
	took time.Duration
}

func (c *captureCount) ObserveCapture(e observe.Capture) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.took = c.n+1, c.took+e.Took
}

func TestObserversAreTold(t *testing.T) {
	ring, captures := observe.NewRing(100), &captureCount{}
	d := newDB(t, cluster(t), saidToRead("count_up"), configured(boundless), configured(func(c *readsplit.Config) {
		c.Observers, c.MaxWait = []any{ring, captures}, 30*time.Second // a replica is always worth waiting for
	}))
	counters(t, d, 4)
	require.NoError(t, d.Exec("CREATE SEQUENCE ups").Error)
	require.NoError(t, d.Exec("CREATE FUNCTION count_up() RETURNS bigint LANGUAGE sql AS $$ SELECT nextval('ups') $$").Error)
	known(t, d.plugin)
	d.eligible(t, "replica1", "replica2")
	newest := func() observe.Decision {
		t.Helper()
		all := ring.Decisions()
		require.NotEmpty(t, all)
		got := all[0]
		assert.WithinDuration(t, time.Now(), got.At, time.Minute)
		got.At, got.Waited = time.Time{}, 0
		return got
	}
	user := readsplit.WithSession(t.Context(), readsplit.NewSession())

	require.NoError(t, d.WithContext(user).Exec("UPDATE counters SET n = n + 1").Error)
	assert.Equal(t, observe.Decision{Server: "primary", Reason: policy.ReasonWrite, Attempts: 1}, newest())

	tx := d.WithContext(user).Raw("SELECT sum(n) FROM counters").Scan(new(int))
	require.NoError(t, tx.Error)
	said, _ := readsplit.DecisionOf(tx)
	assert.Equal(t, observe.Decision{Server: said.Server, Replica: said.Replica, Reason: said.Reason, Read: true, Attempts: 1}, newest())

	require.NoError(t, d.WithContext(readsplit.Fresh(user)).Raw("SELECT sum(n) FROM counters").Scan(new(int)).Error)
	assert.Equal(t, observe.Decision{Server: "primary", Reason: policy.ReasonFresh, Read: true, Attempts: 1}, newest())

	// A replica refuses it, and the primary runs it.
	require.NoError(t, d.WithContext(user).Raw("SELECT count_up()").Scan(new(int)).Error)
	assert.Equal(t, observe.Decision{Server: "primary", Reason: policy.ReasonRefusedByReplica, Read: true, Attempts: 2}, newest())
	retries := ring.Retries()
	require.Len(t, retries, 1)
	assert.Equal(t, retry.CauseReadOnlyRefusal, retries[0].Cause)
	assert.Contains(t, []string{"replica1", "replica2"}, retries[0].Server)
	assert.ErrorContains(t, retries[0].Err, "25006")

	require.NoError(t, d.plugin.Drain(t.Context(), "replica1"))
	changes := ring.Changes()
	require.NotEmpty(t, changes)
	assert.Equal(t, "replica1", changes[0].Server)
	assert.Equal(t, "drained", changes[0].State)

	captures.mu.Lock()
	defer captures.mu.Unlock()
	assert.Positive(t, captures.n)
	assert.Positive(t, captures.took)
	assert.LessOrEqual(t, uint64(captures.n), d.plugin.Status().Captures)
}

// observers is the test of the field.
func (f fieldTest) observers(t *testing.T) {
	ring := observe.NewRing(1)
	base, changed := f.both(t, func(c *readsplit.Config) { c.Observers = []any{ring} })
	served(t, base.WithContext(nobody()))
	require.Empty(t, ring.Decisions())
	who := served(t, changed.WithContext(nobody()))
	require.Equal(t, who, ring.Decisions()[0].Server)
	require.ErrorContains(t, used(t, readsplit.Config{Observers: []any{ring, 7}}), "Config.Observers[1] is a int: an observer implements at least one of")
}

// logServers is the test of the field.
func (f fieldTest) logServers(t *testing.T) {
	open := func(with bool) (*testDB, func() string) {
		var b bytes.Buffer
		lines := logger.New(log.New(&b, "", 0), logger.Config{LogLevel: logger.Info})
		d := newDB(t, f.c, inDatabase(f.database), configured(func(c *readsplit.Config) { c.LogServers = with }))
		return &testDB{DB: d.Session(&gorm.Session{Logger: lines})}, func() string { defer b.Reset(); return b.String() }
	}
	base, text := open(false)
	served(t, base.WithContext(nobody()))
	require.NotContains(t, text(), "/*")

	changed, text := open(true)
	who := served(t, changed.WithContext(nobody()))
	require.Contains(t, text(), fmt.Sprintf(" /* %s, ", who))
	require.NoError(t, changed.WithContext(nobody()).Exec("UPDATE counters SET n = n WHERE id = ?", 1).Error)
	require.Contains(t, text(), "WHERE id = 1 /* primary, write */")
	require.NoError(t, changed.WithContext(nobody()).Table("counters").Where("id = ?", 2).Update("n", gorm.Expr("n")).Error)
	require.Contains(t, text(), " /* primary, write */")
	require.NoError(t, changed.WithContext(nobody()).Transaction(func(tx *gorm.DB) error {
		return tx.Table("counters").Where("id = 3").Find(&[]map[string]any{}).Error
	}))
	require.Contains(t, text(), " /* primary, in_transaction */")
	// The server got none of it.
	require.Zero(t, ask[int](t, f.c.Primary(), "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%/* primary%' AND pid <> pg_backend_pid()"))
	sql := changed.ToSQL(func(tx *gorm.DB) *gorm.DB { return tx.Table("counters").Find(&[]map[string]any{}) })
	require.NotContains(t, sql, "/*")
}
