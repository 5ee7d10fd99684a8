package main

import (
	"strings"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// deceived are those who must miss orders, by phase: what they go by is no proof there.
var deceived = map[string][]string{
	"redo_paused":     {"dbresolver", "lag_seconds", "hardened"},
	"one_redo_paused": {"dbresolver"},
	"commits_hidden":  {"position"},
	"suspended":       {"dbresolver", "lag_seconds"},
}

// problems is what is wrong with an outcome; none: it is as it has to be.
func problems(o *orderlab.Outcome) []string {
	all := o.Doubts()
	for _, strategy := range deceived[o.Phase] {
		// With one of two secondaries at fault half of the own lists are right by chance.
		if o.Strategy == strategy && o.Missed*4 < o.Orders {
			all = append(all, o.Problem("%d of %d orders were missing, at least a quarter should be: the lab proves nothing", o.Missed, o.Orders))
		}
	}
	// What was redone is there, as far as this double goes; what a real server does is to
	// be found out.
	if o.Strategy == "plain" || o.Strategy == "position" && o.Phase != "commits_hidden" {
		all = append(all, o.Losses()...)
	}
	if !strings.HasPrefix(o.Strategy, "routed") {
		return all
	}
	all = append(all, o.Losses()...)
	if o.Moved {
		// What was under way on the old primary has nowhere else to go: docs/retries.md.
		if o.FailedElsewhere > 0 {
			all = append(all, o.Problem("%d lists failed on secondaries: %v", o.FailedElsewhere, o.Failure))
		}
	} else {
		all = append(all, o.Failures()...)
	}
	switch {
	case o.Phase == "healthy" && o.Strategy == "routed" && o.OnReplicas() == 0:
		all = append(all, o.Problem("no list was made by a secondary: %s", o.WhyPrimary()))
	case strings.HasSuffix(o.Phase, "redo_paused") && o.Phase != "one_redo_paused" && o.OnPrimary() < o.Orders:
		all = append(all, o.Problem("%d reads were on the primary, at least the own lists must be: no secondary has the orders of the trial", o.OnPrimary()))
	}
	return all
}
