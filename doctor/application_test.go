package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type applicationCase struct {
	name string
	// json is added to the healthy router, and connections to the report.
	json, connections string
	want              string
}

const healthyRouter = `"name": "", "reads": {"replicas": 9900, "primary": 100, "replica_share": 0.99, "replica_share_now": 0.975},
 "reasons": [{"reason": "within_lag", "count": 9900, "per_second": 5}, {"reason": "write", "count": 5000, "per_second": 1}, {"reason": "behind_session", "count": 100}],
 "servers": [{"name": "primary", "primary": true, "state": "up", "pool": {"max": 0, "waits": 0}}, {"name": "pg2", "state": "up", "pool": {"max": 64}}]`

func (c applicationCase) application() (a application) {
	text := `{"at": "2026-11-30T12:00:00Z", "routers": [{` + healthyRouter + c.json + `}], "connections": [` + c.connections + `]}`
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		panic(fmt.Sprint(c.name, ": ", err))
	}
	return a
}

var applicationCases = []applicationCase{
	{"healthy", "", "", ""},
	{"retries that are few", `, "retries": {"conflict": 90}`, `{"servers": ["primary"], "needed": 60, "available": 97}`, ""},
	{"just started", `, "reads": {"replicas": 5, "primary": 1}`, "", "notice app-no-reads: 6 reads since it started."},
	{"the process's own session", `, "reads": {"replicas": 100, "primary": 900, "replica_share_now": 0.05},
		"reasons": [{"reason": "write", "count": 5000}, {"reason": "behind_session", "count": 850}, {"reason": "within_lag", "count": 100}, {"reason": "fresh", "count": 50}]`, "",
		"warning app-process-session: Replicas served 10.0 % of 1000 reads (5.0 % now). The most frequent reason for the primary is behind_session: 850 statements."},
	{"replicas behind", `, "reads": {"replicas": 100, "primary": 900, "replica_share_now": null}, "reasons": [{"reason": "in_transaction", "count": 5000}, {"reason": "lagging", "count": 880}]`, "",
		"warning app-share-low: Replicas served 10.0 % of 1000 reads. The most frequent reason for the primary is lagging: 880 statements."},
	{"an incident of now", `, "mostly_primary": true, "reads": {"replicas": 9000, "primary": 1000, "replica_share_now": 0},
		"reasons": [{"reason": "behind_session", "count": 600}, {"reason": "lagging", "count": 400, "per_second": 57}]`, "",
		"warning app-share-low: Replicas served 90.0 % of 10000 reads (0.0 % now). The most frequent reason for the primary is lagging: 400 statements."},
	{"what replicas served, and nobody did, is no reason for the primary", `, "reads": {"replicas": 100, "primary": 900, "replica_share_now": null},
		"reasons": [{"reason": "lagging", "count": 80, "refused": true}, {"reason": "sticky_window", "count": 70, "replica": true}, {"reason": "down", "count": 60}]`, "",
		"warning app-share-low: Replicas served 10.0 % of 1000 reads. The most frequent reason for the primary is down: 60 statements."},
	{"no reason that is known", `, "reads": {"replicas": 100, "primary": 900, "replica_share_now": null}, "reasons": [{"reason": "of_a_newer_version", "count": 880}]`, "",
		"warning app-share-low: Replicas served 10.0 % of 1000 reads."},
	{"only a primary", `, "servers": [{"name": "primary", "primary": true, "state": "up"}], "reads": {"replicas": 0, "primary": 900}`, "", ""},
	{"servers", `, "name": "reports", "servers": [{"name": "primary", "primary": true, "state": "down", "advice": "Bring it back."},
		{"name": "pg2", "state": "behind", "advice": "Look for a long query."}, {"name": "pg3", "state": "writable", "advice": "It was promoted."}]`, "",
		"problem app-server reports/primary: The application calls it down.; problem app-server reports/pg3; warning app-server reports/pg2: The application calls it behind."},
	{"switches", `, "traffic": {"kill_switch": true, "percent": 5, "shadow": true}`, "", "warning app-traffic-set: Set: the kill switch, 5 % of the reads, shadow mode."},
	{"retries", `, "retries": {"conflict": 90, "connection": 20}`, "", "warning app-retries: 110 of 10000 reads were run again: conflict 90, connection 20."},
	{"conflicts", `, "keep_conflicting": 1`, "", "warning app-conflicts: 1 statement kept being cancelled by replay."},
	{"unsure", `, "unsure_writes": 3`, "", "notice app-unsure-writes: 3 writes with an outcome that nobody knows."},
	{"tokens", `, "tokens": {"refused": 7, "foreign": 0, "expired": 1}`, "", "warning app-tokens-refused: 8 tokens were not accepted: expired 1, refused 7."},
	{"budget", `, "budget": {"reads": 10, "in_use": 10, "waiting": 4, "refused": 2, "served_stale": 1}`, "",
		"warning app-budget: The budget of 10 reads on the primary was not enough: 2 refused, 1 served stale, 4 waiting now."},
	{"budget that is enough", `, "budget": {"reads": 10, "in_use": 1}`, "", ""},
	{"pool is full", `, "servers": [{"name": "pg2", "state": "up", "pool": {"max": 4, "in_use": 4, "waits": 12}}]`, "",
		"warning app-pool-waits pg2: Statements waited for a connection 12 times since the start; 4 of 4 are in use now."},
	{"pool was full", `, "servers": [{"name": "pg2", "state": "up", "pool": {"max": 4, "in_use": 1, "waits": 1}}]`, "", "notice app-pool-waits pg2"},
	{"connections", "", `{"servers": ["primary", "pg2"], "needed": 130, "available": 97}`, "problem app-connections primary, pg2: All instances may open 130 connections, and it takes 97."},
}

