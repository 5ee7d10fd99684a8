package workload_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of the test's own connections
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
	"github.com/readsplit/readsplit/verify/workload"
)

// link collects what a process records, and delivers its tokens to itself.
type link struct {
	mu      sync.Mutex
	events  []history.Event
	ways    map[string]int
	process *workload.Process
}

func (l *link) Record(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if e.Result == history.OK {
		l.ways[e.Way]++
	}
}

func (l *link) Pass(m workload.Message) { l.process.Deliver(m) }

// everything are the ways that a run must have used.
var everything = []string{
	"update", "exec", "returning", "clause_returning", "open_rows", "upsert", "save", "create", "hook", "in_hook", "place",
	"transaction", "in_transaction", "post", "begin", "nested", "async", "token", "join",
	"take", "find", "list", "preload", "slow_preload", "raw", "rows", "generics", "batches", "pluck", "slow", "read_place", "repeatable_read",
	"read_committed", "beside",
}

// A process without faults uses every way, and its history is right and says so.
func TestEveryWay(t *testing.T) {
	cluster := testenv.Start(t)
	require.NoError(t, cluster.CreateDatabase(t.Context(), "verified"))
	db, err := sql.Open("pgx", cluster.Primary().DSNFor("verified"))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, workload.Create(t.Context(), db))
	require.NoError(t, cluster.WaitCaughtUp(t.Context()))

	l := &link{ways: map[string]int{}}
	cfg := workload.Config{
		Process: 1, Processes: 1, Seed: 1, Plugin: "readsplit", Primary: cluster.Primary().DSNFor("verified"),
		Clients: 6, MaxLag: time.Second, TokenKey: "sixteen bytes or more",
	}
	for _, r := range cluster.Replicas() {
		cfg.Replicas = append(cfg.Replicas, workload.Server{Name: r.Name(), DSN: r.DSNFor("verified")})
	}
	p, err := workload.NewProcess(cfg, l)
	require.NoError(t, err)
	l.process = p

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	assert.Eventually(t, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, way := range everything {
			if l.ways[way] == 0 {
				return false
			}
		}
		return len(l.events) > 2000
	}, 30*time.Second, 10*time.Millisecond, "every way is used")
	for _, op := range []workload.Operation{
		{What: workload.Drain, Name: "replica1", Wait: time.Millisecond}, {What: workload.Resume, Name: "replica1"},
		{What: workload.Remove, Name: "replica2", Wait: time.Millisecond}, {What: workload.Add, Name: "replica2"}, {What: workload.Swap},
		{What: workload.Traffic, Traffic: policy.Traffic{KillSwitch: true}}, {What: workload.Traffic},
	} {
		assert.NoError(t, p.Operate(t.Context(), op), "%v", op)
	}
	assert.ErrorContains(t, p.Operate(t.Context(), workload.Operation{What: "paint"}), `"paint" is not known`)
	cancel()
	require.NoError(t, <-ended)
	for _, way := range everything {
		assert.Positive(t, l.ways[way], way)
	}

	final, err := workload.Final(t.Context(), db)
	require.NoError(t, err)
	report := check.Judge(&history.History{
		Header: history.Header{Primary: cluster.Primary().Name(), MaxLag: cfg.MaxLag},
		Events: append(l.events, final...),
	})
	assert.Empty(t, report.Violations)
	assert.Positive(t, report.OwnOnReplica)
	assert.Zero(t, report.Unknown)
}

func TestUnknownNames(t *testing.T) {
	_, err := workload.NewProcess(workload.Config{Plugin: "readsplit", Ways: []string{"teleport"}}, &link{})
	require.ErrorContains(t, err, "teleport")
	_, err = workload.NewProcess(workload.Config{Plugin: "other", Primary: "host=127.0.0.1 port=1"}, &link{})
	require.ErrorContains(t, err, `plugin "other" is not known`)
}
