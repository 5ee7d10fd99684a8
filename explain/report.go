package explain

import (
	"slices"
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// Primary is how the primary is called among Servers.
const Primary = "primary"

// Report is what was found about a piece of code.
type Report struct {
	// Statements are in the order in which they would be run.
	Statements []Statement
	// Notes say what was left out: hooks, connections of the code's own.
	Notes []string
}

// Statement is one statement, and where it would run.
type Statement struct {
	// SQL is the text with placeholders, as it would be sent; bind values are not in
	// it. "" where it depends on what another statement finds, see Of.
	SQL string
	// Of says what a statement without a text is ("preload Lines").
	Of string
	// Resolver is the name of the resolver that it belongs to; "" for the plugin's own
	// servers.
	Resolver string
	// Group is the group of replicas that it is meant for, and GroupWhy why, in words; ""
	// where it is meant for none.
	Group, GroupWhy string
	// Class, Verb and Flags are what its text, and the database's catalogue, say of it;
	// Why says the same in words.
	Class sqlclass.Class
	Verb  sqlclass.Verb
	Flags sqlclass.Flags
	Why   string
	// Session is what its session must see, in words.
	Session string
	// Servers are where it may run, in the order of the configuration: one name, or
	// several where a balancer picks, or where that depends on what Before says. Empty:
	// nowhere, see Err.
	Servers []string
	// Reason is why, from the closed list; what it means is Reason.Sentence.
	Reason policy.Reason
	// Waits is how long it would wait for a replica at most.
	Waits time.Duration
	// Before says what would be done before it runs and was not done here: a question to
	// the primary, a wait for a replica, a place in a budget. What comes of it is not
	// known; where Before is empty, nothing but the passing of time can make it run
	// anywhere but on one of Servers.
	Before []string
	// Trace are the verdicts of the rules; its Replicas are empty where the statement,
	// its context or what it belongs to decided alone.
	Trace policy.Trace
	// Err is what it would fail with instead of being sent.
	Err error
	// Notes say what else is to be known of it.
	Notes []string
}

// Replica reports whether s is sure to run on a replica.
func (s *Statement) Replica() bool {
	return len(s.Servers) > 0 && !slices.Contains(s.Servers, Primary)
}

// Primary reports whether s is sure to run on the primary.
func (s *Statement) Primary() bool { return len(s.Servers) == 1 && s.Servers[0] == Primary }

// MayRunOn reports whether s may run on a server.
func (s *Statement) MayRunOn(server string) bool { return slices.Contains(s.Servers, server) }
