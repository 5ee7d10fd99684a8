package matrix

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const legend = `# Where each statement of GORM runs, as the servers' own logs say it.
#
#   P  the primary          P(tx)  in a transaction there           P(ro)  in a read-only transaction there
#   R  one of two replicas  R(ro)  in a read-only transaction there
#   !  the server refused the statement
#
# Shown is the plain setup: PrepareStmt off, SkipDefaultTransaction off, no session. A line that begins with ~ says
# where the other setups (prepared, no-default-tx, session) differ, or the marks of a context; without such a line
# they do as usual:
#
#   what runs on replicas   under Fresh: on the primary; Stale, AnyReplica, AtMost, Group, ReadOnly: on replicas
#   what runs on the primary   under AnyReplica, Group: on the primary; ReadOnly: refused, and nothing is sent
#
# A cell that goes around GORM, or reads before it writes, is not run under ReadOnly.
#
# Written by: go test ./internal/matrix -run TestMatrix -update
`

// usual is what the marks of a context do to a cell of a kind.
var usual = map[string][]string{
	reads:   {"Fresh: all P; Stale, AnyReplica, AtMost, Group, ReadOnly: all R"},
	writes:  {"AnyReplica, Group: all P; ReadOnly: refused, nothing sent", "AnyReplica, Group: all P"},
	nothing: {"ReadOnly: nothing sent"},
}

// transcript is what all cells showed.
type transcript struct {
	cells []*cell
	shows map[*cell]map[setup][]string
	marks map[*cell]map[string][]string
}

func newTranscript(all []*cell) *transcript {
	return &transcript{cells: all, shows: map[*cell]map[setup][]string{}, marks: map[*cell]map[string][]string{}}
}

// show is a run of a cell, a line for each statement.
func show(c *cell, got outcome) []string {
	var out []string
	for _, s := range got.statements {
		mark := ""
		if s.refused != "" {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%-6s %s", s.place()+mark, shown(s.text, 150)))
	}
	if c.anyOrder {
		slices.SortStableFunc(out, func(a, b string) int {
			if strings.Contains(a, "DELETE") && strings.Contains(b, "DELETE") {
				return strings.Compare(a, b)
			}
			return 0
		})
	}
	if got.refused {
		out = append(out, "refused")
	}
	return out
}

func (b *transcript) add(c *cell, s setup, got outcome) {
	if b.shows[c] == nil {
		b.shows[c] = map[setup][]string{}
	}
	b.shows[c][s] = show(c, got)
}

func (b *transcript) addMark(c *cell, name string, got outcome) {
	if b.marks[c] == nil {
		b.marks[c] = map[string][]string{}
	}
	var summary string
	switch places := onlyPlaces(got.statements); {
	case got.refused && len(got.statements) == 0:
		summary = "refused, nothing sent"
	case got.refused:
		summary = "refused after " + places
	case places == "":
		summary = "nothing sent"
	default:
		summary = "all " + places
	}
	if !slices.Contains(b.marks[c][name], summary) {
		b.marks[c][name] = append(b.marks[c][name], summary)
	}
}

// onlyPlaces are the servers of a run, without transactions.
func onlyPlaces(statements []statement) string {
	found := map[string]bool{}
	for _, s := range statements {
		found[s.letter()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " and ")
}

// withoutTx is what a run would show without GORM's default transactions.
func withoutTx(run []string) []string {
	var out []string
	for _, line := range run {
		place, text, _ := strings.Cut(line, " ")
		text = strings.TrimSpace(text)
		if place == "P" && (text == "begin" || text == "commit") {
			continue
		}
		out = append(out, fmt.Sprintf("%-6s %s", strings.TrimSuffix(place, "(tx)"), text))
	}
	return out
}

// text is the whole transcript.
func (b *transcript) text() string {
	var out strings.Builder
	out.WriteString(legend)
	last := ""
	for _, c := range b.cells {
		if c.area != last {
			last = c.area
			fmt.Fprintf(&out, "\n== %s\n", c.area)
		}
		fmt.Fprintf(&out, "\n%s\n", c.call)
		base := b.shows[c][setup{}]
		for _, line := range base {
			fmt.Fprintf(&out, "  %s\n", line)
		}
		if len(base) == 0 {
			out.WriteString("  nothing is sent\n")
		}
		b.differences(&out, c, base)
		b.marked(&out, c)
	}
	return out.String()
}

// differences says in which setups a cell showed something else, and what.
func (b *transcript) differences(out *strings.Builder, c *cell, base []string) {
	var order []string
	groups := map[string][]setup{}
	for _, s := range setups() {
		run, ran := b.shows[c][s]
		if !ran {
			continue
		}
		if key := strings.Join(run, "\n"); key != strings.Join(base, "\n") {
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], s)
		}
	}
	for _, key := range order {
		what := oneLine(strings.Split(key, "\n"))
		if key == strings.Join(withoutTx(base), "\n") {
			what = "the same without begin and commit"
		}
		fmt.Fprintf(out, "  ~ %s: %s\n", together(groups[key]), what)
	}
	if c.plainOnly {
		out.WriteString("  ~ prepared: not possible\n")
	}
}

