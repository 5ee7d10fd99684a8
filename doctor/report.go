package doctor

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Report is what was found.
type Report struct {
	// At is when the examination began, and Took how long it was.
	At   time.Time
	Took time.Duration
	// Servers are those that were named, the primary first.
	Servers []Examined
	// Application says that the running application of Topology.Status answered.
	Application bool
	// Findings are the worst first.
	Findings []Finding
}

// Examined is one server, as it answered.
type Examined struct {
	Name string `json:"name"`
	// Declared is what the topology says it is: primary or replica.
	Declared string `json:"declared"`
	// Is is what it says itself: primary, standby (secondary on SQL Server), or nothing
	// when it did not answer.
	Is string `json:"is,omitempty"`
	// Answered says that it was asked, or, of SQL Server without a driver in the program,
	// that its connection string could be read.
	Answered bool   `json:"answered"`
	Address  string `json:"address,omitempty"` // host:port
	// Product is PostgreSQL or SQL Server, and Version that of the server.
	Product string `json:"product,omitempty"`
	Version string `json:"version,omitempty"`
	// Server is the name that a SQL Server has for itself.
	Server string `json:"server,omitempty"`
	// System is the system identifier, on SQL Server the group_database_id.
	System   string `json:"system_identifier,omitempty"`
	Timeline uint32 `json:"timeline,omitempty"`
	// Behind is how many bytes it has to replay, and Lag an upper bound of how old it
	// is, in seconds; nil: not known, and of a primary.
	Behind *uint64  `json:"behind_bytes,omitempty"`
	Lag    *float64 `json:"lag_seconds,omitempty"`
}

// Worst is the severity of the worst finding.
func (r Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// ExitNotExamined is the exit status when nothing could be examined.
const ExitNotExamined = 3

// ExitStatus is for scripts: 0 where nothing is worse than a notice, 1 with
// warnings, 2 with problems, 3 where nobody answered: no server and no application.
func (r Report) ExitStatus() int {
	answered := slices.ContainsFunc(r.Servers, func(s Examined) bool { return s.Answered })
	if !answered && !r.Application {
		return ExitNotExamined
	}
	switch r.Worst() {
	case Problem:
		return 2
	case Warning:
		return 1
	default:
		return 0
	}
}

// Has reports whether there is a finding with this ID.
func (r Report) Has(id ID) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.ID == id })
}

// count is how many findings have each severity.
func (r Report) count() (n [4]int) {
	for _, f := range r.Findings {
		n[min(f.Severity, Problem)]++
	}
	return n
}

// MarshalJSON adds the counts and the exit status. Durations are in seconds.
func (r Report) MarshalJSON() ([]byte, error) {
	n := r.count()
	return json.Marshal(struct {
		At         time.Time      `json:"at"`
		Took       float64        `json:"took_seconds"`
		ExitStatus int            `json:"exit_status"`
		Summary    map[string]int `json:"summary"`
		Servers    []Examined     `json:"servers"`
		Findings   []Finding      `json:"findings"`
	}{
		r.At.UTC(), r.Took.Seconds(), r.ExitStatus(),
		map[string]int{"problem": n[Problem], "warning": n[Warning], "notice": n[Notice], "ok": n[OK]},
		append([]Examined{}, r.Servers...), append([]Finding{}, r.Findings...),
	})
}

// sorted puts the worst first, and otherwise keeps the order of kinds and servers.
func sorted(findings []Finding) []Finding {
	order := map[ID]int{}
	for i, k := range Kinds() {
		order[k.ID] = i
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(order[a.ID], order[b.ID]))
	})
	return findings
}
