package otel

import (
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/policy"
)

// servers reports the primary, unless it is the plugin's and was reported with it,
// and the replicas.
func (r *round) servers(s *readsplit.Status, l labels) {
	pool := func(server string) string {
		if s.Resolver == "" {
			return server
		}
		return s.Resolver + "/" + server
	}
	// Where there is nothing to choose between, the primary may never be asked, and
	// nobody could tell that from a primary that does not answer.
	if !s.SharesPrimary {
		if len(s.Replicas) > 0 || !s.Primary.Sampled.IsZero() {
			r.server(&s.Primary, false, stateOf(&s.Primary, false, false, r.now), l)
		}
		r.pool(&s.Primary.Pool, l, pool(primaryName))
	}
	for i := range s.Replicas {
		x := &s.Replicas[i]
		r.server(x, true, stateOf(x, true, s.Failover.Follows(x.Name) || x.IsPrimary && x.Discovered, r.now), l)
		r.replica(x, l)
		if !x.Reserved {
			r.pool(&x.Pool, l, pool(x.Name))
		}
		for j := range x.Groups {
			r.pool(&x.Groups[j].Pool, l, pool(x.Name+"@"+x.Groups[j].Group))
		}
	}
}

func (r *round) server(s *readsplit.ServerStatus, replica bool, is string, l labels) {
	l = l.with(keyServer.String(s.Name), role(replica))
	r.flag(r.in.up, s.Up, l)
	for _, state := range states {
		r.flag(r.in.state, state == is, l, keyState.String(state))
	}
	if !s.Sampled.IsZero() {
		r.seconds(r.in.age, max(r.now.Sub(s.Sampled), 0), l)
	}
}

func (r *round) replica(s *readsplit.ServerStatus, l labels) {
	l = l.with(keyServer.String(s.Name))
	if s.LagKnown {
		r.seconds(r.in.lag, s.Lag, l)
		r.count(r.in.behind, s.BehindBytes, l)
	}
	if s.CatchUp > 0 {
		r.seconds(r.in.catchUp, s.CatchUp, l)
	}
	r.ObserveInt64(r.in.inFlight, s.InFlight, r.with(l))
	for kind, n := range s.Conflicts {
		r.count(r.in.serverConflicts, n, l, keyConflict.String(kind.String()))
	}
}

// states are what a server can be in: one at a time, by the words of the status page.
var states = []string{"up", "behind", "paused", "cut_off", "unproven", "stated", "ejected", "drained", "balanced", "writable", "primary", "down", "unknown"}

// failoverStates are what an election can come to.
var failoverStates = []failover.State{failover.Unknown, failover.Elected, failover.Lost, failover.Tied, failover.Superseded}

// behind is from when on a replica is called behind.
const behind = time.Second

// stateOf is the state of a server, what is worst about it first. elected: it was a
// replica and is the primary that is followed.
func stateOf(s *readsplit.ServerStatus, replica, elected bool, now time.Time) string {
	switch {
	case s.Sampled.IsZero():
		return "unknown"
	case !s.Up:
		return "down"
	case replica && s.Role == policy.RolePrimary && elected:
		return "primary"
	case replica && s.Role == policy.RolePrimary:
		return "writable"
	case s.Drained:
		return "drained"
	case now.Before(s.EjectedUntil):
		return "ejected"
	case s.Balanced:
		return "balanced"
	case s.NoPosition && s.StatedLag == 0:
		return "unproven"
	case s.NoPosition:
		return "stated"
	case s.Paused:
		return "paused"
	case s.CutOff:
		return "cut_off"
	case s.Role == policy.RoleLogical:
		return "up" // it has no lag that could be unproven
	case replica && !s.LagKnown:
		return "unproven"
	case replica && s.Lag >= behind:
		return "behind"
	default:
		return "up"
	}
}
