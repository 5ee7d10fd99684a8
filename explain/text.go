package explain

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/readsplit/readsplit/policy"
)

// String renders r for people, several lines for each statement.
func (r *Report) String() string {
	var b strings.Builder
	if len(r.Statements) == 0 {
		b.WriteString("nothing would be run\n")
	}
	for i := range r.Statements {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(r.Statements[i].String())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// String renders s for people: what it is, what its session must see, what each rule
// said, and what comes of it.
func (s Statement) String() string {
	var b strings.Builder
	text := s.SQL
	if text == "" {
		text = s.Of
	}
	fmt.Fprintln(&b, text)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	line := func(label, format string, args ...any) {
		fmt.Fprintf(w, "  %s\t"+format+"\n", append([]any{label}, args...)...)
	}
	if s.Why != "" {
		line("class", "%s: %s", s.Class, s.Why)
	}
	if s.Resolver != "" {
		line("resolver", "%s", s.Resolver)
	}
	if s.Group != "" {
		line("group", "%s: %s", s.Group, s.GroupWhy)
	}
	if s.Session != "" {
		line("session", "%s", s.Session)
	}
	_ = w.Flush() // a strings.Builder does not fail
	if len(s.Trace.Request) > 0 {
		// Without its first line: the decision comes last, after what led to it.
		_, verdicts, _ := strings.Cut(s.Trace.String(), "\n")
		b.WriteString(verdicts)
	}
	for _, what := range s.Before {
		line("first", "%s", what)
	}
	if s.Err != nil {
		line("result", "fails before it is sent: %v", s.Err)
	} else {
		line("result", "%s: %s", s.where(), s.Reason)
		line("", "%s", s.Reason.Sentence())
		if remedy := s.Reason.Remedy(); remedy != "" {
			line("", "%s", remedy)
		}
	}
	for _, n := range s.Notes {
		line("note", "%s", n)
	}
	_ = w.Flush()
	return b.String()
}

// where says on which servers, and who chooses.
func (s *Statement) where() string {
	names := strings.Join(s.Servers, " or ")
	if may := s.Trace.May(); len(may) > 1 && s.Replica() && s.Trace.Decision.Target == policy.ToReplica {
		return fmt.Sprintf("%s (%s picks)", names, s.Trace.Balancer)
	}
	return names
}
