package report

import (
	"math"
	"slices"

	"github.com/readsplit/readsplit/bench/load"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/bench/parts"
	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/internal/chart"
)

// overheadChart compares the forms with three replicas.
func overheadChart(all []overhead.Measured) *chart.Chart {
	c := &chart.Chart{Title: "processor time of a statement above the driver, times plain GORM's", XName: "p: prepared", YName: "times plain", Linear: true}
	for _, form := range []string{"plain", "dbresolver_3", "readsplit_3", "readsplit_3_session"} {
		l := chart.Line{Name: form}
		for _, m := range all {
			i := slices.IndexFunc(m.Results, func(r side.Result) bool { return r.Form == form })
			l.Y = append(l.Y, side.Ratios(m.Results[i].CPU, m.Results[0].CPU).Median)
		}
		c.Lines = append(c.Lines, l)
	}
	for i, m := range all {
		label := map[string]string{"Transaction": "Tx", "RawScan": "Raw", "Find10": "Find"}[m.Case]
		if label == "" {
			label = m.Case
		}
		if m.Prepare {
			label += " p"
		}
		c.X, c.Labels = append(c.X, float64(i)), append(c.Labels, label)
	}
	return c
}

func decideChart(p Parts) *chart.Chart {
	c := &chart.Chart{Title: "processor time of one decision", XName: "replicas", YName: "ns", Bound: 5000, Says: "5 us"}
	for _, n := range parts.Sizes {
		c.X = append(c.X, float64(n))
	}
	for _, l := range p.Decisions {
		drawn := chart.Line{Name: l.Name}
		for _, a := range l.By {
			drawn.Y = append(drawn.Y, a.CPU)
		}
		c.Lines = append(c.Lines, drawn)
	}
	return c
}

// loadChart compares the forms under each mix with the most clients.
func loadChart(all [][]load.Row, title, y string, of func(r, plain load.Row) float64) *chart.Chart {
	c := &chart.Chart{Title: title, XName: "what clients do", YName: y, Linear: true}
	clients := 0
	for _, rows := range all {
		clients = max(clients, rows[0].Clients)
	}
	for _, rows := range all {
		if rows[0].Clients != clients {
			continue
		}
		c.X, c.Labels = append(c.X, float64(len(c.X))), append(c.Labels, rows[0].Mix)
		add(c, rows, func(r load.Row) float64 { return of(r, rows[0]) })
	}
	return c
}

// latencyChart compares the forms under one mix, by the number of clients.
func latencyChart(all [][]load.Row, mix, title string, of func(load.Slice) float64) *chart.Chart {
	c := &chart.Chart{Title: title, XName: "clients", YName: "ms"}
	for _, rows := range all {
		if rows[0].Mix == mix {
			c.X = append(c.X, float64(rows[0].Clients))
			add(c, rows, func(r load.Row) float64 { return r.Of(of) })
		}
	}
	return c
}

// add adds a place of each form to its line.
func add(c *chart.Chart, rows []load.Row, of func(load.Row) float64) {
	if c.Lines == nil {
		for _, r := range rows {
			c.Lines = append(c.Lines, chart.Line{Name: r.Form})
		}
	}
	for i, r := range rows {
		v := of(r)
		if math.IsInf(v, 0) {
			v = math.NaN()
		}
		c.Lines[i].Y = append(c.Lines[i].Y, v)
	}
}
