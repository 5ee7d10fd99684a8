package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// settings are what the form asks of the server of the report.
func (f form) settings() string {
	if f.logical {
		return "logical replication"
	}
	delay := "-1"
	if f.patience >= 0 {
		delay = seconds(f.patience)
	}
	return fmt.Sprintf("delay %s, feedback %s", delay, map[bool]string{true: "on", false: "off"}[f.feedback])
}

// became is what became of the report on the server where it began, and what the plugin
// did then.
func (r *result) became() (there, then string) {
	if len(r.cancelled) == 0 {
		return "finished after " + seconds(r.took), "nothing"
	}
	c := r.cancelled[0]
	there = fmt.Sprintf("cancelled after %s: %s, %s", seconds(c.after), c.code, strings.ReplaceAll(c.kind, "_", " "))
	return there, fmt.Sprintf("ran it again on the %s (`%s`): %s in all", r.decision.Server, r.decision.Reason, seconds(r.took))
}

// String is one line for who waits.
func (r *result) String() string {
	there, then := r.became()
	return fmt.Sprintf("%-22s on %s, %s: %s; the plugin: %s; lag %s, dead rows %d, %d; others on %s %.0f %%",
		r.name, r.place, r.settings(), there, then, seconds(r.lag), r.dead[0], r.dead[1], site, r.others.share(site))
}

func table(results []*result) string {
	var b strings.Builder
	b.WriteString("| | settings of the server where the report begins | the report there | what the plugin did | greatest lag there | dead rows that the 1st and the 2nd `VACUUM` left | reads of others on their replica |\n|---|---|---|---|--:|--:|--:|\n")
	for _, r := range results {
		there, then := r.became()
		fmt.Fprintf(&b, "| %s | %s: %s | %s | %s | %s | %d, %d | %.1f %% |\n",
			r.name, r.place, r.settings(), there, then, seconds(r.lag), r.dead[0], r.dead[1], r.others.share(site))
	}
	return b.String()
}

// plot draws the lag of the server where the report began.
func plot(results []*result) *chart.Chart {
	c := &chart.Chart{Title: "how far the server of the report is behind", XName: "seconds since the report began", YName: "seconds behind, at most", Linear: true}
	longest := 0
	for _, r := range results {
		longest = max(longest, len(r.lags))
	}
	for i := range longest {
		c.X = append(c.X, float64(i))
		label := ""
		if i%5 == 0 {
			label = fmt.Sprint(i)
		}
		c.Labels = append(c.Labels, label)
	}
	for _, r := range results {
		line := chart.Line{Name: r.name}
		for i := range longest {
			y := math.NaN()
			if i < len(r.lags) {
				y = max(r.lags[i], time.Millisecond).Seconds()
			}
			line.Y = append(line.Y, y)
		}
		c.Lines = append(c.Lines, line)
	}
	return c
}
