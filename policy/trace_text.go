package policy

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// String renders t for people, several lines with a newline at the end of each:
// the decision, the verdicts on the request, and for each replica what counted,
// who objected and who did not.
func (t Trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t.target(), t.Decision.Reason)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	writeVerdicts(w, "request", t.Request)
	for i := range t.Replicas {
		r := &t.Replicas[i]
		fmt.Fprintf(w, "  %s\t%s\n", r.Name, r.standing())
		writeVerdicts(w, "", r.Verdicts)
	}
	if t.Lifted {
		fmt.Fprintf(w, "  bounds on staleness lifted: the primary is lost\n")
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}

func (t *Trace) target() string {
	switch t.Decision.Target {
	case ToReplica:
		if i := t.Decision.Replica; i < len(t.Replicas) {
			if !t.Replicas[i].Chosen {
				return "one of " + strings.Join(t.May(), ", ")
			}
			return "replica " + t.Replicas[i].Name
		}
	case Wait:
		return fmt.Sprintf("wait %v", t.Decision.Wait)
	}
	return t.Decision.Target.String()
}

func (r *ReplicaTrace) standing() string {
	switch {
	case r.Chosen:
		return fmt.Sprintf("chosen, %d in flight", r.InFlight)
	case r.Objection == ReasonNone:
		return fmt.Sprintf("may serve, %d in flight", r.InFlight)
	}
	return r.Objection.String()
}

func writeVerdicts(w *tabwriter.Writer, name string, verdicts []Verdict) {
	var yes, no []string
	for _, v := range verdicts {
		text := v.Rule
		if v.Reason != ReasonNone {
			text += " " + v.Reason.String()
		}
		if v.Detail != "" {
			text += " (" + v.Detail + ")"
		}
		if v.Reason == ReasonNone {
			yes = append(yes, text)
		} else {
			no = append(no, text)
		}
	}
	for _, line := range []struct {
		label string
		texts []string
	}{{"no:", no}, {"ok:", yes}} {
		if len(line.texts) > 0 {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", name, line.label, strings.Join(line.texts, ", "))
			name = ""
		}
	}
}
