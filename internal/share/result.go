package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// result is what one cell gave.
type result struct {
	cell
	written  float64 // writes a second
	captures float64 // questions to the primary for its position, a second
	replica  int     // reads on replicas
	reasons  map[policy.Reason]int
	waited   int  // reads that waited for a position or a replica
	vain     int  // of those, on the primary in the end
	advised  bool // that sessions would help, by Status
	said     int  // how often the log says so
	missing  int  // reads that lacked what was acknowledged before
	took     []time.Duration
	plain    []time.Duration
}

func newResult(c cell) *result { return &result{cell: c, reasons: map[policy.Reason]int{}} }

// share is the share of reads that replicas served.
func (r *result) share() float64 { return float64(r.replica) / float64(max(len(r.took), 1)) }

// why says for which reasons reads ran on the primary, the most frequent first.
func (r *result) why() string {
	var all []policy.Reason
	for reason := range r.reasons {
		all = append(all, reason)
	}
	slices.SortFunc(all, func(a, b policy.Reason) int { return r.reasons[b] - r.reasons[a] })
	var said []string
	for _, reason := range all {
		said = append(said, fmt.Sprintf("%v %d", reason, r.reasons[reason]))
	}
	return strings.Join(said, ", ")
}

// ratio is how long a read took in the middle, of what plain GORM took.
func (r *result) ratio() float64 {
	return float64(quantile(r.took, 0.5)) / float64(max(quantile(r.plain, 0.5), 1))
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[int(q*float64(len(all)-1))]
}
