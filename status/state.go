package status

import (
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/policy"
)

// behind is from when on a replica is called behind: reads that ask for nothing still
// go there until Config.MaxLag.
const behind = time.Second

// States of a server, for people.
const (
	stateUp       = "up"
	stateUnknown  = "unknown"
	stateDown     = "down"
	stateWritable = "writable"
	statePrimary  = "primary"
	stateDrained  = "drained"
	stateEjected  = "ejected"
	stateBalanced = "balanced"
	statePaused   = "paused"
	stateCutOff   = "cut off"
	stateUnproven = "unproven"
	stateBehind   = "behind"
	stateStated   = "stated"
)

// behindNobody is said of a replica whose lag grows because nobody is there to compare
// it with: whoever is woken must not look for a slow replay while the primary is down.
const behindNobody = "Nothing is known to be wrong here. How old it is cannot be proven while the primary is down. Look at the primary."

// state is a server in a word, how bad that is, and what whoever is on call does about
// it. elected: it was a replica and is the primary that is followed.
func state(s *readsplit.ServerStatus, primary, elected bool, now time.Time) (word string, level Level, advice string) {
	switch {
	case s.Sampled.IsZero():
		return stateUnknown, Unknown, "It has not answered yet. Is its address right, and does its role have the right to connect?"
	case !s.Up && primary:
		return stateDown, Bad, "It cannot be reached: writes fail, and nobody can prove how old replicas are. Bring it back, or promote a replica."
	case !s.Up:
		return stateDown, Bad, "No read goes there. Look at the server and its log; reads return by themselves."
	case !primary && s.IsPrimary && s.Discovered:
		return statePrimary, Good, "It is the primary, which discovery names among the others. It is read from once it is a standby."
	case !primary && s.Role == policy.RolePrimary && elected:
		return statePrimary, Good, "It was promoted and is the primary now: writes go there."
	case !primary && s.Role == policy.RolePrimary:
		return stateWritable, Bad, "It is not in recovery: it was promoted, or the address is wrong. No read goes there, and writes do not follow it by themselves (docs/failover.md)."
	case s.Drained:
		return stateDrained, Warn, "An operator has taken it out of service. Put it back when the work is done."
	case now.Before(s.EjectedUntil):
		return stateEjected, Warn, "It answers probes, but reads failed there one after the other: it is left alone for a while. Look at its log."
	case s.Balanced:
		return stateBalanced, Good, "The name answers as several servers: each read that asks for something finds out on its own connection what it is shown. Give each server a name of its own in Config.Replicas if you can."
	case s.NoPosition && s.StatedLag == 0 && s.NoPositionWhy != "":
		return stateUnproven, Warn, "It tells no position (" + s.NoPositionWhy + "): only AnyReplica and Stale are served there. Let positions be read (docs/sqlserver.md), or set Config.SQLServer.Marker or Replica.StatedLag."
	case s.NoPosition && s.NoPositionWhy != "":
		return stateStated, Good, "It tells no position (" + s.NoPositionWhy + "): how old it is rests on Replica.StatedLag, and for Config.StickyWindow after a write its session reads from the primary."
	case s.NoPosition && s.StatedLag == 0:
		return stateUnproven, Warn, "It does not tell its replay position: only AnyReplica and Stale are served there. Let its role ask for it (GRANT EXECUTE on pg_last_wal_replay_lsn() and its like), or set Replica.StatedLag."
	case s.NoPosition:
		return stateStated, Good, "It does not tell its replay position: how old it is rests on Replica.StatedLag, and for Config.StickyWindow after a write its session reads from the primary."
	case s.Paused:
		return statePaused, Warn, "Somebody paused replay, and its data gets older. When that is over, run there: SELECT pg_wal_replay_resume()"
	case s.CutOff:
		return stateCutOff, Bad, "It receives nothing from the primary, and its data gets older. Look at the network between them, and in its log for the WAL receiver: its slot, its right to connect, WAL that is gone."
	case s.Role == policy.RoleLogical && s.Subscription != nil && s.Subscription.Running < s.Subscription.Count:
		return stateCutOff, Warn, "It is fed by logical replication, and a subscription has no worker: its data gets older. Look at pg_subscription there, and at its log."
	case s.Role == policy.RoleLogical:
		return stateUp, Good, ""
	case !primary && !s.LagKnown:
		return stateUnproven, Warn, "It is not proven to follow the primary. Does it stream from it, and may its role see pg_stat_wal_receiver (pg_monitor)?"
	case !primary && s.Lag >= behind:
		return stateBehind, Warn, "It receives, and replays too slowly. Look there for a long query that replay waits for, on the primary for a bulk write, and at its disk."
	default:
		return stateUp, Good, ""
	}
}

// States of a host.
const (
	hostPrimary = "primary"
	hostStandby = "standby"
	hostSilent  = "silent"
	hostRefused = "refused"
	hostForeign = "foreign"
)

// silent is for how long a host may not have answered.
const silent = 5 * time.Second

func hosts(f *failover.Status, now time.Time) []Host {
	all := make([]Host, 0, len(f.Hosts))
	for i := range f.Hosts {
		from := &f.Hosts[i]
		h := Host{Name: from.Name, State: hostStandby}
		switch {
		case now.Sub(from.Answered) > silent:
			h.State = hostSilent
		case from.Foreign:
			h.State = hostForeign
		case from.Refused:
			h.State = hostRefused
		case from.Primary:
			h.State = hostPrimary
		}
		all = append(all, h)
	}
	return all
}
