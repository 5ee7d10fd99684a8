package main

import (
	"fmt"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// words says to a person what the phases and the strategies were.
var words = orderlab.Words{Phases: map[string]string{
	"healthy":            "Everything healthy",
	"rush":               "The same without a pause between orders",
	"replay_paused":      "Both replicas stopped replaying",
	"one_replica_paused": "One of two replicas stopped replaying",
	"replica_killed":     "One of two replicas killed and started again",
}, Strategies: map[string]string{
	"dbresolver":        "dbresolver, as its README shows",
	"sticky":            "primary for 5 s after a write",
	"routed":            "readsplit, a session per customer",
	"routed_no_session": "readsplit, db.Use and nothing else",
}, Remark: remark}

// table renders the outcomes for a person.
func table(outcomes []*orderlab.Outcome, g *guarded) string {
	text := words.Table(outcomes)
	if g != nil {
		text += fmt.Sprintf("\nA write in a read session\n  %-36s refused %d of %d, statements that reached a server: %d\n",
			"readsplit.ReadOnly", g.panicked, g.attempts, g.sent)
	}
	return text
}

// remark is what else a person should know.
func remark(o *orderlab.Outcome) string {
	switch {
	case o.Failed > 0:
		return fmt.Sprintf("   %d reads failed", o.Failed)
	case o.Phase == "replica_killed":
		return "   no read failed"
	}
	return ""
}
