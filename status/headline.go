package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Level is how bad a state is, in a word.
type Level string

// Levels, from the best to the worst.
const (
	Good    Level = "good"
	Unknown Level = "unknown" // nothing has answered yet
	Warn    Level = "warn"    // reads are served, and somebody should look
	Bad     Level = "bad"     // something does not work
)

var severity = map[Level]int{Good: 0, Unknown: 1, Warn: 2, Bad: 3}

// worse returns the worse of two levels.
func worse(a, b Level) Level {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

// Headline is the state of everything in a sentence or two.
type Headline struct {
	Level Level `json:"level"`
	// Text changes only with a state, so that it can be read aloud; numbers are in
	// Detail.
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
}

// headline sums a report up.
func headline(r *Report) Headline {
	h := Headline{Level: Good}
	var parts []string
	for i := range r.Routers {
		level, text := r.Routers[i].sentence()
		h.Level = worse(h.Level, level)
		if text != "" {
			parts = append(parts, text)
		}
		if d := r.Routers[i].detail(); d != "" {
			h.Detail = strings.TrimSpace(h.Detail + " " + d)
		}
	}
	if h.Text = strings.Join(parts, " "); h.Text == "" {
		h.Text = "All servers are up."
	}
	return h
}

// sentence is what is wrong with one primary and its replicas; empty: nothing.
func (r *Router) sentence() (Level, string) {
	level, serving, replicas := Good, 0, 0
	var wrong []string
	lost := r.lost()
	for i := range r.Servers {
		s := &r.Servers[i]
		level = worse(level, s.Level)
		if !s.Primary && s.State != statePrimary {
			replicas++
		}
		if s.serves() || lost && (s.State == statePaused || s.State == stateCutOff) {
			serving++ // their age, which nobody can prove now, keeps no read away
		}
		if s.Level != Good && (!lost || s.State != stateBehind) {
			wrong = append(wrong, r.of(s)+" "+inSentence[s.State])
		}
	}
	var text []string
	for _, h := range r.strangers() {
		level = worse(level, Warn)
		wrong = append(wrong, "the host "+h.Name+" "+hostInSentence[h.State])
	}
	if len(wrong) > 0 {
		text = append(text, sentence(wrong))
	}
	if says := r.Discovery.sentence(); says != "" {
		level = worse(level, Warn)
		text = append(text, says)
	}
	switch {
	case r.Traffic != nil && r.Traffic.KillSwitch:
		level = worse(level, Warn)
		text = append(text, "The kill switch is on: every read goes to the primary.")
	case replicas == 0 || level == Unknown:
	case lost && serving > 0:
		text = append(text, "Writes fail. Replicas go on serving reads, and nobody knows how old those are.")
	case lost:
		text = append(text, "Writes and reads fail.")
	case serving == 0:
		level = Bad
		text = append(text, "No replica can serve reads: all go to the primary.")
	case r.MostlyPrimary:
		level = worse(level, Warn)
		text = append(text, "Most reads go to the primary.")
	case len(wrong) > 0:
		text = append(text, r.serving()+" reads.")
	}
	return level, strings.Join(text, " ")
}

// lost reports whether the primary does not answer.
func (r *Router) lost() bool {
	return slices.ContainsFunc(r.Servers, func(s Server) bool { return s.Primary && s.State == stateDown })
}

// of is a server's name, with its resolver's.
func (r *Router) of(s *Server) string {
	switch {
	case s.Primary && r.Name == "":
		return "the primary"
	case s.Primary:
		return "the primary of " + r.Name
	case r.Name != "":
		return r.Name + "/" + s.Name
	}
	return s.Name
}

// serving names the replicas that can serve reads.
func (r *Router) serving() string {
	var names []string
	for i := range r.Servers {
		if s := &r.Servers[i]; s.serves() {
			names = append(names, r.of(s))
		}
	}
	if len(names) == 1 {
		return names[0] + " serves"
	}
	return list(names) + " serve"
}

// serves reports whether s is a replica that reads may go to.
func (s *Server) serves() bool { return !s.Primary && (s.State == stateUp || s.State == stateBehind) }

// inSentence are the states behind a name.
var inSentence = map[string]string{
	stateUnknown: "has not answered yet", stateDown: "is down", stateWritable: "is not a replica but a primary",
	stateDrained: "is out of service", stateEjected: "fails reads", stateBalanced: "is several servers",
	statePaused: "is paused", stateCutOff: "is cut off", stateUnproven: "is not proven to follow the primary",
	stateBehind: "is behind",
}

// strangers are hosts of an election that should be standbys, and are not, and that no
// replica's state tells of.
func (r *Router) strangers() (all []Host) {
	if r.Election == nil {
		return nil
	}
	for _, h := range r.Election.Hosts {
		known := h.Name == r.Election.Primary
		for i := range r.Servers {
			known = known || r.Servers[i].Name == h.Name
		}
		if !known && hostInSentence[h.State] != "" {
			all = append(all, h)
		}
	}
	return all
}

var hostInSentence = map[string]string{
	hostSilent: "does not answer", hostRefused: "is a primary of before, to which nothing is sent",
	hostForeign: "belongs to another database cluster",
}

// intended are reasons for the primary that somebody wants.
var intended = map[policy.Reason]bool{
	policy.ReasonKillSwitch: true, policy.ReasonPercent: true, policy.ReasonShadow: true,
	policy.ReasonPreferPrimary: true, policy.ReasonFresh: true, policy.ReasonNoReplicas: true,
}

// mainReason is the most frequent reason now for which reads go to the primary.
func (r *Router) mainReason() *Reason {
	for i := range r.Reasons { // the most frequent now first
		w := &r.Reasons[i]
		if !w.Replica && !w.Refused && w.PerSecond > 0 && w.Reason != policy.ReasonWrite && w.Reason != policy.ReasonUnknownStatement {
			return w
		}
	}
	return nil
}

// detail says how old what is behind is, who serves reads now, and why the others go to
// the primary.
func (r *Router) detail() string {
	var text []string
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.Lag != nil && (s.State == statePaused || s.State == stateCutOff || s.State == stateBehind) {
			text = append(text, fmt.Sprintf("%s shows data that is up to %s old.", r.of(s), age(time.Duration(*s.Lag*float64(time.Second)))))
		}
	}
	if s := r.share(); s != "" {
		text = append(text, s)
	}
	return strings.Join(text, " ")
}

func (r *Router) share() string {
	if r.Reads.ShareNow == nil {
		return ""
	}
	of := ""
	if r.Name != "" {
		of = " of " + r.Name
	}
	text := fmt.Sprintf("Replicas serve %s of %s reads a second%s.", percent(*r.Reads.ShareNow), number(r.Reads.PerSecond), of)
	if w := r.mainReason(); w != nil && *r.Reads.ShareNow < mostServed {
		text += fmt.Sprintf(" Most others go to the primary because %s (%s).", w.Because, w.Reason)
	}
	return text
}

// mostServed is the share of reads by replicas from which on the others need no reason.
const mostServed = 0.95

func percent(share float64) string {
	if share > 0.995 && share < 1 {
		return fmt.Sprintf("%.2f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

func number(perSecond float64) string {
	if perSecond < 10 && perSecond != float64(int(perSecond)) {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// list is "a, b and c".
func list(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}

// sentence is list with a full stop, and with a capital but for a server's name.
func sentence(all []string) string {
	text := list(all) + "."
	if rest, ok := strings.CutPrefix(text, "the "); ok {
		return "The " + rest
	}
	return text
}

// age is a duration for people.
func age(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
