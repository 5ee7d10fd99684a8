package otel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
	readsplitotel "github.com/readsplit/readsplit/otel"
)

// TestTenLines runs the block of docs/metrics.md, and asks as Prometheus does.
func TestTenLines(t *testing.T) {
	page, err := os.ReadFile("../docs/metrics.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(string(page))[1]
	rest := string(source)
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, " //")
		_, after, found := strings.Cut(rest, strings.TrimSpace(line))
		require.True(t, found, "example_test.go does not have this line of docs/metrics.md: %s", line)
		rest = after
	}

	old := http.DefaultServeMux
	http.DefaultServeMux = http.NewServeMux()
	defer func() { http.DefaultServeMux = old }()
	c := readsplitotel.Cluster(t)
	db, err := gorm.Open(postgres.Open(c.Primary().DSN()), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	defer pool.Close()
	var text string
	err = observed(db, c.Replica(0).DSN(), func() error {
		if err := db.WithContext(readsplit.AnyReplica(t.Context())).Raw("SELECT 1").Scan(new(int)).Error; err != nil {
			return err
		}
		server := httptest.NewServer(http.DefaultServeMux)
		defer server.Close()
		answer, err := http.Get(server.URL + "/metrics")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		all, err := io.ReadAll(answer.Body)
		text = string(all)
		return err
	})
	require.NoError(t, err)
	assert.Regexp(t, `(?m)^readsplit_statements_total\{.*readsplit_reason="any_replica",readsplit_server_name="pg2",readsplit_server_role="replica"\} 1$`, text)
	assert.Regexp(t, `(?m)^readsplit_server_up\{.*readsplit_server_name="primary",readsplit_server_role="primary"\} 1$`, text)
	assert.Regexp(t, `(?m)^# TYPE readsplit_reads_replica_share_ratio gauge$`, text)
}
