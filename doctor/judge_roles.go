package doctor

import (
	"slices"
	"strings"
)

// judgeRoles reports who is what it was not declared to be.
func judgeRoles(v *view) []Finding {
	findings := append(judgePrimaries(v), judgeSame(v)...)
	for _, f := range v.replicas() {
		findings = append(findings, judgeReplicaRole(v, f)...)
	}
	known := !slices.ContainsFunc(v.asked(), func(f *facts) bool { return f.sample.System == 0 || len(f.through.servers) > 1 })
	if len(findings) == 0 && known && v.leads() && len(v.replicas()) > 0 && len(v.replicas()) == len(v.Replicas) {
		findings = append(findings, fine(TopologySound, "", "1 primary and %s of it, on timeline %d.",
			plural(len(v.Replicas), "replica", "replicas"), v.primary.timeline()))
	}
	return findings
}

func judgePrimaries(v *view) []Finding {
	var findings []Finding
	if v.primary == nil {
		return nil // not reached, and reported
	}
	if !v.leads() {
		remedy := "Find out who was promoted, or promote one: SELECT pg_promote()."
		for _, f := range v.replicas() {
			if !f.about.Recovery && f.sample.System == v.primary.sample.System {
				remedy = "The primary is " + f.name + ": swap the two, or name all hosts in the primary's DSN (host=a,b,c), and readsplit follows."
			}
		}
		return append(findings, found(PrimaryInRecovery, Problem, v.primary.name, remedy,
			"It is in recovery: it is a standby, and takes no writes."))
	}
	for _, f := range v.all {
		if f.primary && f != v.primary && f.answered() && !f.about.Recovery && f.identity() != v.primary.identity() {
			findings = append(findings, found(TwoPrimaries, Problem, f.name,
				"Stop the one on the lower timeline at once, look for what it alone has, and build it anew as a standby (pg_rewind, pg_basebackup).",
				"%s (timeline %d) and %s (timeline %d) are both primaries.", v.primary.host, v.primary.sample.Timeline, f.host, f.sample.Timeline))
		}
	}
	return findings
}

func (f *facts) identity() identity {
	return identity{f.about.Started, f.about.Cluster}
}

// judgeSame reports names that lead to one server. A balanced name is reported as such.
func judgeSame(v *view) []Finding {
	var findings []Finding
	all := v.asked()
	for i, f := range all {
		if len(f.through.servers) > 1 {
			continue
		}
		for _, g := range all[:i] {
			if f.identity() != g.identity() || len(g.through.servers) > 1 {
				continue
			}
			severity, remedy := Warning, "Correct one of the DSNs, or leave one out."
			switch {
			case g.primary && g.host != "":
				remedy = "Nothing, if it became the primary in a failover: readsplit does not read from it as a replica. Name the former primary among the replicas, too."
			case g.primary:
				severity, remedy = Problem, "Name the replica's own address. (For a development machine with one server: AllowPrimaryAsReplica.)"
			}
			findings = append(findings, found(SameServer, severity, f.name, remedy, "It is the same server as %s.", g.name))
			break
		}
	}
	return findings
}

func judgeReplicaRole(v *view, f *facts) []Finding {
	if v.primary == nil || len(f.through.servers) > 1 || f.identity() == v.primary.identity() {
		return nil // nobody to compare with, or reported
	}
	p := v.primary
	var findings []Finding
	other := f.sample.System != 0 && p.sample.System != 0 && f.sample.System != p.sample.System
	if other {
		findings = append(findings, found(ForeignSystem, Problem, f.name, "Correct the DSN, or build the replica from this primary (pg_basebackup).",
			"Its system identifier is %d, and the primary's is %d.", f.sample.System, p.sample.System))
	}
	switch {
	case !f.about.Recovery && !other && v.leads():
		findings = append(findings, found(ReplicaIsPrimary, Problem, f.name,
			"If it was promoted on purpose, name it as the primary; else stop it and build it anew as a standby (pg_rewind, pg_basebackup). Until then see to it that nobody writes to both.",
			"It is not in recovery: it is a primary, on timeline %d, and the primary's is %d. There are two primaries.", f.sample.Timeline, p.sample.Timeline))
	case !f.about.Recovery:
		findings = append(findings, found(ReplicaIsPrimary, Problem, f.name, "Correct the DSN, or make it a standby.",
			"It is not in recovery: it is a primary, on timeline %d.", f.sample.Timeline))
	case !other && v.leads():
		findings = append(findings, judgeTimeline(v, f)...)
	}
	return findings
}