// oneLine is a run as a single line.
func oneLine(run []string) string {
	var parts []string
	for _, line := range run {
		place, text, _ := strings.Cut(line, " ")
		parts = append(parts, place+" "+shown(text, 40))
	}
	return strings.Join(parts, " · ")
}

// together names setups by what they have in common, if that is all they are.
func together(group []setup) string {
	for _, kind := range []struct {
		name string
		has  func(s setup) bool
	}{
		{"prepared", func(s setup) bool { return s.prepared }},
		{"no-default-tx", func(s setup) bool { return s.skipTx }},
		{"session", func(s setup) bool { return s.session }},
		{"prepared with no-default-tx", func(s setup) bool { return s.prepared && s.skipTx }},
		{"prepared with the default transaction", func(s setup) bool { return s.prepared && !s.skipTx }},
		{"no-default-tx without prepared", func(s setup) bool { return !s.prepared && s.skipTx }},
	} {
		all := slices.DeleteFunc(setups(), func(s setup) bool { return !kind.has(s) })
		if slices.Equal(all, group) {
			return kind.name
		}
	}
	var names []string
	for _, s := range group {
		names = append(names, s.String())
	}
	return strings.Join(names, ", ")
}

// marked says what the marks of a context did.
func (b *transcript) marked(out *strings.Builder, c *cell) {
	byResult := map[string][]string{}
	var order []string
	for _, m := range marks {
		results := b.marks[c][m.name]
		if results == nil {
			continue
		}
		key := strings.Join(results, " or ")
		if byResult[key] == nil {
			order = append(order, key)
		}
		byResult[key] = append(byResult[key], m.name)
	}
	var parts []string
	for _, key := range order {
		parts = append(parts, strings.Join(byResult[key], ", ")+": "+key)
	}
	if said := strings.Join(parts, "; "); parts != nil && !slices.Contains(usual[c.want], said) {
		fmt.Fprintf(out, "  ~ %s\n", strings.Join(parts, "; "))
	}
}

// compare compares the transcript with the file, or writes it.
func (b *transcript) compare(t *testing.T, path string) {
	got := b.text()
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if string(want) == got {
		return
	}
	t.Errorf("%s is not what the servers say; -update writes it anew, and its diff wants a review. First differences:\n%s",
		path, firstDifferences(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
}

func firstDifferences(want, got []string) string {
	var out strings.Builder
	for i, n := 0, 0; n < 10 && (i < len(want) || i < len(got)); i++ {
		var w, g string
		if i < len(want) {
			w = want[i]
		}
		if i < len(got) {
			g = got[i]
		}
		if w != g {
			fmt.Fprintf(&out, "  line %d\n    - %s\n    + %s\n", i+1, w, g)
			n++
		}
	}
	return out.String()
}
