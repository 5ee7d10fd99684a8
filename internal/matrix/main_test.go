// Package matrix asks real servers where every statement of GORM runs.
//
// Each entry point of GORM is a cell. It is run with every combination of PrepareStmt, SkipDefaultTransaction and a
// session, on a primary and two replicas, and what was sent is read from the servers' own logs, not from the plugin.
// Two judges look at it:
//
//   - the oracle: the cell says in code which servers its statements belong to, and rules that hold for all cells say
//     what a replica must never see. What breaks one of them counts as wrong, whatever the transcript says.
//   - the transcript testdata/matrix.txt, which shows every statement with its server to whoever reviews a change.
//     `go test ./internal/matrix -run TestMatrix -update` writes it anew.
package matrix

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
)

var update = flag.Bool("update", false, "write testdata/matrix.txt anew")

// cells are all cells, in the order of the transcript.
func cells() []*cell {
	return slices.Concat(
		finders(), scans(), joins(), preloads(), locking(),
		raws(), execs(),
		creates(), upserts(), updates(), deletes(), readThenWrite(),
		associations(), generics(), genericSets(),
		hooked(), transactions(), readOnlyTransactions(),
		handles(), dry(), pools(), migrators(),
	)
}

// knownWrong are the cells, by name, that readsplit gets wrong: each with what is wrong about it. A cell that is right
// must not be here. It must be empty before a release.
var knownWrong = map[string]string{}

func TestMatrix(t *testing.T) {
	all := cells()
	names := map[string]bool{}
	for _, c := range all {
		require.False(t, names[c.name()], "two cells are called %q", c.name())
		names[c.name()] = true
	}
	for name := range knownWrong {
		require.True(t, names[name], "knownWrong names %q, which is no cell", name)
	}

	e := newEnvironment(t)
	ran, wrong := 0, 0
	broken := map[string]bool{}
	judge := func(c *cell, where string, verdict []string) {
		ran++
		if len(verdict) == 0 {
			return
		}
		broken[c.name()] = true
		if _, known := knownWrong[c.name()]; known {
			return
		}
		wrong++
		t.Errorf("%s\n  %s", where, joined(verdict, "\n  "))
	}

	book := newTranscript(all)
	marked := func(l *line, s setup, m mark) {
		for _, c := range all {
			want, concerned := m.expects(c)
			if !concerned || c.plainOnly && s.prepared {
				continue
			}
			got := l.run(m.on(l.context(s)), c)
			judge(c, fmt.Sprintf("%s [%s, %s]", c.name(), s, m.name), want(got))
			book.addMark(c, m.name, got)
		}
	}
	for _, s := range setups() {
		l := e.open(t, s, readsplit.PreferReplica)
		for _, c := range all {
			if c.plainOnly && s.prepared {
				continue
			}
			got := l.run(l.context(s), c)
			judge(c, fmt.Sprintf("%s [%s]", c.name(), s), c.judge(got))
			book.add(c, s, got)
		}
		for _, m := range marksIn(s) {
			marked(l, s, m)
		}
		l.close(t)
	}
	l := e.open(t, setup{session: true}, readsplit.PreferPrimary)
	for _, m := range preferring {
		marked(l, setup{session: true}, m)
	}
	l.close(t)
	if !testing.Short() {
		for name := range knownWrong {
			require.True(t, broken[name], "%q is right now: remove it from knownWrong", name)
		}
		book.compare(t, filepath.Join("testdata", "matrix.txt"))
	}
	line := fmt.Sprintf("matrix: cells=%d wrong=%d", ran, wrong)
	if n := len(knownWrong); n > 0 {
		line += fmt.Sprintf(" known_wrong=%d", n)
	}
	fmt.Fprintln(os.Stdout, line)
}

// context is a cell's context: with a session of its own, or without any. It does not end with the cell: the plugin is in
// doubt about a write whose context ends while its rows are closed, and so would be the cells that follow.
func (l *line) context(s setup) context.Context {
	ctx := l.life
	if s.session {
		ctx = readsplit.WithSession(ctx, readsplit.NewSession())
	}
	return ctx
}