// judgeTimeline reports a standby of another history. What its control file says may
// be minutes late, and never ahead.
func judgeTimeline(v *view, f *facts) []Finding {
	own, control, received := v.primary.sample.Timeline, f.sample.ControlTimeline, f.sample.ReceivedTimeline
	const remedy = "Point its primary_conninfo to the primary, with recovery_target_timeline = 'latest'; where it has gone further than the point of divergence, pg_rewind or pg_basebackup."
	switch {
	case own == 0:
		return nil
	case received != 0 && received != own:
		return []Finding{found(TimelineDiffers, Problem, f.name, remedy, "It receives timeline %d, and the primary writes timeline %d.", received, own)}
	case control > own:
		return []Finding{found(TimelineDiffers, Problem, f.name, remedy, "It has replayed timeline %d, and the primary writes timeline %d.", control, own)}
	case received == 0 && control < own:
		return []Finding{found(TimelineUnproven, Warning, f.name,
			"GRANT pg_monitor to the user, if it streams; a CHECKPOINT on the primary proves it, too, once it was replayed and the standby has made a restartpoint.",
			"Its control file proves timeline %d, the primary writes timeline %d, and what it receives is not to be seen.", control, own)}
	}
	last, led := v.lastOf(v.primary)
	for _, m := range v.series(f) {
		// Only what was replayed before the primary was asked must be in the primary.
		if led && m.ended.Before(last.began) && m.Replay > last.Insert {
			return []Finding{found(ReplicaAhead, Problem, f.name, "Build it anew from this primary (pg_basebackup).",
				"It has replayed up to %v, and the primary has written up to %v, later.", m.Replay, last.Insert)}
		}
	}
	return nil
}

// lastOf is the last moment of a server.
func (v *view) lastOf(f *facts) (moment, bool) {
	s := v.series(f)
	if len(s) == 0 {
		return moment{}, false
	}
	return s[len(s)-1], true
}

// judgeNames reports what lies between here and a server.
func judgeNames(v *view) []Finding {
	var findings []Finding
	for _, f := range v.asked() {
		t := f.through
		if len(t.servers) > 1 {
			severity, remedy := Warning, "Set Replica{Balanced: true} if that is meant. Better, name each server by its own address, with a name of its own; readsplit balances between them."
			if f.primary {
				severity, remedy = Problem, "Name the primary alone."
			}
			findings = append(findings, found(SeveralServers, severity, f.name, remedy,
				"%d connections reached %d servers: %s.", t.tries, len(t.servers), strings.Join(t.names(), ", ")))
		}
		switch {
		case t.shared && f.primary:
			findings = append(findings, found(PoolerTransaction, Warning, f.name,
				"Connect to the server itself, or use pool_mode = session. If it has to be: default_query_exec_mode=simple_protocol in the DSN, no SET, no LISTEN, no advisory locks of sessions.",
				"A pooler in transaction mode lies in between: one backend answered on two connections."))
		case t.shared:
			findings = append(findings, found(PoolerTransaction, Warning, f.name,
				"Name the server's own address: the plugin keeps a pool for each replica already. If it has to be: Replica{Balanced: true}, and default_query_exec_mode=exec in the DSN before PgBouncer 1.21.",
				"A pooler in transaction mode lies in between: one backend answered on two connections."))
		case t.pooler && len(t.servers) == 1:
			findings = append(findings, found(PoolerSession, Notice, f.name,
				"Name the server's own address, if the pooler is not needed. Its limits (default_pool_size, max_client_conn) must take what Config.Pool may open.",
				"A pooler lies in between; it keeps a connection of the server's for each of its clients."))
		}
	}
	return findings
}
