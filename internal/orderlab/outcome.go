package orderlab

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Outcome is what a trial showed.
type Outcome struct {
	Phase, Strategy string
	Orders          int
	Missed          int            // orders that were missing in at least one list
	MissingReads    int            // lists in which an order was missing
	Failed          int            // lists that ended with an error
	Failure         error          // the first of these errors
	FailedElsewhere int            // of these, the ones that the router had not sent to the primary
	Reads           map[string]int // lists by the server that made them, of whichever primary under Primary
	OwnP50, OwnP99  time.Duration  // of the list right after the own order
	Reruns          int            // lists that were run more than once
	Disagreements   []string       // between the plugin and the servers, or among these
	Reasons         map[policy.Reason]int
	ToPrimary       map[policy.Reason]int // of these, the ones that sent a read to the primary

	Faulty       bool
	Broken       string         // the server that the fault is about; "" for all replicas
	Crashed      bool           // that server lost its counters in it
	Moved        bool           // another server became the primary in it
	FailedWrites int            // attempts to place an order that failed, and were made again
	Lost         int            // orders that were acknowledged and did not survive
	FaultReads   int            // lists that began and ended while the servers said that the fault is in force
	InFlight     int            // lists that were under way when it struck
	Late         map[string]int // lists by server, from when on the router must know of it
	Claims       bool           // the router says what it does
	Evidence     []string       // of the first lists in which an order was missing
	Took         time.Duration

	made   map[string]int // lists by the names that the servers give themselves
	called map[string]int // lists by the names that the plugin gives them
}

// mostEvidence is of how many lists the details are kept.
const mostEvidence = 5

// measure makes an outcome of what happened.
func (t *Trial) measure(r *record, inForce []Span) *Outcome {
	o := &Outcome{
		Phase: t.Phase, Strategy: t.Strategy.Name(), Orders: t.Orders, Missed: r.missed, Took: r.took, Faulty: t.Fault != nil,
		FailedWrites: r.failedWrites, Lost: r.lost,
		Reads: make(map[string]int), Late: make(map[string]int), Reasons: make(map[policy.Reason]int), ToPrimary: make(map[policy.Reason]int), made: make(map[string]int), called: make(map[string]int),
	}
	if f := t.Fault; f != nil {
		o.Broken, o.Crashed, o.Moved = f.Server, f.Crashes, f.Moves
	}
	var own []time.Duration
	for i := range r.readings {
		x := &r.readings[i]
		if x.err != nil {
			o.Failed++
			if !x.claim.made || x.claim.decision.Replica {
				o.FailedElsewhere++
			}
			if o.Failure == nil {
				o.Failure = x.err
			}
		} else {
			o.Reads[x.server()]++
			o.made[x.servedBy]++
			o.called[t.called(x)]++
		}
		if len(x.missing) > 0 {
			o.MissingReads++
			o.testify(t, x)
		}
		if x.own {
			own = append(own, x.ended.Sub(x.began))
		}
		if t.Fault != nil {
			o.face(t.Fault, x, inForce)
		}
		o.compareClaim(x, t.called(x))
	}
	o.OwnP50, o.OwnP99 = percentile(own, 0.50), percentile(own, 0.99)
	return o
}

// testify keeps the details of a list in which an order was missing.
func (o *Outcome) testify(t *Trial, x *reading) {
	if len(o.Evidence) == mostEvidence {
		return
	}
	order, reason := x.missing[0], "unknown"
	if x.claim.made {
		reason = x.claim.decision.Reason.String()
	}
	o.Evidence = append(o.Evidence, fmt.Sprintf(
		"order %d, placed by %s, was acknowledged %v before a list was asked for (own=%t) that %s made (reason %s) without it",
		order.number, t.Ways[order.number%len(t.Ways)], x.began.Sub(order.at), x.own, x.servedBy, reason))
}

// face counts a reading under a fault.
func (o *Outcome) face(f *Fault, x *reading, inForce []Span) {
	if x.within(inForce) {
		o.FaultReads++
	}
	if x.across(f.Struck) {
		o.InFlight++
	}
	if !f.Late.IsZero() && !x.began.Before(f.Late) {
		o.Late[x.server()]++
	}
}

// compareClaim holds what the plugin says of one read against the name in the
// list.
func (o *Outcome) compareClaim(x *reading, called string) {
	if !x.claim.made {
		return
	}
	d := x.claim.decision
	o.Claims = true
	o.Reasons[d.Reason]++
	if !d.Replica {
		o.ToPrimary[d.Reason]++
	}
	if d.Attempts > 1 {
		o.Reruns++
	}
	if o.Moved {
		return // the roles changed between the decision and the list, or not
	}
	if x.err == nil && (d.Server != called || d.Replica != x.replica) {
		o.disagree("DecisionOf says that %q (replica=%t, reason %s) served a list that %q made", d.Server, d.Replica, d.Reason, called)
	}
}

// compareStatus holds what the plugin has counted against the names in the lists.
func (o *Outcome) compareStatus(before, after readsplit.Status) {
	if o.Moved {
		return
	}
	differ := func(server string, counted uint64) {
		if counted != uint64(o.called[server]) {
			o.disagree("Status counts %d reads of %s, which made %d lists", counted, server, o.called[server])
		}
	}
	differ(Primary, after.PrimaryReads-before.PrimaryReads)
	for i, r := range after.Replicas {
		differ(r.Name, r.Reads-before.Replicas[i].Reads)
	}
	if o.All() > 0 && !o.Claims {
		o.disagree("DecisionOf says nothing of any read")
	}
}

// compareServers holds what the servers have counted against the names in the
// lists. A read whose first run came to nothing may have been counted where it
// ran first; at most retried of them.
func (o *Outcome) compareServers(executed map[string]int, retried int, f *Fault) {
	for _, server := range slices.Sorted(maps.Keys(executed)) {
		if f != nil && f.Crashes && f.Server == server {
			continue
		}
		n, made := executed[server], o.made[server]
		if n < made || n > made+retried+o.Failed {
			o.disagree("%s itself has counted %d lists, and %d lists bear its name (%d runs came to nothing)", server, n, made, retried)
		}
	}
}

func (o *Outcome) disagree(format string, args ...any) {
	o.Disagreements = append(o.Disagreements, fmt.Sprintf(format, args...))
}

// All is how many lists were made.
func (o *Outcome) All() (n int) {
	for _, reads := range o.Reads {
		n += reads
	}
	return n
}

// OnPrimary is how many lists a primary made.
func (o *Outcome) OnPrimary() int { return o.Reads[Primary] }

// OnReplicas is how many lists replicas made.
func (o *Outcome) OnReplicas() int { return o.All() - o.OnPrimary() }

// Share is the part of the lists that replicas made, from 0 to 1.
func (o *Outcome) Share() float64 {
	if o.All() == 0 {
		return 0
	}
	return float64(o.OnReplicas()) / float64(o.All())
}
