// Package conformance is one suite of tests that every kind of database has to pass with the plugin:
// a guarantee that was proven on PostgreSQL alone says nothing of the drivers, the errors and the
// transactions of another. It knows no driver. A [Bench] brings servers, what is said differently
// there, and the faults that can be injected; what it cannot inject is told in one list, never
// passed over in silence. docs/conformance.md says which trap is proven by what, and where.
package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// Undo ends a fault, and returns when it is over.
type Undo = func() error

// Bench is an engine with a primary and at least one replica. Two benches that are alike for
// PostgreSQL and SQL Server differ in nothing but the data here.
type Bench struct {
	// Name is how the list of what was not proven calls it.
	Name string
	SQL  SQL

	// Servers are named as they name themselves (SQL.Who), the primary first.
	Servers []string
	// Primary, and Replica for each other server, return a dialector that nobody has used.
	Primary func() gorm.Dialector
	Replica func(server string) gorm.Dialector
	// PrimaryAsReplica connects to the primary as an application would to a replica.
	PrimaryAsReplica func() gorm.Dialector
	// Past returns a pool to a server that the plugin knows nothing of. It stays open.
	Past func(server string) *sql.DB
	// CaughtUp returns when every replica that can shows what is committed now.
	CaughtUp func(context.Context) error
	// Configure is what every plugin on this bench needs; nil: nothing.
	Configure func(*readsplit.Config)
	// Follow lets a plugin follow the primary through a failover; nil: its address does that.
	Follow func(*readsplit.Config)

	// Proofs are the ways in which a replica proves that it shows a write.
	Proofs []Proof
	Faults Faults
}

// Proof is one way to prove that a replica shows a write: a position, a marker, time.
type Proof struct {
	Name      string
	Configure func(*readsplit.Config)
	// Window: after a write its session reads from the primary for Config.StickyWindow.
	// Position: only from a replica that is proven to have the write. One of them at least.
	Window, Position bool
	// Arrange makes the servers so; nil: they are.
	Arrange func(context.Context) (Undo, error)
}

// Faults are what can be done to the servers of a bench; nil is what cannot.
type Faults struct {
	// Pause lets a replica go on answering with what it shows now.
	Pause func(ctx context.Context, replica string) (Undo, error)
	// Suspend cuts the flow of log to a replica, so that it falls behind and knows it.
	Suspend func(ctx context.Context, replica string) (Undo, error)
	// Kill ends a replica until Undo starts it again.
	Kill func(ctx context.Context, replica string) (Undo, error)
	// Sever breaks all connections of the suite's plugins to a server, once.
	Sever func(ctx context.Context, server string) error
	// Fail returns a read of SQL.Who, as column server, that fails with an error on all
	// replicas and nowhere else. late: after rows have been sent.
	Fail func(ctx context.Context, code string, late bool) (read string, undo Undo, err error)
	// LoseCommit breaks the next COMMIT of this insert of a book on the primary.
	LoseCommit func(ctx context.Context) (insert string, undo Undo, err error)
	// Watch collects the statements that each server is sent, until it is stopped.
	Watch func(ctx context.Context) (stop func() (map[string][]string, error), err error)
	// Failover makes the first replica the primary, for good.
	Failover func(ctx context.Context) error
}

// capability is one of the Faults.
type capability string

const (
	pausing      capability = "a replica that stands still"
	suspending   capability = "a replica that gets nothing"
	killing      capability = "a replica that dies and comes back"
	severing     capability = "connections that are severed"
	failing      capability = "errors on command"
	losingCommit capability = "a COMMIT that nobody acknowledges"
	watching     capability = "what each server is sent"
	failingOver  capability = "a change of primary"
)

// has says whether the bench can do that.
func (f Faults) has(c capability) bool {
	switch c {
	case pausing:
		return f.Pause != nil
	case suspending:
		return f.Suspend != nil
	case killing:
		return f.Kill != nil
	case severing:
		return f.Sever != nil
	case failing:
		return f.Fail != nil
	case losingCommit:
		return f.LoseCommit != nil
	case watching:
		return f.Watch != nil
	case failingOver:
		return f.Failover != nil
	}
	return false
}

// test is one subject of the suite.
type test struct {
	name  string
	traps []int // those of GORM's that it is about
	// needs are faults without which it does not run; uses are those without which it proves
	// less: content, where without them only names tell who served.
	needs, uses []capability
	run         func(t *testing.T, s *suite)
}

// Run runs the suite and returns what the bench left unproven, one line each, which it
// prints last. A bench with all Faults leaves nothing.
func Run(t *testing.T, b Bench) (notProven []string) {
	s := newSuite(t, b)
	for _, c := range tests() {
		var lacks []string
		for _, n := range c.needs {
			if !b.Faults.has(n) {
				lacks = append(lacks, string(n))
			}
		}
		if lacks != nil {
			notProven = append(notProven, fmt.Sprintf("not proven here: %s (needs %s)", c.name, strings.Join(lacks, ", ")))
			continue
		}
		for _, n := range c.uses {
			if !b.Faults.has(n) {
				lacks = append(lacks, string(n))
			}
		}
		if lacks != nil {
			notProven = append(notProven, fmt.Sprintf("proven by names alone: %s (without %s)", c.name, strings.Join(lacks, ", ")))
		}
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if !slices.Contains(c.needs, failingOver) { // after that nothing is as it was
				s.begin(t)
			}
			c.run(t, s)
		})
	}
	if len(notProven) > 0 {
		t.Logf("%s:\n%s", b.Name, strings.Join(notProven, "\n"))
	}
	return notProven
}
