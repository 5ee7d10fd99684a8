package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// line is the outcome in one line of key=value pairs, for programs.
func (o *outcome) line() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("phase=%s strategy=%s orders=%d missing_in_list=%d", o.phase, o.strategy, o.orders, o.missed)
	if o.phase == "replica_killed" {
		put(" failed_reads=%d", o.failed)
	}
	put(" replica_reads=%d primary_reads=%d", o.onReplicas(), o.onPrimary())
	put(" own_read_p50=%s own_read_p99=%s", millis(o.ownP50), millis(o.ownP99))
	if o.faulty {
		put(" fault_reads=%d", o.faultReads)
	}
	put(" share=%.1f%% reads=%d", 100*o.share(), o.all())
	for _, server := range slices.Sorted(maps.Keys(o.reads)) {
		if server != primary {
			put(" %s_reads=%d", server, o.reads[server])
		}
	}
	if o.missed > 0 {
		put(" lists_with_missing=%d", o.missingReads)
	}
	switch {
	case o.phase == "one_replica_paused" && o.claims:
		put(" beyond_max_lag_reads=%d", o.late[o.broken])
	case o.phase == "replica_killed":
		put(" in_flight=%d reruns=%d rejoined_reads=%d", o.inFlight, o.reruns, o.late[o.broken])
	}
	if o.phase != "replica_killed" {
		put(" failed_reads=%d", o.failed)
	}
	put(" took=%.1fs", o.took.Seconds())
	return b.String()
}

// explain lists why the router decided as it did, the most frequent reason first.
func (o *outcome) explain() string {
	var b strings.Builder
	for _, r := range ranked(o.reasons) {
		fmt.Fprintf(&b, "    %6d  %s\n", o.reasons[r], r)
	}
	return b.String()
}

// whyPrimary names the reasons for which reads went to the primary.
func (o *outcome) whyPrimary() string {
	var parts []string
	for _, r := range ranked(o.toPrimary) {
		parts = append(parts, fmt.Sprintf("%s %d", r, o.toPrimary[r]))
	}
	return strings.Join(parts, ", ")
}

// ranked are the reasons, the most frequent one first.
func ranked(reasons map[policy.Reason]int) []policy.Reason {
	return slices.SortedFunc(maps.Keys(reasons), func(a, b policy.Reason) int {
		if d := reasons[b] - reasons[a]; d != 0 {
			return d
		}
		return int(a) - int(b)
	})
}

// line is what the guard did, in one line.
func (g *guarded) line() string {
	return fmt.Sprintf("phase=read_only_guard panicked=%t sent=%d attempts=%d sent_without_guard=%d",
		g.panicked == g.attempts, g.sent, g.attempts, g.control)
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