func TestJudgeApplication(t *testing.T) {
	for _, c := range applicationCases {
		t.Run(c.name, func(t *testing.T) { compare(t, c.want, judgeApplication(c.application())) })
	}
}

func TestStatusIsRead(t *testing.T) {
	release := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/readsplit/status.json", func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "ops" || password != "hidden" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"routers": [{` + healthyRouter + `}], "of_a_newer_version": {}}`))
	})
	mux.HandleFunc("/other/status.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) })
	mux.HandleFunc("/empty/status.json", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) })
	mux.HandleFunc("/silent/status.json", func(http.ResponseWriter, *http.Request) { <-release })
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		close(release)
		server.Close()
	})
	host := strings.TrimPrefix(server.URL, "http://")

	for _, c := range []struct {
		url, want string
		exit      int
	}{
		{"http://ops:hidden@" + host + "/debug/readsplit/", "", 0},
		{"http://ops:hidden@" + host + "/debug/readsplit/status.json", "", 0},
		{"http://ops:hidden-too@" + host + "/debug/readsplit", "answers 401 Unauthorized", ExitNotExamined},
		{server.URL + "/other/", "answers something that is no status of readsplit", ExitNotExamined},
		{server.URL + "/empty/", "answers something that is no status of readsplit", ExitNotExamined},
		{server.URL + "/nothing/", "answers 404 Not Found", ExitNotExamined},
		{"http://127.0.0.1:1/", "127.0.0.1:1: connection refused", ExitNotExamined},
		{"postgres://ops:hidden@" + host, "it is no URL of http or https", ExitNotExamined},
		{"http://ops:hid/den@ho st/", "it is no URL of http or https", ExitNotExamined},
	} {
		report, err := Examine(context.Background(), Topology{Status: c.url, Timeout: 20 * time.Second})
		require.NoError(t, err)
		if c.want != "" {
			compare(t, "problem app-unreachable: "+c.want, report.Findings)
		} else {
			compare(t, "", report.Findings)
		}
		assert.Equal(t, c.exit, report.ExitStatus(), c.url)
		b, err := json.Marshal(report)
		require.NoError(t, err)
		assert.NotContains(t, string(b), "hid")
	}
	report, err := Examine(context.Background(), Topology{Status: server.URL + "/silent/", Timeout: 50 * time.Millisecond})
	require.NoError(t, err)
	compare(t, "problem app-unreachable: gives no answer within 50ms", report.Findings)
}
