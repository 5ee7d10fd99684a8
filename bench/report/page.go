package report

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/readsplit/readsplit/bench/budget"
	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/internal/chart"
)

// Measured is everything that the page tells.
type Measured struct {
	Host      string
	Amount    string // how much was measured
	Budgets   []budget.Line
	Overhead  []overhead.Measured
	Load      [][]load.Row
	Parts     Parts
	Before    string // profiles of another day, to compare with
	Profile   string
	Benchstat string // what benchstat says of Overhead; empty: it could not be run
}

// Parts is what was measured alone.
type Parts struct {
	Decisions, Situations, Policies, Picks []parts.Line

	Texts        []parts.Text
	Tokens       []parts.Token
	Users        int
	SessionBytes float64
}

//go:embed page.tmpl
var text string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"overhead": overheadTable, "loads": loadTables, "lines": lines, "texts": textTable, "tokens": tokenTable,
	"budgets": budgetTable, "lose": Lose, "trim": strings.TrimSpace,
}).Parse(text))

// Write makes the page and, in a directory beside it that has its name, its plots and texts.
func Write(file string, m Measured) (err error) {
	dir := strings.TrimSuffix(file, filepath.Ext(file))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	texts := map[string]string{"profile.txt": m.Profile, "benchstat.txt": m.Benchstat}
	for name, c := range charts(m) {
		texts[name+".svg"] = c.SVG()
	}
	for name, text := range texts {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	var b strings.Builder
	if err := page.Execute(&b, m); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// charts are the plots, by the names of their files.
func charts(m Measured) map[string]*chart.Chart {
	all := map[string]*chart.Chart{"decide": decideChart(m.Parts)}
	all["overhead"] = overheadChart(m.Overhead)
	all["throughput"] = loadChart(m.Load, "operations a second with the most clients, times plain GORM's", "times plain", func(r, plain load.Row) float64 {
		return r.Of(load.PerSecond) / plain.Of(load.PerSecond)
	})
	all["reads"] = latencyChart(m.Load, "reads", "p50 of reads, by clients", func(s load.Slice) float64 { return s.Reads.P50 })
	all["own"] = latencyChart(m.Load, "read own write", "p50 of reads right after a write, by clients", func(s load.Slice) float64 { return s.Own.P50 })
	return all
}
