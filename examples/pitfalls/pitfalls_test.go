package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// all is what each pitfall has to show: what goes wrong goes wrong each time, and with
// readsplit never. A pitfall that shows nothing proves nothing.
var all = map[string][]string{
	"always_replica":   {"dbresolver 100/100", "readsplit 0/100", "readsplit 100/100"},
	"every_query":      {"dbresolver 50/50", "dbresolver 50/50", "readsplit 0/50", "readsplit 0/50"},
	"database_problem": {"dbresolver 0/30", "dbresolver 30/30", "readsplit 0/30", "readsplit 0/30"},
	"two_servers":      {"dbresolver 10/20", "readsplit 0/20", "by hand 10/10", "readsplit 0/10", "readsplit 10/10"},
	"hidden_write":     {"dbresolver 30/30", "dbresolver 5/5", "readsplit 0/30", "readsplit 0/5"},
	"lag_seconds":      {"by hand 20/20", "readsplit 0/20", "by hand 20/20", "readsplit 0/20", "by hand 20/20", "readsplit 0/20"},
	"intent":           {"dbresolver 20/20", "by hand 20/20", "readsplit 1/1", "readsplit 0/20"},
}

func TestPitfalls(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "pitfalls.md"))
	require.NoError(t, err)
	require.Len(t, all, len(pitfalls))
	for _, p := range pitfalls {
		t.Run(p.name, func(t *testing.T) {
			seen, err := p.run(ctx, cluster)
			require.NoError(t, err)
			var counts []string
			for _, f := range seen {
				counts = append(counts, fmt.Sprintf("%s %d/%d", f.who, f.n, f.of))
			}
			require.Equal(t, all[p.name], counts)
			//nolint:testifylint // the page is too long to print
			assert.True(t, strings.Contains(string(page), p.section(seen)), "docs/pitfalls.md is not what was seen; run: make pitfalls")
			require.FileExists(t, p.name+".go")
			var told bytes.Buffer
			p.print(&told, seen)
			assert.NotContains(t, told.String(), "](")
		})
	}
}

func TestOnlyOneOfThem(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.ErrorContains(t, run(ctx, "", "no_such", ""), "no_such is none of them")
}
