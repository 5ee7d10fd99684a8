package main

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/internal/orderlab"
)

// deceived are those who must miss orders, by phase: what they go by is no proof there.
// It is a part of the orders: with one of two secondaries at fault half of the own lists
// are right by chance, and what was not redone yet sends readers to the primary.
var deceived = map[string]struct {
	strategies []string
	part       int // of one
}{
	"redo_paused":     {[]string{"dbresolver", "lag_seconds", "hardened"}, 1},
	"one_redo_paused": {[]string{"dbresolver"}, 4},
	"commits_hidden":  {[]string{"position"}, 50},
	"suspended":       {[]string{"dbresolver", "lag_seconds"}, 1},
}

// problems is what is wrong with an outcome; none: it is as it has to be.
func problems(o *orderlab.Outcome) []string {
	all := o.Doubts()
	if d := deceived[o.Phase]; slices.Contains(d.strategies, o.Strategy) && o.Missed*d.part < o.Orders {
		all = append(all, o.Problem("%d of %d orders were missing, at least %d should be: the lab proves nothing", o.Missed, o.Orders, o.Orders/d.part))
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
