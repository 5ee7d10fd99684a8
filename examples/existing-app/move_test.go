package existingapp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	desk "github.com/readsplit/readsplit/examples/existing-app/after"
	"github.com/readsplit/readsplit/examples/existing-app/internal/servers"
	"github.com/readsplit/readsplit/testenv"
)

// TestMoveDiff: the diff is what lies between the two, and it is small. Make it anew with
//
//	git diff --no-index before after > move.diff
func TestMoveDiff(t *testing.T) {
	text, err := os.ReadFile("move.diff")
	require.NoError(t, err)
	patches, err := parse(string(text))
	require.NoError(t, err)
	changed := 0
	for _, p := range patches {
		changed += p.added
	}
	assert.LessOrEqual(t, changed, 25, "lines that are new or different")
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), fmt.Sprintf("%d lines in the file", changed))

	files, err := filepath.Glob("before/*")
	require.NoError(t, err)
	after, err := filepath.Glob("after/*")
	require.NoError(t, err)
	require.Len(t, after, len(files))
	var same []string
	for _, file := range files {
		old, err := os.ReadFile(file)
		require.NoError(t, err)
		name := filepath.Base(file)
		want, err := os.ReadFile(filepath.Join("after", name))
		require.NoError(t, err)
		got := string(old)
		if p, ok := patches[name]; ok {
			got, err = p.apply(got)
			require.NoError(t, err, name)
		} else {
			same = append(same, name)
		}
		require.Equal(t, string(want), got, "after/%s is not before/%s with move.diff", name, name)
	}
	assert.Equal(t, []string{"desk_test.go", "handlers.go", "models.go", "reports.go", "repositories.go", "services.go"}, same, "what knows nothing of replicas")
}

// processes are two of the application over the same servers, as behind a proxy.
type processes struct {
	cluster *testenv.Cluster
	apps    [2]*desk.App
	urls    [2]string
	client  *http.Client
}

func start(t *testing.T) *processes {
	t.Helper()
	cluster, err := servers.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, cluster.Close(context.Background())) })
	cfg, err := desk.ConfigFromEnv()
	require.NoError(t, err)
	require.Len(t, cfg.Replicas, 2)
	p := &processes{cluster: cluster}
	for i := range p.apps {
		app, err := desk.Open(cfg)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, app.Close()) })
		server := httptest.NewTLSServer(app.Handler())
		t.Cleanup(server.Close)
		p.apps[i], p.urls[i], p.client = app, server.URL, server.Client()
	}
	p.client.Jar, err = cookiejar.New(nil)
	require.NoError(t, err)
	p.do(t, 0, "POST", "/login", url.Values{"name": {"ada"}})
	return p
}

func (p *processes) do(t *testing.T, process int, method, path string, form url.Values) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.urls[process]+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.client.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Less(t, res.StatusCode, 300, "%s", text)
	return string(text)
}

// TestTwoProcesses: what was written through one process is there in the other one, for its
// user and for the jobs, although both replicas are behind. Reads of what is old enough run
// on them.
func TestTwoProcesses(t *testing.T) {
	p := start(t)
	for i := range 5 {
		subject := fmt.Sprint("question ", i)
		p.do(t, i%2, "POST", "/tickets", url.Values{"subject": {subject}})
		assert.Contains(t, p.do(t, (i+1)%2, "GET", "/tickets", nil), subject)
		done, err := p.apps[(i+1)%2].Work(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, done)
	}
	var sent int
	require.NoError(t, p.cluster.Primary().DB().QueryRowContext(t.Context(), "SELECT count(*) FROM mails").Scan(&sent))
	assert.Equal(t, 5, sent, "each job has found its ticket")

	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(time.Minute); p.onReplicas(t) == 0; <-tick.C {
		require.True(t, time.Now().Before(limit), "no list was read from a replica")
		p.do(t, 0, "GET", "/tickets", nil)
	}
}

// onReplicas is how many connections to replicas have read tickets.
func (p *processes) onReplicas(t *testing.T) (n int) {
	t.Helper()
	for _, r := range p.cluster.Replicas() {
		var there int
		require.NoError(t, r.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%FROM "tickets"%' AND pid <> pg_backend_pid()`).Scan(&there))
		n += there
	}
	return n
}
