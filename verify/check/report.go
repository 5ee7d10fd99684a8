// Package check judges a history: whether everybody saw what they were promised.
// It is pure: no I/O, no clock, no goroutine, and the same history gives the same
// report. It trusts the intervals of the events, the answers that clients got, and
// what the primary held at the end; it never trusts what a router says of itself,
// except to leave a read open for which the router says that nothing was promised.
//
// It is sound where it says violation: nothing is concluded from an unknown
// outcome, and of two events only the one that had returned before the other was
// invoked is taken to come first. What cannot be judged is counted as unknown.
package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/readsplit/readsplit/verify/history"
)

// Rule is what was broken.
type Rule string

// Rules.
const (
	// OwnWrites: a read missed a write that its session, or a token that it joined,
	// had been acknowledged.
	OwnWrites Rule = "read-your-writes"
	// Bounded: a read missed a write that was older than the bound it was promised.
	Bounded Rule = "bounded-staleness"
	// Current: a read that must be current missed a write that had been acknowledged.
	Current Rule = "fresh-is-current"
	// Order: of two writes, one of which was acknowledged before the other began, a
	// read showed the later without the earlier: monotonic writes, and writes follow
	// reads.
	Order Rule = "writes-in-order"
	// Parts: of one transaction's writes a read showed one without the other.
	Parts Rule = "all-of-a-transaction"
	// Backwards: a session saw less than it had seen before. Judged only where the
	// history says that this was promised.
	Backwards Rule = "monotonic-reads"
	// Twice: a write was run twice.
	Twice Rule = "no-write-twice"
	// Lost: a write that was acknowledged is gone.
	Lost Rule = "no-write-lost"
	// Undone: a write that had failed for certain was there, or one that somebody had
	// seen is gone.
	Undone Rule = "outcomes-are-true"
	// Stranger: a read showed what nobody had written there.
	Stranger Rule = "only-what-was-written"
	// Torn: of one transaction's writes the primary holds one and not the other.
	Torn Rule = "transactions-are-whole"
	// Served: a read failed.
	Served Rule = "reads-keep-working"
)

// Violation is one broken rule.
type Violation struct {
	Rule Rule
	Text string
	// Timeline is the least that shows it, in the order of time: the write that had
	// to be seen, how its session came to have to see it, the read, and the faults in
	// force between them.
	Timeline []history.Event
}

// Report is what was found.
type Report struct {
	Operations int // reads, writes, tokens and joins
	Faults     int
	Violations []Violation
	// Unknown is how many reads could not be judged: they showed what was lost in a
	// failover, or their router said that the primary was lost.
	Unknown int
	// OwnOnReplica is how many reads that had to see a write of their own session a
	// replica served. Without any of them nothing was proven.
	OwnOnReplica int
	// OnReplica and Reads are all reads that succeeded.
	OnReplica, Reads int
	// Excused is how many reads failed while the primary was broken, or where
	// nothing was promised.
	Excused int
	// LostExcused is how many acknowledged writes are gone as was said they may be:
	// not waited for, or in a failover.
	LostExcused int
	// WentBackwards is how many reads showed less than their session had seen, where
	// that is not promised.
	WentBackwards int
	// Monotonic is how many reads on replicas were held to what was seen before.
	Monotonic int
	// SaidUnknown is how many errors of writes said that nobody knows the outcome;
	// Overcautious is how many said so of a write that had failed for certain.
	SaidUnknown, Overcautious int
}

// Judge judges a history.
func Judge(h *history.History) *Report {
	j := &judge{h: h, report: &Report{}}
	j.index()
	j.outcomes()
	j.reads()
	slices.SortStableFunc(j.report.Violations, func(a, b Violation) int {
		return cmp.Compare(end(a), end(b))
	})
	return j.report
}

func end(v Violation) (at int64) {
	for i := range v.Timeline {
		if v.Timeline[i].Kind != history.KindFault {
			at = max(at, v.Timeline[i].Return)
		}
	}
	return at
}

// violation records a broken rule with what shows it.
func (j *judge) violation(rule Rule, shown []int, format string, args ...any) {
	slices.Sort(shown)
	shown = slices.Compact(shown)
	v := Violation{Rule: rule, Text: fmt.Sprintf(format, args...)}
	from, to := int64(0), int64(0)
	for n, i := range shown {
		e := j.h.Events[i]
		v.Timeline = append(v.Timeline, e)
		if n == 0 || e.Invoke < from {
			from = e.Invoke
		}
		to = max(to, e.Return)
	}
	for _, i := range j.faults {
		if f := &j.h.Events[i]; f.Invoke <= to && f.Return >= from && !slices.Contains(shown, i) {
			v.Timeline = append(v.Timeline, *f)
		}
	}
	slices.SortStableFunc(v.Timeline, func(a, b history.Event) int { return cmp.Compare(a.Invoke, b.Invoke) })
	j.report.Violations = append(j.report.Violations, v)
}
