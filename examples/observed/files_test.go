package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/readsplit/readsplit/policy"
)

// ruleFile is docs/alerts.yml.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Record, Alert, Expr, For string
	Labels, Annotations      map[string]string
}

func rules(t *testing.T, text []byte) (all []rule) {
	t.Helper()
	var f ruleFile
	require.NoError(t, yaml.Unmarshal(text, &f))
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func alertsFile(t *testing.T) []byte { return file(t, "alerts.yml") }

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, name))
	require.NoError(t, err)
	return text
}

// dashboard is what is looked at of docs/dashboard.json.
type dashboard struct {
	Annotations struct{ List []struct{ Expr string } }
	Templating  struct {
		List []struct {
			Name, Type string
			Definition string
		}
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	GridPos                  struct{ X, Y, W, H int }
	Datasource               struct{ UID string }
	Targets                  []struct {
		RefID, Expr string
		Datasource  struct{ UID string }
	}
	FieldConfig struct{ Defaults struct{ Unit string } }
}

func board(t *testing.T) (d dashboard) {
	t.Helper()
	require.NoError(t, json.Unmarshal(file(t, "dashboard.json"), &d))
	return d
}

// chosen are the dashboard's variables with "All" chosen, and an interval that fits
// tests.
var chosen = strings.NewReplacer("$job", ".*", "$resolver", ".*", "$server", ".*", "$__rate_interval", "4s")

// expressions are those of both files, as the test asks them. What alerts are made of is
// among them: what they compare.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	for _, r := range rules(t, hurried(alertsFile(t), waitScale, windowScale)) {
		if r.Record != "" {
			all = append(all, r.Record) // what Prometheus has made of the expression
		}
	}
	d := board(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, chosen.Replace(target.Expr))
		}
	}
	for _, a := range d.Annotations.List {
		all = append(all, chosen.Replace(a.Expr))
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if m := values.FindStringSubmatch(chosen.Replace(v.Definition)); m != nil {
			all = append(all, "group by ("+m[2]+") ("+m[1]+")")
		}
	}
	for _, e := range all {
		require.NotContains(t, e, "$", "a variable that nobody has a value for")
	}
	return all
}

// TestPromtool: the rules are right, and do what they should at their real durations.
func TestPromtool(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		c := exec.CommandContext(t.Context(), "promtool", args...)
		c.Dir = docs
		out, err := c.CombinedOutput()
		require.NoError(t, err, "promtool is part of Prometheus, see scripts/deps.sh: %s", out)
		require.Contains(t, string(out), "SUCCESS")
	}
}

