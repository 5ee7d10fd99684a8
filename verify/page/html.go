package page

import (
	"html/template"
	"io"

	"github.com/readsplit/readsplit/verify/history"
)

// most is how many violations a page shows.
const most = 50

type row struct {
	Who, What   string
	From, To    float64 // milliseconds
	Left, Width float64 // per cent
	Kind        history.Kind
}

type section struct {
	Finding
	Rows []row
}

// HTML writes a page with the timelines of the first violations.
func HTML(w io.Writer, all []Finding) error {
	data := struct {
		Found    int
		Sections []section
	}{Found: len(all)}
	for _, f := range all[:min(most, len(all))] {
		data.Sections = append(data.Sections, section{f, rows(f)})
	}
	return document.Execute(w, data)
}

// rows lays the events out between the beginning and the end of what is not a
// fault, with some room on both sides.
func rows(f Finding) (all []row) {
	zero, last := origin(&f.Violation), int64(0)
	for _, e := range f.Violation.Timeline {
		if e.Kind != history.KindFault {
			last = max(last, e.Return)
		}
	}
	span := at(last, zero)
	room := max(span/10, 0.1)
	percent := func(ms float64) float64 { return min(max(100*(ms+room)/(span+2*room), 0), 100) }
	for i := range f.Violation.Timeline {
		e := &f.Violation.Timeline[i]
		r := row{Who: who(e), What: what(e), From: at(e.Invoke, zero), To: at(e.Return, zero), Kind: e.Kind}
		r.Left = percent(r.From)
		r.Width = max(percent(r.To)-r.Left, 0.3)
		all = append(all, r)
	}
	return all
}

var document = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>verify: {{.Found}} violations</title>
<style>
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; max-width: 90em }
h2 { font-size: 1.1em; margin: 2em 0 0 }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
td { padding: .2em .5em; border-top: 1px solid #ddd; vertical-align: top; overflow-wrap: anywhere }
td.who { width: 13em } td.when { width: 12em; font-variant-numeric: tabular-nums } td.lane { width: 32% }
.bar { height: 1em; border-radius: 2px; background: #888; position: relative }
.write { background: #2a7 } .read { background: #d33 } .token, .join { background: #27c } .fault { background: #eb4 }
</style>
<h1>{{.Found}} violations</h1>
{{range .Sections}}<h2>{{.Violation.Rule}}: {{.Violation.Text}}</h2>
<p>{{.Header.Plugin}}, episode {{.Header.Episode}}, seed {{.Header.Seed}}, PostgreSQL {{.Header.Server}}. Again: <code>{{.Header.Command}}</code></p>
<table>{{range .Rows}}<tr><td class="who">{{.Who}}<td class="when">{{printf "%.3f .. %.3f ms" .From .To}}<td class="lane"><div class="bar {{.Kind}}" style="margin-left:{{printf "%.2f" .Left}}%;width:{{printf "%.2f" .Width}}%"></div><td>{{.What}}</tr>
{{end}}</table>
{{end}}</html>
`))
