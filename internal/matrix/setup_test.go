package matrix

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/readsplit/readsplit"
)

// setup is how an application uses GORM.
type setup struct {
	prepared bool // gorm.Config.PrepareStmt
	skipTx   bool // gorm.Config.SkipDefaultTransaction
	session  bool // contexts have a session
}

// setups are all combinations. The first is the one that the transcript shows.
//
// In the short form of make test they are half of them: each setting, and each pair of
// two settings, is there.
func setups() []setup {
	var all []setup
	for _, prepared := range []bool{false, true} {
		for _, skipTx := range []bool{false, true} {
			for _, session := range []bool{false, true} {
				if odd := (prepared != skipTx) != session; odd && testing.Short() {
					continue
				}
				all = append(all, setup{prepared, skipTx, session})
			}
		}
	}
	return all
}

func (s setup) String() string {
	var parts []string
	for _, p := range []struct {
		on   bool
		name string
	}{{s.prepared, "prepared"}, {s.skipTx, "no-default-tx"}, {s.session, "session"}} {
		if p.on {
			parts = append(parts, p.name)
		}
	}
	if parts == nil {
		return "plain"
	}
	return strings.Join(parts, "+")
}

// mark is something that a context says.
type mark struct {
	name string
	on   func(ctx context.Context) context.Context
	// expects returns the oracle of a cell under the mark, if it says anything about it.
	expects func(c *cell) (judge func(got outcome) []string, concerned bool)
}

// reporting is the group that the second replica alone is in.
const reporting = "reporting"

// marks are run with every cell that belongs to replicas alone, and those that pull to a replica with every cell that
// belongs to the primary alone.
var marks = []mark{
	{"Fresh", readsplit.Fresh, becomes(writes, "", false)},
	{"Stale", readsplit.Stale, becomes(reads, "", false)},
	{"AnyReplica", readsplit.AnyReplica, becomes(reads, "", true)},
	{"AtMost", func(ctx context.Context) context.Context { return readsplit.AtMost(ctx, time.Minute) }, becomes(reads, "", false)},
	{"Group", func(ctx context.Context) context.Context { return readsplit.Group(ctx, reporting) }, becomes(reads, "replica2", true)},
	{"ReadOnly", readsplit.ReadOnly, inReadSession},
}

// marksIn returns the marks that are run in a setup: all of them in one, and those that change most in another that
// differs in everything.
func marksIn(s setup) []mark {
	switch s {
	case setup{session: true}:
		return marks
	case setup{prepared: true, skipTx: true}:
		return slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.name == "Stale" || m.name == "AtMost" || m.name == "Group" })
	}
	return nil
}

// preferring are run where the configuration prefers the primary.
var preferring = []mark{
	{"PreferPrimary", func(ctx context.Context) context.Context { return ctx }, becomes(writes, "", false)},
	{"PreferPrimary, UseReplica", readsplit.UseReplica, becomes(reads, "", false)},
}

// becomes says where reads belong under a mark. What belongs to the primary stays there, whatever a context says; where
// the mark pulls, that is tried.
func becomes(want, server string, pulls bool) func(c *cell) (func(outcome) []string, bool) {
	return func(c *cell) (func(outcome) []string, bool) {
		switch c.want {
		case reads:
			return func(got outcome) []string {
				verdict := c.judgeAs(want, got)
				for _, s := range got.statements {
					if server != "" && s.server != server {
						verdict = append(verdict, "not in the group: "+s.server+" "+s.text)
					}
				}
				return verdict
			}, true
		case writes:
			if pulls && server == "" && c.anyReplica != "" {
				return func(got outcome) []string { return c.judgeAs(c.anyReplica, got) }, true
			}
			return c.judge, pulls
		}
		return nil, false
	}
}

// inReadSession: reads run as ever, and of everything else nothing is sent at all.
func inReadSession(c *cell) (func(outcome) []string, bool) {
	switch {
	case c.unseen:
		return nil, false
	case c.readSession != "":
		return func(got outcome) []string { return c.judgeAs(c.readSession, got) }, true
	case c.want == reads || c.want == nothing:
		return c.judge, true
	case c.want == writes:
		return func(got outcome) []string {
			var verdict []string
			if !got.refused {
				verdict = append(verdict, "not refused in a read session")
				verdict = append(verdict, got.failed...)
			}
			if len(got.statements) > 0 {
				verdict = append(verdict, "sent in a read session:\n"+lines(got.statements))
			}
			return verdict
		}, true
	}
	return nil, false
}
