package otel

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/status"
)

// only is the state whose series of a server is 1, where all others are 0.
func (m emitted) only(t *testing.T, server string) (state string) {
	t.Helper()
	all := map[string]float64{}
	for _, s := range states {
		all[s] = m.sum("readsplit.server.state", "readsplit.server.name="+server, "readsplit.server.state="+s)
		if all[s] == 1 {
			state = s
		}
	}
	want := map[string]float64{}
	for _, s := range states {
		want[s] = 0
	}
	if state != "" {
		want[state] = 1
	}
	assert.Equal(t, want, all, "one state of %s, and no other", server)
	return state
}

// TestServers follows a server through faults: its state is the one of the status
// page, and what is not known any more is not emitted.
func TestServers(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) {
		// Nobody reads here, and a process that rests hears late who is back.
		cfg.SampleTimeout, cfg.IdleSampleEvery = 500*time.Millisecond, 200*time.Millisecond
	})
	page, err := status.New(x.plugin, status.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, page.Close()) })
	onPage := func() map[string]string {
		w := httptest.NewRecorder()
		page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/readsplit/status.json", nil))
		var r status.Report
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &r), w.Body.String())
		all := map[string]string{}
		for _, s := range r.Routers[0].Servers {
			all[s.Name] = strings.ReplaceAll(s.State, " ", "_")
		}
		return all
	}
	become := func(want map[string]string) emitted {
		t.Helper()
		var m emitted
		eventually(t, "the states to be "+string(must(json.Marshal(want))), func() bool {
			m = x.collect(t)
			got := map[string]string{}
			for server := range want {
				got[server] = m.only(t, server)
			}
			return maps.Equal(want, got) && maps.Equal(want, onPage())
		})
		return m
	}
	const lag, age = "readsplit.replica.lag{readsplit.server.name=replica1}", "readsplit.server.sample.age{readsplit.server.name=replica1,readsplit.server.role=replica}"
	const up = "readsplit.server.up{readsplit.server.name=replica1,readsplit.server.role=replica}"
	m := become(map[string]string{"primary": "up", "replica1": "up", "replica2": "up"})
	assert.InDelta(t, 1, m[up], 0)
	assert.Contains(t, m, lag)
	assert.Contains(t, m, age)

	paused, err := x.c.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	require.NoError(t, x.Exec("INSERT INTO orders (customer) SELECT repeat('a', 100) FROM generate_series(1, 1000)").Error)
	become(map[string]string{"primary": "up", "replica1": "paused", "replica2": "up"})
	eventually(t, "the lag of 2 s and what was written", func() bool {
		m = x.collect(t)
		return m[lag] > 2 && m["readsplit.replica.behind{readsplit.server.name=replica1}"] > 100_000
	})
	assert.InDelta(t, m[lag], x.plugin.Status().Replicas[0].Lag.Seconds(), 10)
	require.NoError(t, paused())

	require.NoError(t, x.plugin.Drain(limit(t), "replica2"))
	become(map[string]string{"primary": "up", "replica1": "up", "replica2": "drained"})
	require.NoError(t, x.plugin.Resume("replica2"))

	killed, err := x.c.Replica(0).Kill(limit(t))
	require.NoError(t, err)
	m = become(map[string]string{"primary": "up", "replica1": "down", "replica2": "up"})
	assert.InDelta(t, 0, m[up], 0)
	require.NoError(t, killed())

	// The primary, as a replica: what is configured wrongly has a state too.
	wrong := readsplit.Replica{Name: "wrong", Dialector: postgres.Open(x.c.Primary().DSNFor(x.database))}
	require.NoError(t, x.plugin.AddReplica("", wrong))
	nobody := readsplit.Replica{Name: "nobody", Dialector: postgres.Open("host=127.0.0.1 port=1 user=nobody password=swordfish dbname=none")}
	require.NoError(t, x.plugin.AddReplica("", nobody))
	m = become(map[string]string{"primary": "up", "replica1": "up", "replica2": "up", "wrong": "writable", "nobody": "unknown"})
	for _, unknown := range []string{"readsplit.replica.lag", "readsplit.replica.behind", "readsplit.replica.catch_up", "readsplit.server.sample.age"} {
		assert.NotContains(t, m.of(unknown), "readsplit.server.name=nobody", "no 0 that looks like an answer")
	}
	assert.NotContains(t, m.of("readsplit.server.sample.age"), "readsplit.server.name=nobody,readsplit.server.role=replica")
	require.NoError(t, x.plugin.RemoveReplica(limit(t), "wrong"))
	require.NoError(t, x.plugin.RemoveReplica(limit(t), "nobody"))
	become(map[string]string{"primary": "up", "replica1": "up", "replica2": "up"})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRetries: a read that fails on a replica is counted there, with its cause.
func TestRetries(t *testing.T) {
	x := newApp(t, Options{}, func(cfg *readsplit.Config) { cfg.Replicas = cfg.Replicas[:1] })
	_, err := x.c.Replica(0).PauseReplay(limit(t))
	require.NoError(t, err)
	require.NoError(t, x.Exec("CREATE TABLE late (id bigint)").Error)
	for range 2 {
		ctx := readsplit.AnyReplica(context.Background())
		require.NoError(t, x.WithContext(ctx).Raw("SELECT count(*) FROM late").Scan(new(int)).Error)
	}
	m := x.collect(t)
	assert.Equal(t, map[string]float64{"readsplit.retry.cause=schema_behind,readsplit.server.name=replica1": 2}, m.of("readsplit.retries"))
	assert.InDelta(t, 2, m["readsplit.statements{readsplit.operation=read,readsplit.reason=schema_behind,readsplit.server.name=primary,readsplit.server.role=primary}"], 0)
}

// TestRemovedReplica: the series of a replica that was removed end.
func TestRemovedReplica(t *testing.T) {
	x := newApp(t, Options{}, nil)
	eventually(t, "reads of both", func() bool {
		orders(t, x.user())
		m := x.collect(t)
		return m.sum("readsplit.statements", "readsplit.server.name=replica1") > 0 && m.sum("readsplit.statements", "readsplit.server.name=replica2") > 0
	})
	require.NoError(t, x.plugin.RemoveReplica(limit(t), "replica2"))
	m := x.collect(t)
	assert.Positive(t, m.sum("readsplit.statements", "readsplit.server.name=replica2"), "what was counted last is not lost to whoever collects later")
	x.watch.now = func() time.Time { return time.Now().Add(kept + time.Minute) }
	m = x.collect(t)
	for k := range m {
		assert.NotContains(t, k, "replica2")
	}
	assert.Positive(t, m.sum("readsplit.statements", "readsplit.server.name=replica1"))
}
