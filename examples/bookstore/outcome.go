package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// primary is the cluster_name of the primary, and how the plugin calls it.
const primary = "primary"

// outcome is what a trial showed.
type outcome struct {
	phase, strategy string
	orders          int
	missed          int            // orders that were missing in at least one list
	missingReads    int            // lists in which an order was missing
	failed          int            // lists that ended with an error
	failure         error          // the first of these errors
	reads           map[string]int // lists by the server that made them
	ownP50, ownP99  time.Duration  // of the list right after the own order
	reruns          int            // lists that were run more than once
	disagreements   []string       // between the plugin and the servers, or among these
	reasons         map[policy.Reason]int
	toPrimary       map[policy.Reason]int // of these, the ones that sent a read to the primary

	faulty     bool
	broken     string         // the server that the fault is about; "" for all replicas
	faultReads int            // lists that began and ended while the servers said that the fault is in force
	inFlight   int            // lists that were under way when it struck
	late       map[string]int // lists by server, from when on the router must know of it
	claims     bool           // the router says what it does
	evidence   []string       // of the first lists in which an order was missing
	took       time.Duration
}

// mostEvidence is of how many lists the details are kept.
const mostEvidence = 5

// measure makes an outcome of what happened.
func (t *trial) measure(r *record, inForce []span) *outcome {
	o := &outcome{
		phase: t.phase, strategy: t.strategy.name(), orders: t.orders, missed: r.missed, took: r.took, faulty: t.fault != nil,
		reads: make(map[string]int), late: make(map[string]int), reasons: make(map[policy.Reason]int), toPrimary: make(map[policy.Reason]int),
	}
	if t.fault != nil {
		o.broken = t.fault.server
	}
	var own []time.Duration
	for i := range r.readings {
		x := &r.readings[i]
		if x.err != nil {
			o.failed++
			if o.failure == nil {
				o.failure = x.err
			}
		} else {
			o.reads[x.servedBy]++
		}
		if len(x.missing) > 0 {
			o.missingReads++
			o.testify(x)
		}
		if x.own {
			own = append(own, x.ended.Sub(x.began))
		}
		if t.fault != nil {
			o.face(t.fault, x, inForce)
		}
		o.compareClaim(x)
	}
	o.ownP50, o.ownP99 = percentile(own, 0.50), percentile(own, 0.99)
	return o
}

// testify keeps the details of a list in which an order was missing.
func (o *outcome) testify(x *reading) {
	if len(o.evidence) == mostEvidence {
		return
	}
	order, reason := x.missing[0], "unknown"
	if x.claim.made {
		reason = x.claim.decision.Reason.String()
	}
	o.evidence = append(o.evidence, fmt.Sprintf(
		"order %d, placed by %s, was acknowledged %v before a list was asked for (own=%t) that %s made (reason %s) without it",
		order.number, ways[order.number%len(ways)].name, x.began.Sub(order.at), x.own, x.servedBy, reason))
}

// face counts a reading under a fault.
func (o *outcome) face(f *fault, x *reading, inForce []span) {
	if x.within(inForce) {
		o.faultReads++
	}
	if x.across(f.struck) {
		o.inFlight++
	}
	if !f.late.IsZero() && !x.began.Before(f.late) {
		o.late[x.servedBy]++
	}
}

// compareClaim holds what the plugin says of one read against the name in the
// list.
func (o *outcome) compareClaim(x *reading) {
	if !x.claim.made {
		return
	}
	d := x.claim.decision
	o.claims = true
	o.reasons[d.Reason]++
	if !d.Replica {
		o.toPrimary[d.Reason]++
	}
	if d.Attempts > 1 {
		o.reruns++
	}
	if x.err == nil && (d.Server != x.servedBy || d.Replica != (x.servedBy != primary)) {
		o.disagree("DecisionOf says that %q (replica=%t, reason %s) served a list that %q made", d.Server, d.Replica, d.Reason, x.servedBy)
	}
}

// compareStatus holds what the plugin has counted against the names in the lists.
func (o *outcome) compareStatus(before, after readsplit.Status) {
	differ := func(server string, counted uint64) {
		if counted != uint64(o.reads[server]) {
			o.disagree("Status counts %d reads of %s, which made %d lists", counted, server, o.reads[server])
		}
	}
	differ(primary, after.PrimaryReads-before.PrimaryReads)
	for i, r := range after.Replicas {
		differ(r.Name, r.Reads-before.Replicas[i].Reads)
	}
	if o.all() > 0 && !o.claims {
		o.disagree("DecisionOf says nothing of any read")
	}
}

// compareServers holds what the servers have counted against the names in the
// lists. A read whose first run came to nothing may have been counted where it
// ran first; at most retried of them.
func (o *outcome) compareServers(executed map[string]int, retried int, f *fault) {
	for _, server := range slices.Sorted(maps.Keys(executed)) {
		if f != nil && f.crashes && f.server == server {
			continue
		}
		n, made := executed[server], o.reads[server]
		if n < made || n > made+retried+o.failed {
			o.disagree("pg_stat_statements on %s counts %d lists, and %d lists bear its name (%d runs came to nothing)", server, n, made, retried)
		}
	}
}

func (o *outcome) disagree(format string, args ...any) {
	o.disagreements = append(o.disagreements, fmt.Sprintf(format, args...))
}

// all is how many lists were made.
func (o *outcome) all() (n int) {
	for _, reads := range o.reads {
		n += reads
	}
	return n
}

func (o *outcome) onPrimary() int { return o.reads[primary] }

func (o *outcome) onReplicas() int { return o.all() - o.onPrimary() }

// share is the part of the lists that replicas made, from 0 to 1.
func (o *outcome) share() float64 {
	if o.all() == 0 {
		return 0
	}
	return float64(o.onReplicas()) / float64(o.all())
}
