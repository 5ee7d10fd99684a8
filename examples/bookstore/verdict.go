package main

import (
	"fmt"

	"github.com/readsplit/readsplit/internal/orderlab"
)

const (
	// leastShare is the part of the reads that replicas must serve when all is
	// healthy. A router that trusts sampled positions alone reaches 80 %.
	leastShare = 0.99
	// leastShareBusy is the same on a machine that is too busy to measure it: what
	// else runs keeps replicas from their work for longer than a read waits.
	leastShareBusy = 0.95
	// leastElsewhere is the same with one of two replicas paused. Its reads must go
	// to the other one: with those on the primary no more than two thirds are left.
	leastElsewhere = 0.8
)

// problems is what is wrong with an outcome; none: it is as it has to be. It holds
// dbresolver to its faults: where it does not show them, the lab proves nothing of
// the others.
func problems(o *orderlab.Outcome) []string {
	all := faults(o)
	if o.Phase == "healthy" && o.Strategy == "routed" && o.Share() < leastShareBusy {
		all = append(all, o.Problem("%.1f%% of the reads were on replicas, at least %.0f%% should be: %s", 100*o.Share(), 100*leastShareBusy, o.WhyPrimary()))
	}
	return all
}

// faults are the problems that no busy machine can explain.
func faults(o *orderlab.Outcome) []string {
	all := append(o.Doubts(), o.Failures()...)
	say := func(format string, args ...any) { all = append(all, o.Problem(format, args...)) }
	if o.Strategy == "dbresolver" {
		checkBaseline(o, say)
		return all
	}
	all = append(all, o.Losses()...)
	if o.Strategy == "routed" {
		checkRouted(o, say)
	}
	return all
}

func checkBaseline(o *orderlab.Outcome, say func(string, ...any)) {
	switch {
	case o.Phase == "replay_paused" && o.Missed < o.Orders:
		say("%d of %d orders were missing, all should be while replay is paused: the lab proves nothing", o.Missed, o.Orders)
	case o.Missed*10 < o.Orders:
		say("%d of %d orders were missing, at least a tenth should be: the lab proves nothing", o.Missed, o.Orders)
	}
}

func checkRouted(o *orderlab.Outcome, say func(string, ...any)) {
	switch o.Phase {
	case "one_replica_paused":
		if o.Share() < leastElsewhere {
			say("%.1f%% of the reads were on replicas, at least %.0f%% should be: those of %s belong on the other one", 100*o.Share(), 100*leastElsewhere, o.Broken)
		}
		if n := o.Late[o.Broken]; n > 0 {
			say("%s made %d lists although it was further behind than MaxLag", o.Broken, n)
		}
	case "replica_killed":
		if o.InFlight == 0 {
			say("no read was in flight when %s was killed: the trial proves nothing", o.Broken)
		}
		if o.Late[o.Broken] == 0 {
			say("%s was started again and made no list", o.Broken)
		}
	}
}

// problems is what is wrong with the guard.
func (g *guarded) problems() (all []string) {
	say := func(format string, args ...any) {
		all = append(all, "phase=read_only_guard: "+fmt.Sprintf(format, args...))
	}
	for _, name := range g.passed {
		say("%s through a read session did not panic with a *readonlyguard.Error", name)
	}
	if g.sent > 0 {
		say("the servers saw %d statements of writes that should have been refused before anything was sent", g.sent)
	}
	if g.control == 0 {
		say("the servers saw nothing of a write without the guard: the count proves nothing")
	}
	if g.readErr != nil {
		say("a list through the read session failed: %v", g.readErr)
	}
	return all
}
