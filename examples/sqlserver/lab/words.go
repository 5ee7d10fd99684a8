package main

import (
	"fmt"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// words says to a person what the phases and the strategies were.
var words = orderlab.Words{
	Phases: map[string]string{
		"healthy":            "Everything healthy",
		"one_redo_paused":    "Redo paused on one of two secondaries",
		"redo_paused":        "Redo paused on both",
		"commits_hidden":     "Commits hidden from readers on both",
		"suspended":          "Data movement suspended on both",
		"failover":           "A planned failover, with requests under way",
		"forced_failover":    "A forced failover that loses commits",
		"listener":           "The listener with read-only routing alone",
		"no_permission":      "No permission on the views",
		"marker":             "A marker table, and no permission on the views",
		"marker_redo_paused": "A marker table, redo paused on both",
	},
	Strategies: map[string]string{
		"plain":             "GORM alone, all on the primary",
		"dbresolver":        "dbresolver, as its README shows",
		"lag_seconds":       "secondary_lag_seconds = 0 is trusted",
		"hardened":          "last_hardened_lsn is trusted",
		"position":          "last_commit_lsn is trusted",
		"routed":            "readsplit, a session per customer",
		"routed_no_session": "readsplit, db.Use and nothing else",
		"routed_stated":     "readsplit, sessions, StatedLag 0.1 s",
	},
	Remark: remark,
}

// remark is what else a person should know.
func remark(o *orderlab.Outcome) (text string) {
	if o.Failed > 0 {
		text += fmt.Sprintf("   %d reads failed", o.Failed)
	}
	if o.FailedWrites > 0 {
		text += fmt.Sprintf("   %d writes failed, and were made again", o.FailedWrites)
	}
	if o.Lost > 0 {
		text += fmt.Sprintf("   %d orders were lost", o.Lost)
	}
	return text
}
