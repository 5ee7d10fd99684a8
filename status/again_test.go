package status_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/status"
)

// A button is for the server of its card, and changes no number but its state: there is
// one look at the start, and none within the hour.
func TestOperatingBetweenTwoLooks(t *testing.T) {
	f := start(t, status.Options{Every: time.Hour, Keep: 10 * time.Hour, Authorize: func(*http.Request) bool { return true }})
	require.NoError(t, f.plugin.AddResolver(readsplit.Resolver{Name: "crm", Replicas: []readsplit.Replica{{Name: "replica1", Dialector: postgres.Open(f.c.Replica(1).DSN())}}}))
	post := func(what, name, value string) {
		code, text := f.post(t, what, "same-origin", url.Values{name: {value}})
		require.Equal(t, http.StatusNoContent, code, text)
	}
	drained := func() (names []string) {
		for _, r := range f.report(t).Routers {
			for _, s := range r.Servers {
				if s.State == "drained" {
					names = append(names, r.Name+"/"+s.Name)
				}
			}
		}
		return names
	}
	require.Eventually(t, func() bool {
		st := f.plugin.Status()
		return st.Replicas[0].Up && st.Resolvers[0].Replicas[0].Up
	}, 20*time.Second, 10*time.Millisecond)
	for range 3 {
		require.NoError(t, f.Raw("SELECT 1").Scan(new(int)).Error)
	}
	post("drain", "replica", "/replica1")
	assert.Equal(t, []string{"/replica1"}, drained())
	post("drain", "replica", "crm/replica1")
	post("resume", "replica", "/replica1")
	assert.Equal(t, []string{"crm/replica1"}, drained())
	post("traffic", "kill_switch", "true")

	var r struct {
		status.Report
		History []status.History
	}
	require.NoError(t, json.Unmarshal([]byte(f.get(t, "status.json?history").text), &r))
	assert.True(t, r.Again)
	assert.Equal(t, uint64(3), r.Routers[0].Reads.Replicas+r.Routers[0].Reads.Primary)
	assert.Zero(t, r.Routers[0].Reads.PerSecond)
	assert.Nil(t, r.Routers[0].Reads.ShareNow)
	require.NotEmpty(t, r.History)
	for _, h := range r.History {
		assert.Len(t, h.Reads, 1, h.Server)
	}
}
