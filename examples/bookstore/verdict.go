package main

import "fmt"

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
	// leastFaultReads is how many reads must have run while a fault was in force.
	leastFaultReads = 100
)

// problems is what is wrong with an outcome; none: it is as it has to be. It holds
// dbresolver to its faults: where it does not show them, the lab proves nothing of
// the others.
func (o *outcome) problems() []string {
	all := o.faults()
	if o.phase == "healthy" && o.strategy == "routed" && o.share() < leastShareBusy {
		all = append(all, o.problem("%.1f%% of the reads were on replicas, at least %.0f%% should be: %s", 100*o.share(), 100*leastShareBusy, o.whyPrimary()))
	}
	return all
}

func (o *outcome) problem(format string, args ...any) string {
	return fmt.Sprintf("phase=%s strategy=%s: ", o.phase, o.strategy) + fmt.Sprintf(format, args...)
}

// faults are the problems that no busy machine can explain.
func (o *outcome) faults() (all []string) {
	say := func(format string, args ...any) { all = append(all, o.problem(format, args...)) }
	for _, d := range o.disagreements {
		say("who served the reads is in dispute: %s", d)
	}
	if o.failed > 0 {
		say("%d lists failed, the first with: %v", o.failed, o.failure)
	}
	if o.faulty && o.faultReads < leastFaultReads {
		say("only %d reads ran while the fault was in force, at least %d must: the trial proves nothing", o.faultReads, leastFaultReads)
	}
	if o.strategy == "dbresolver" {
		o.checkBaseline(say)
		return all
	}
	if o.missed > 0 {
		say("%d of %d orders were missing in a list that their customer read after the commit", o.missed, o.orders)
		for _, e := range o.evidence {
			say("%s", e)
		}
	}
	if o.strategy == "routed" {
		o.checkRouted(say)
	}
	return all
}

func (o *outcome) checkBaseline(say func(string, ...any)) {
	switch {
	case o.phase == "replay_paused" && o.missed < o.orders:
		say("%d of %d orders were missing, all should be while replay is paused: the lab proves nothing", o.missed, o.orders)
	case o.missed*10 < o.orders:
		say("%d of %d orders were missing, at least a tenth should be: the lab proves nothing", o.missed, o.orders)
	}
}

func (o *outcome) checkRouted(say func(string, ...any)) {
	switch o.phase {
	case "one_replica_paused":
		if o.share() < leastElsewhere {
			say("%.1f%% of the reads were on replicas, at least %.0f%% should be: those of %s belong on the other one", 100*o.share(), 100*leastElsewhere, o.broken)
		}
		if n := o.late[o.broken]; n > 0 {
			say("%s made %d lists although it was further behind than MaxLag", o.broken, n)
		}
	case "replica_killed":
		if o.inFlight == 0 {
			say("no read was in flight when %s was killed: the trial proves nothing", o.broken)
		}
		if o.late[o.broken] == 0 {
			say("%s was started again and made no list", o.broken)
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
