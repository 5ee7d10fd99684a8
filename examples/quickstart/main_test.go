package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/testenv"
)

// TestQuickstart runs it as `go run .` does: the third note is there although its replica
// stands still.
func TestQuickstart(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), "", "", &out), "%s", &out)
	assert.Regexp(t, `(?m)^wrote "milk", read 1 from the (replica|primary) \([a-z_]+\)$`, out.String())
	assert.Regexp(t, `(?m)^wrote "tea", read 3 from the primary \([a-z_]+\)$`, out.String())
}

// TestTwoDSNs: with servers of one's own; reads of others come from the replica.
func TestTwoDSNs(t *testing.T) {
	cluster := testenv.Start(t, testenv.Replicas(1))
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), cluster.Primary().DSN(), cluster.Replica(0).URL(), &out), "%s", &out)
	assert.Contains(t, out.String(), `wrote "tea", read 3`)
	assert.NotContains(t, out.String(), "starting")

	db, plugin, err := Open(cluster.Primary().DSN(), cluster.Replica(0).DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plugin.Close(context.Background())); assert.NoError(t, closePool(db)) })
	require.Eventually(t, func() bool {
		notes, by, err := Remember(t.Context(), db, "more")
		return assert.NoError(t, err) && assert.Equal(t, "more", notes[len(notes)-1].Text) && by.Server == "replica"
	}, 30*time.Second, 5*time.Millisecond)
}

// TestReadmeShowsTheProgram keeps the page true.
func TestReadmeShowsTheProgram(t *testing.T) {
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("quickstart.go")
	require.NoError(t, err)
	_, code, ok := strings.Cut(string(program), "// Note is a model")
	require.True(t, ok)
	assert.Contains(t, string(page), "```go\n// Note is a model"+code+"```\n")
}