// TestThreeAlerts: each says what is wrong, what to do first, and where more is written.
func TestThreeAlerts(t *testing.T) {
	t.Parallel()
	pages := string(file(t, "operations.md"))
	var names []string
	for _, r := range rules(t, alertsFile(t)) {
		if r.Alert == "" {
			continue
		}
		names = append(names, r.Alert)
		assert.NotEmpty(t, r.Labels["severity"], r.Alert)
		assert.NotEmpty(t, r.Annotations["summary"], r.Alert)
		assert.Contains(t, r.Annotations["description"], "First: ", r.Alert)
		assert.Equal(t, "https://github.com/readsplit/readsplit/blob/main/docs/operations.md#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
		//nolint:testifylint // the haystack is too long to print
		assert.True(t, strings.Contains(pages, "\n### "+r.Alert+"\n"), "docs/operations.md has no section %s", r.Alert)
	}
	assert.Equal(t, []string{"ReadsplitServerOut", "ReadsplitPrimaryCarriesReads", "ReadsplitReadsRefused"}, names)
}

// displaced are the reasons that count as: the read wanted a replica, and ran on the
// primary.
var displaced = []policy.Reason{
	policy.ReasonKillSwitch, policy.ReasonUnsure, policy.ReasonOtherHistory, policy.ReasonPositionPending,
	policy.ReasonNotInGroup, policy.ReasonDrained, policy.ReasonFailedThisRead, policy.ReasonNotAStandby, policy.ReasonDown,
	policy.ReasonNoNews, policy.ReasonOldNews, policy.ReasonEjected, policy.ReasonBalanced, policy.ReasonUnprovenHistory,
	policy.ReasonLagUnknown, policy.ReasonNoPosition, policy.ReasonBehindBytes, policy.ReasonLagging, policy.ReasonSlowStart,
	policy.ReasonBehindSession, policy.ReasonWaitExpired, policy.ReasonReplicaFailed, policy.ReasonKeepsConflicting,
	policy.ReasonGroupOnPrimary,
}

// elsewhere are the reasons of what is no read on the primary.
var elsewhere = []policy.Reason{
	policy.ReasonCaughtUp, policy.ReasonWithinLag, policy.ReasonWaited, policy.ReasonStatedLag, policy.ReasonStale, policy.ReasonAnyReplica,
	policy.ReasonPrimaryLost, policy.ReasonServedStale, policy.ReasonOutsideGroup, // on a replica
	policy.ReasonWrite, policy.ReasonUnknownStatement, // no read
	policy.ReasonPrimaryLostRefused, policy.ReasonAtMostUnproven, policy.ReasonGroupRefused, // not run
}

// TestEveryReasonIsSorted: a reason that nobody has thought of would be an alarm, or be
// none.
func TestEveryReasonIsSorted(t *testing.T) {
	t.Parallel()
	var belong []string
	for _, r := range policy.Reasons() {
		if !slices.Contains(displaced, r) && !slices.Contains(elsewhere, r) {
			belong = append(belong, r.String())
		}
	}
	lists := regexp.MustCompile(`readsplit_reason!~"([^"]*)"`).FindAllStringSubmatch(string(alertsFile(t)), -1)
	require.Len(t, lists, 2)
	for _, l := range lists {
		assert.ElementsMatch(t, belong, strings.Split(l[1], "|"), "reasons of reads that belong on the primary")
	}
}

// TestHurried: durations become shorter, and nothing else changes.
func TestHurried(t *testing.T) {
	t.Parallel()
	text := alertsFile(t)
	before, after := rules(t, text), rules(t, hurried(text, time.Second, time.Second))
	back := regexp.MustCompile(`(\d+)000ms`)
	var fors []string
	for i := range before {
		if before[i].Alert != "" {
			fors = append(fors, before[i].For+" "+after[i].For)
		}
		assert.NotRegexp(t, `[0-9][smhd]\]`, after[i].Expr, "a duration that is not in minutes")
		after[i].For = back.ReplaceAllString(after[i].For, "${1}m")
		after[i].Expr = back.ReplaceAllString(after[i].Expr, "${1}m")
		assert.Equal(t, before[i], after[i])
	}
	assert.Equal(t, []string{"2m 2000ms", "5m 5000ms", "1m 1000ms"}, fors)
}

// TestDashboard: Grafana is not here to say what it does not like.
func TestDashboard(t *testing.T) {
	t.Parallel()
	d := board(t)
	ids := map[int]string{}
	var titles []string
	cells := map[[2]int]string{}
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		assert.Empty(t, ids[p.ID], "two panels with one id")
		ids[p.ID] = p.Title
		titles = append(titles, p.Title)
		g := p.GridPos
		assert.True(t, g.X >= 0 && g.W > 0 && g.X+g.W <= 24, p.Title)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s stands on it", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		assert.NotEmpty(t, p.Description, p.Title)
		assert.Equal(t, "${datasource}", p.Datasource.UID, p.Title)
		if p.Type != "state-timeline" {
			assert.NotEmpty(t, p.FieldConfig.Defaults.Unit, p.Title)
		}
		assert.NotEmpty(t, p.Targets, p.Title)
		refs := map[string]bool{}
		for _, target := range p.Targets {
			assert.False(t, refs[target.RefID], p.Title)
			refs[target.RefID] = true
			assert.Equal(t, "${datasource}", target.Datasource.UID, p.Title)
		}
	}
	_, section, _ := strings.Cut(string(file(t, "operations.md")), "\n## Alerts\n")
	section, _, _ = strings.Cut(section, "\n## ")
	named := regexp.MustCompile(`[^*]\*([^*\n]+)\*[^*]`).FindAllStringSubmatch(section, -1)
	require.NotEmpty(t, named)
	for _, n := range named {
		assert.Contains(t, titles, n[1], "docs/operations.md speaks of a panel that is not there")
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name+" "+v.Type)
	}
	assert.Equal(t, []string{"datasource datasource", "job query", "resolver query", "server query"}, variables)
}

// TestMetricsAreDocumented: what both files ask for is in docs/metrics.md.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	known := string(file(t, "metrics.md"))
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	attributes := regexp.MustCompile("`((?:readsplit|db)\\.[a-z_.]+)`")
	words := map[string]bool{}
	for _, m := range attributes.FindAllStringSubmatch(known, -1) {
		words[strings.ReplaceAll(m[1], ".", "_")] = true
	}
	for _, m := range regexp.MustCompile("`((?:readsplit|db)_[a-z_]+)`").FindAllStringSubmatch(known, -1) {
		words[m[1]] = true
	}
	asked := regexp.MustCompile(`(?:\w+:)?\b(?:readsplit|db_client)_\w+`)
	for _, e := range append(expressions(t), string(alertsFile(t))) {
		for _, word := range asked.FindAllString(e, -1) {
			if strings.Contains(word, ":") {
				continue // recorded by the rules themselves
			}
			assert.True(t, words[word] || words[suffix.ReplaceAllString(word, "")], "%s is not in docs/metrics.md", word)
		}
	}
}
