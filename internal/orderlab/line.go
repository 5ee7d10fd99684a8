package orderlab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Line is the outcome in one line of key=value pairs, for programs.
func (o *Outcome) Line() string {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	put("phase=%s strategy=%s orders=%d missing_in_list=%d", o.Phase, o.Strategy, o.Orders, o.Missed)
	if o.Crashed {
		put(" failed_reads=%d", o.Failed)
	}
	put(" replica_reads=%d primary_reads=%d", o.OnReplicas(), o.OnPrimary())
	put(" own_read_p50=%s own_read_p99=%s", Millis(o.OwnP50), Millis(o.OwnP99))
	if o.Faulty {
		put(" fault_reads=%d", o.FaultReads)
	}
	put(" share=%.1f%% reads=%d", 100*o.Share(), o.All())
	for _, server := range slices.Sorted(maps.Keys(o.Reads)) {
		if server != Primary {
			put(" %s_reads=%d", server, o.Reads[server])
		}
	}
	if o.Missed > 0 {
		put(" lists_with_missing=%d", o.MissingReads)
	}
	switch {
	case o.Broken != "" && !o.Crashed && !o.Moved && o.Claims:
		put(" beyond_max_lag_reads=%d", o.Late[o.Broken])
	case o.Crashed:
		put(" in_flight=%d reruns=%d rejoined_reads=%d", o.InFlight, o.Reruns, o.Late[o.Broken])
	}
	if o.Moved {
		put(" lost=%d failed_writes=%d reruns=%d", o.Lost, o.FailedWrites, o.Reruns)
	}
	if !o.Crashed {
		put(" failed_reads=%d", o.Failed)
	}
	put(" took=%.1fs", o.Took.Seconds())
	return b.String()
}

// Explain lists why the router decided as it did, the most frequent reason first.
func (o *Outcome) Explain() string {
	var b strings.Builder
	for _, r := range ranked(o.Reasons) {
		fmt.Fprintf(&b, "    %6d  %s\n", o.Reasons[r], r)
	}
	return b.String()
}

// WhyPrimary names the reasons for which reads went to the primary.
func (o *Outcome) WhyPrimary() string {
	var parts []string
	for _, r := range ranked(o.ToPrimary) {
		parts = append(parts, fmt.Sprintf("%s %d", r, o.ToPrimary[r]))
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

// Millis is a duration as the lines show it.
func Millis(d time.Duration) string {
	return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
}
