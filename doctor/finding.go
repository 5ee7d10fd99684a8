package doctor

import (
	"fmt"
	"slices"
)

// ID names a kind of finding. IDs are stable: scripts may rely on them.
type ID string

// Severity says how much a finding matters. The zero value is OK.
type Severity uint8

const (
	// OK: it was looked at, and is as it should be.
	OK Severity = iota
	// Notice: nothing is wrong; it is worth knowing.
	Notice
	// Warning: it works, and will hurt under load, in a failover, or later.
	Warning
	// Problem: reads, writes or the promises about them suffer now.
	Problem
)

var severities = []string{"ok", "notice", "warning", "problem"}

// String is ok, notice, warning or problem.
func (s Severity) String() string {
	if int(s) < len(severities) {
		return severities[s]
	}
	return "invalid"
}

// MarshalText is what String returns.
func (s Severity) MarshalText() ([]byte, error) {
	if int(s) >= len(severities) {
		return nil, fmt.Errorf("readsplit: severity %d: want 0 to %d", uint8(s), len(severities)-1)
	}
	return []byte(severities[s]), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("readsplit: severity %q: want one of %v", text, severities)
	}
	*s = Severity(i)
	return nil
}

// Finding is one thing that was found.
type Finding struct {
	ID       ID       `json:"id"`
	Severity Severity `json:"severity"`
	// Server is the name of the server that it is about; empty where it is about
	// all of them together.
	Server string `json:"server,omitempty"`
	// What was found, with the measured value.
	What string `json:"what"`
	// Why it matters: which promise it breaks, or what it hurts.
	Why string `json:"why,omitempty"`
	// Remedy is a command, a setting, or where to look.
	Remedy string `json:"remedy,omitempty"`
}

// found makes a finding; why comes from the table.
func found(id ID, s Severity, server, remedy, what string, args ...any) Finding {
	return Finding{ID: id, Severity: s, Server: server, What: fmt.Sprintf(what, args...), Why: why(id), Remedy: remedy}
}

// fine makes a finding of what is as it should be.
func fine(id ID, server, what string, args ...any) Finding {
	return Finding{ID: id, Server: server, What: fmt.Sprintf(what, args...)}
}
