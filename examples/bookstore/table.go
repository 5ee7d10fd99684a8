package main

import (
	"fmt"
	"strings"
)

// titles says to a person what a phase was.
var titles = map[string]string{
	"healthy":            "Everything healthy",
	"rush":               "The same without a pause between orders",
	"replay_paused":      "Both replicas stopped replaying",
	"one_replica_paused": "One of two replicas stopped replaying",
	"replica_killed":     "One of two replicas killed and started again",
}

// names says to a person what a strategy is.
var names = map[string]string{
	"dbresolver":        "dbresolver, as its README shows",
	"sticky":            "primary for 5 s after a write",
	"routed":            "readsplit, a session per customer",
	"routed_no_session": "readsplit, db.Use and nothing else",
}

// table renders the outcomes for a person.
func table(outcomes []*outcome, g *guarded) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-38s %-20s %-10s %s\n", "", "orders missing in", "reads on", "own list:")
	fmt.Fprintf(&b, "%-38s %-20s %-10s %s\n", "", "the customer's list", "replicas", "half / 99% within")
	phase := ""
	for _, o := range outcomes {
		if o.phase != phase {
			phase = o.phase
			fmt.Fprintf(&b, "\n%s, %d orders\n", titles[phase], o.orders)
		}
		fmt.Fprintf(&b, "  %-36s %-20s %-10s %s / %s%s\n", names[o.strategy],
			fmt.Sprintf("%d of %d", o.missed, o.orders), fmt.Sprintf("%.1f%%", 100*o.share()),
			millis(o.ownP50), millis(o.ownP99), remark(o))
	}
	if g != nil {
		fmt.Fprintf(&b, "\nA write in a read session\n  %-36s refused %d of %d, statements that reached a server: %d\n",
			"readsplit.ReadOnly", g.panicked, g.attempts, g.sent)
	}
	return b.String()
}

// remark is what else a person should know.
func remark(o *outcome) string {
	switch {
	case o.failed > 0:
		return fmt.Sprintf("   %d reads failed", o.failed)
	case o.phase == "replica_killed":
		return "   no read failed"
	}
	return ""
}
