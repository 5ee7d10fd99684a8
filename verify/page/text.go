// Package page shows a violation to a person: as lines, and as a page with bars.
package page

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
)

// Finding is a violation and the run that it was found in.
type Finding struct {
	Header    history.Header
	Violation check.Violation
}

// Text writes the timeline of a violation. Times are milliseconds since its first
// event.
func Text(w io.Writer, f Finding) error {
	v := &f.Violation
	if _, err := fmt.Fprintf(w, "VIOLATION of %s: %s\n  %s, episode %s, seed %d, PostgreSQL %s; again: %s\n",
		v.Rule, v.Text, f.Header.Plugin, f.Header.Episode, f.Header.Seed, f.Header.Server, f.Header.Command); err != nil {
		return err
	}
	zero := origin(v)
	for i := range v.Timeline {
		e := &v.Timeline[i]
		if _, err := fmt.Fprintf(w, "  %10.3f .. %10.3f  %-24s %s\n", at(e.Invoke, zero), at(e.Return, zero), who(e), what(e)); err != nil {
			return err
		}
	}
	return nil
}

// origin is the beginning of the first event that is no fault: a fault may have
// begun long before.
func origin(v *check.Violation) int64 {
	for i := range v.Timeline {
		if v.Timeline[i].Kind != history.KindFault {
			return v.Timeline[i].Invoke
		}
	}
	return 0
}

func at(t, zero int64) float64 { return float64(t-zero) / float64(time.Millisecond) }

func who(e *history.Event) string {
	if e.Kind == history.KindFault {
		return "fault on " + e.On
	}
	session := e.Session
	if session == "" {
		session = "no session"
	}
	return fmt.Sprintf("p%d c%d %s", e.Process, e.Client, session)
}

func what(e *history.Event) string {
	var b strings.Builder
	switch e.Kind {
	case history.KindFault:
		b.WriteString(e.Fault)
		if e.Promoted != "" {
			b.WriteString(", " + e.Promoted + " took over")
		}
		return b.String()
	case history.KindToken, history.KindJoin:
		fmt.Fprintf(&b, "%s %s", e.Kind, e.Token)
	default:
		fmt.Fprintf(&b, "%s by %s", e.Kind, e.Way)
	}
	if e.Mode != history.Normal {
		fmt.Fprintf(&b, " (%s", e.Mode)
		if e.Bound > 0 {
			fmt.Fprintf(&b, " %v", e.Bound)
		}
		b.WriteString(")")
	}
	for _, w := range e.Writes {
		fmt.Fprintf(&b, " %s=%s", w.Key, w.Value)
		if w.Version > 0 {
			fmt.Fprintf(&b, "@%d", w.Version)
		}
	}
	for _, r := range e.Reads {
		if history.IsRegister(r.Key) {
			fmt.Fprintf(&b, " %s=%s@%d", r.Key, r.Value, r.Version)
		} else {
			fmt.Fprintf(&b, " %s=%v", r.Key, brief(r.Values))
		}
	}
	if e.Async {
		b.WriteString(" not waited for")
	}
	fmt.Fprintf(&b, ": %s", e.Result)
	if e.Error != "" {
		fmt.Fprintf(&b, " (%s)", e.Error)
	}
	if e.Server != "" {
		fmt.Fprintf(&b, ", %s", e.Server)
	}
	if e.Reason != "" {
		fmt.Fprintf(&b, " because %s", e.Reason)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, ", attempt %d", e.Attempts)
	}
	return b.String()
}

// brief leaves out the front of a long list.
func brief(values []string) string {
	const most = 8
	if len(values) <= most {
		return "[" + strings.Join(values, " ") + "]"
	}
	return fmt.Sprintf("[.. %d more .. %s]", len(values)-most, strings.Join(values[len(values)-most:], " "))
}
