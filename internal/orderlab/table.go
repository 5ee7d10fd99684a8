package orderlab

import (
	"fmt"
	"strings"
)

// Words says to a person what the phases and the strategies of a lab are.
type Words struct {
	Phases, Strategies map[string]string
	// Remark is what else a person should know of an outcome; "" for nothing.
	Remark func(o *Outcome) string
}

// Table renders outcomes for a person.
func (w Words) Table(outcomes []*Outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-38s %-20s %-10s %s\n", "", "orders missing in", "reads on", "own list:")
	fmt.Fprintf(&b, "%-38s %-20s %-10s %s\n", "", "the customer's list", "replicas", "half / 99% within")
	phase := ""
	for _, o := range outcomes {
		if o.Phase != phase {
			phase = o.Phase
			fmt.Fprintf(&b, "\n%s, %d orders\n", w.Phases[phase], o.Orders)
		}
		fmt.Fprintf(&b, "  %-36s %-20s %-10s %s / %s%s\n", w.Strategies[o.Strategy],
			fmt.Sprintf("%d of %d", o.Missed, o.Orders), fmt.Sprintf("%.1f%%", 100*o.Share()),
			Millis(o.OwnP50), Millis(o.OwnP99), w.Remark(o))
	}
	return b.String()
}
