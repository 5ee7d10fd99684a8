package discover

import (
	"slices"
	"strings"
	"time"
)

// Status is what a [Watch] knows.
type Status struct {
	// Source is what is asked; empty: nothing is discovered.
	Source string
	// Answered is when the newest answer came; zero: never.
	Answered time.Time
	// Failing is since when lookups fail, and Err why; zero and nil: they do not.
	Failing time.Time
	Err     error
	// Empty says that the newest answer named nobody.
	Empty bool
	// Servers are in use, or were found and are not, by name.
	Servers []Found
}

// Found is a server of a [Status].
type Found struct {
	Server
	// InUse: it was added. Leaving: it is being taken out, and reads end there.
	InUse, Leaving bool
	// Missing is since when it is not in the answers; zero: it is.
	Missing time.Time
	// Why it is not in use.
	Why error
}

// found returns the servers by name.
func (p *plan) found() []Found {
	all := make([]Found, 0, len(p.members))
	for _, m := range p.members {
		f := Found{Server: m.server, InUse: m.state == stateIn, Leaving: m.state == stateLeaving, Missing: m.missing, Why: m.why}
		switch {
		case m.state == stateNew:
			f.Server = m.wanted
		case !m.present && m.missing.IsZero():
			f.Missing = p.emptied
		}
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b Found) int { return strings.Compare(a.Name, b.Name) })
	return all
}
