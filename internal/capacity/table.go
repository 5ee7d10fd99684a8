package main

import (
	"fmt"
	"strings"
)

// tables prints what was measured, and what follows from it.
func tables(costs []cost) string {
	var b strings.Builder
	b.WriteString("| statement | processor time of the primary | of each replica |\n|---|--:|--:|\n")
	by := map[string]cost{}
	for _, c := range costs {
		by[c.name] = c
		primary, replica := us(c.primary.Seconds()), us(c.replica.Seconds())
		switch {
		case c.work.replica:
			primary = "0"
		case strings.HasPrefix(c.text, "SELECT"):
			replica = "0"
		default:
			replica = fmt.Sprintf("%s (%.0f %%)", replica, 100*c.replica.Seconds()/c.primary.Seconds())
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.name, primary, replica)
	}
	m := mix{
		read:   (by[works[0].name].primary + by[works[1].name].replica).Seconds() / 2,
		write:  by[works[3].name].primary.Seconds(),
		replay: by[works[3].name].replica.Seconds(),
	}
	b.WriteString("\nWhat follows for rows by key and UPDATEs, with all reads on replicas, in multiples of what one server alone can do:\n\n| writes | 1 replica | 2 | 4 | 8 | any number | when all replicas fall behind, the primary has to do |\n|---|--:|--:|--:|--:|--:|--:|\n")
	for _, share := range []float64{0.01, 0.05, 0.2, 0.5} {
		fmt.Fprintf(&b, "| %.0f %% |", 100*share)
		for _, n := range []float64{1, 2, 4, 8} {
			fmt.Fprintf(&b, " %.1f |", m.gain(share, n))
		}
		fmt.Fprintf(&b, " %.1f | %.1f times its usual work |\n", m.most(share), m.alone(share)/(share*m.write))
	}
	return b.String()
}

func us(seconds float64) string { return fmt.Sprintf("%.0f us", 1e6*seconds) }

// mix is what one read and one write cost, in seconds of a processor.
type mix struct{ read, write, replay float64 }

// alone is what a statement costs, on average, where one server does everything.
func (m mix) alone(writes float64) float64 { return writes*m.write + (1-writes)*m.read }

// gain is how many times as many statements n replicas and a primary can do as one
// server: until the primary has its writes to do, or each replica its share of the reads
// and the replay of every write.
func (m mix) gain(writes, n float64) float64 {
	return m.alone(writes) / max(writes*m.write, (1-writes)*m.read/n+writes*m.replay)
}

// most is the same with more replicas than anybody has.
func (m mix) most(writes float64) float64 { return m.alone(writes) / (writes * max(m.write, m.replay)) }
