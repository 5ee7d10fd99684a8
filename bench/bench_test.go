package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/bench/budget"
	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/bench/report"
	"github.com/readsplit/readsplit/bench/side"
)

// few measures next to nothing: everything runs, in every way that is measured.
func few(op func(int)) side.Alone {
	op(3)
	return side.Alone{CPU: 7}
}

// Everything that make bench measures runs, and becomes the page.
func TestBenchRuns(t *testing.T) {
	ctx := t.Context()
	var m report.Measured
	var err error
	m.Overhead, err = overhead.Run(shared.catalog, func(forms []side.Form) []side.Result {
		meter := side.Fixed(forms, 3)
		meter.Rounds(2)
		return meter.Results()
	})
	require.NoError(t, err)
	require.Len(t, m.Overhead, 10)
	for _, o := range m.Overhead {
		require.Len(t, o.Results, 12, o.Name())
	}

	require.NoError(t, load.Run(ctx, shared.cluster, load.Options{Rounds: 1, Slice: 10 * time.Millisecond, Clients: []int{1, 8}, Mixes: load.Mixes}, func(rows []load.Row) error {
		m.Load = append(m.Load, rows)
		for _, r := range rows {
			if r.Form == load.Plain || r.Form == load.ReadSplit || r.Form == load.Session {
				assert.Zero(t, r.Missed(), "%s, %d clients, %s: they see what they wrote", r.Mix, r.Clients, r.Form)
			}
		}
		return nil
	}))
	require.Len(t, m.Load, 12)

	m.Parts = report.Parts{Decisions: parts.Decisions(few), Situations: parts.Situations(few), Policies: parts.Policies(few), Picks: parts.Picks(few), Users: 1000}
	m.Parts.Texts, err = parts.Texts(ctx, shared.db, few)
	require.NoError(t, err)
	m.Parts.Tokens, err = parts.Tokens(few)
	require.NoError(t, err)
	m.Parts.SessionBytes, err = parts.SessionBytes(ctx, m.Parts.Users)
	require.NoError(t, err)

	m.Budgets = []budget.Line{{Name: "of_a_test", Measured: 1.5, Limit: 1, Note: "by hand"}}
	m.Profile, m.Before, m.Benchstat, m.Host = "a profile of now", "a profile of before", "a comparison", report.Host("15")
	written(t, m)
}

// written makes the page, and looks at it.
func written(t *testing.T, m report.Measured) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "benchmarks.md")
	require.NoError(t, report.Write(file, m))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(text)
	for _, said := range []string{
		"| of_a_test | 1.5 | at most 1 | **over** | by hand |", "a profile of now", "a profile of before", "| First | readsplit_3_session |", "### PrepareStmt: true",
		"### read own write", "| 8 | dbresolver |", "| zone_first(latency) | 7 | 7 | 7 | 7 | 0 |", "Budgets that are over: `of_a_test measured=1.5 limit=1 over`.", "linux",
	} {
		assert.Contains(t, page, said)
	}
	assert.NotContains(t, page, "<no value>")
	links := regexp.MustCompile(`\]\((benchmarks/[^)]+)\)`).FindAllStringSubmatch(page, -1)
	require.Len(t, links, 6)
	for _, l := range links {
		content, err := os.ReadFile(filepath.Join(filepath.Dir(file), l[1]))
		require.NoError(t, err)
		if strings.HasSuffix(l[1], ".svg") {
			assert.NoError(t, wellFormed(content), l[1])
			assert.NotContains(t, string(content), "NaN", l[1])
		}
	}
}

func wellFormed(svg []byte) error {
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Every budget has its line, of which programs read five words.
func TestBudgetLines(t *testing.T) {
	var out strings.Builder
	o := budget.Options{Statement: time.Millisecond, Servers: time.Millisecond, Slice: 10 * time.Millisecond, Batch: 200 * time.Microsecond, Users: 1000, Clients: 8}
	all, err := budgets(t.Context(), &out, shared, o)
	if err != nil {
		require.ErrorIs(t, err, errOver)
	}
	var names []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if strings.HasPrefix(line, "note: ") {
			continue
		}
		m := regexp.MustCompile(`^budget: (\w+) measured=(-?\d+(?:\.\d+)?|NaN) limit=\d+(?:\.\d+)? (?:ok|over)$`).FindStringSubmatch(line)
		require.NotNil(t, m, line)
		names = append(names, m[1])
	}
	require.Len(t, all, len(names))
	want := []string{
		"decide_allocs", "decide_ns_3", "decide_ns_1000", "classify_ns", "classify_known_ns", "token_encode_ns", "token_verify_ns", "session_bytes",
		"goroutines_per_server", "goroutines_for_8_clients", "write_throughput_8_vs_plain", "primary_queries_per_own_read_8", "own_read_added_ms_1", "own_read_added_ms_8",
	}
	for _, read := range []string{"first", "find", "first_prepared", "find_prepared"} {
		want = append(want, read+"_allocs_over_plain", read+"_bytes_over_plain", read+"_ns_vs_dbresolver")
	}
	assert.ElementsMatch(t, want, names)
	counted := map[string]budget.Line{}
	for _, l := range all {
		counted[l.Name] = l
	}
	// Counts do not depend on how long they are counted.
	assert.True(t, counted["goroutines_per_server"].OK(), "%+v", counted["goroutines_per_server"])
	assert.True(t, counted["goroutines_for_8_clients"].OK(), "%+v", counted["goroutines_for_8_clients"])
	if !raceEnabled {
		assert.True(t, counted["decide_allocs"].OK(), "%+v", counted["decide_allocs"])
	}
}

func TestFlags(t *testing.T) {
	for line, other := range map[string]bool{
		"": false, "-page x.md": false, "-part load -page x.md": false, "-short": true, "-slice 1s": true, "-rounds 3": true, "-rounds 21": false,
	} {
		_, got, err := parse(strings.Fields(line))
		require.NoError(t, err)
		assert.Equal(t, other, got, "%q measures something else than the page tells", line)
	}
	for _, line := range []string{"-part nothing", "budget"} {
		_, _, err := parse(strings.Fields(line))
		assert.Error(t, err, fmt.Sprintf("%q", line))
	}
}
