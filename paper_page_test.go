package readsplit

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/chart"
)

// paperPage names the page that TestShareOnPaper writes its table and plot into, all of
// it; without one it looks at a corner of the table (make share).
const paperPage = "READSPLIT_SHARE_PAGE"

func TestShareOnPaper(t *testing.T) {
	page := os.Getenv(paperPage)
	rates := []float64{20, 500}
	if page != "" {
		rates = []float64{1, 5, 20, 100, 500, 2000, 5000}
	}
	c := &chart.Chart{Title: "reads on replicas, by how much the process writes", XName: "writes a second", YName: "reads on replicas, %", Linear: true}
	for _, w := range rates {
		c.X, c.Labels = append(c.X, w), append(c.Labels, fmt.Sprint(w))
	}
	var table strings.Builder
	table.WriteString("| replicas behind | who must see a write | writes/s | reads | on replicas | waited | of them in vain | captures/s | questions to replicas/s | on the primary, because |\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for _, users := range []int{0, 1000} {
		who, line := "the process", "%v, one for all"
		if users > 0 {
			who, line = "the user", "%v, a session a user"
		}
		for _, behind := range []time.Duration{200 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
			l := chart.Line{Name: fmt.Sprintf(line, behind)}
			for _, w := range rates {
				p := crowd{writes: w, reads: 250, users: users}.on(t, behind)
				fmt.Fprintf(&table, "| %v | %s | %v | %v |\n", behind, who, w, p)
				l.Y = append(l.Y, 100*p.share())
			}
			if behind > time.Millisecond {
				c.Lines = append(c.Lines, l)
			} else {
				for _, y := range l.Y {
					assert.Greater(t, y, 99.0, line, behind) // which is why it is not drawn
				}
			}
		}
	}
	assert.NotContains(t, c.SVG(), "NaN")
	if page != "" {
		require.NoError(t, chart.Write(page, "paper", table.String(), c))
	}
}
