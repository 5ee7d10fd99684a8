package doctor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/internal/connstring"
)

func sqlPairs(dsn string) (map[string]string, bool) { return connstring.SQLServer(dsn) }

// judge says what follows from the facts. Everything below it is pure.
func (v *sqlView) judge() []Finding {
	var findings []Finding
	for _, judge := range []func(*sqlView) []Finding{
		judgeSQLReach, judgeSQLRoles, judgeSQLNames, judgeSQLGroup, judgeSQLPositions, judgeSQLReplay, judgeSQLVersions,
	} {
		findings = append(findings, judge(v)...)
	}
	return findings
}

func judgeSQLReach(v *sqlView) []Finding {
	var findings []Finding
	for _, f := range v.all {
		if f.dialed != nil {
			findings = append(findings, f.unreached())
			continue
		}
		if f.lost != "" {
			findings = append(findings, found(Unreachable, Problem, f.name, "Look at the server's error log, and at its load. A change of roles ends connections.",
				"It answered at first, and then no longer: %s.", f.lost))
		}
	}
	return findings
}

const (
	letReadersIn = "On the primary: ALTER AVAILABILITY GROUP .. MODIFY REPLICA ON N'..' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY))."
	giveRoutes   = "On the primary, for each replica: ALTER AVAILABILITY GROUP .. MODIFY REPLICA ON N'SQL2' WITH (SECONDARY_ROLE (READ_ONLY_ROUTING_URL = 'TCP://sql2:1433')), and MODIFY REPLICA ON N'SQL1' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = (('SQL2','SQL3'),'SQL1')))."
)

func (f *sqlFacts) unreached() Finding {
	address, why := f.pairs["server"], f.clean(f.dialed)
	switch sqlNumber(f.dialed) {
	case 18456, 18452, 18470, 18486, 18487, 18488, 4060, 4064, 916, 17892:
		return found(LoginRefused, Problem, f.name,
			"Compare user, password and database with those of the application. Logins are each server's own, and no availability group copies them: create it on every replica with the same SID (CREATE LOGIN .. WITH SID = ..), or use a contained database user. The database must be online there.",
			"%s refuses the login: %s.", address, why)
	case 976, 978, 979, 983:
		return found(SecondaryNotReadable, Problem, f.name,
			letReadersIn+" With READ_ONLY the connection string must say ApplicationIntent=ReadOnly.",
			"%s is a secondary that lets this connection not in: %s.", address, why)
	case 982:
		return found(NotRouted, Problem, f.name, letReadersIn+" Put the primary last into the routing list, so that reads go on there when no secondary can be read.",
			"%s finds no secondary to route to: %s.", address, why)
	case 988:
		return found(Unreachable, Problem, f.name, "Bring the cluster's quorum back: look at the cluster manager and at the other nodes.",
			"%s has no quorum: %s.", address, why)
	case 10928, 10929, 17809, 17810:
		return found(ConnectionsUsedUp, Problem, f.name, "sys.dm_exec_sessions shows whose they are. Make pools smaller (Config.Pool, Config.Instances), or raise the limit.",
			"%s takes no more connections: %s.", address, why)
	}
	if w := f.without; w != nil && w.answered() && errors.Is(f.dialed, errNoAnswer) {
		urls := ""
		if w.routes.known {
			urls = " READ_ONLY_ROUTING_URL: " + w.routes.text() + "."
		}
		return found(RoutingLoop, Problem, f.name, "READ_ONLY_ROUTING_URL must be each server's own address, and not the listener's. "+giveRoutes,
			"%s answers as %s to a connection without ApplicationIntent=ReadOnly; with it, there is no answer within %v.%s", address, w.run.Server, f.timeout, urls)
	}
	return found(Unreachable, Problem, f.name,
		"Is the server running, is it the right host and port, is TCP/IP on in its network configuration, does a firewall stand between, does it speak the encryption that the connection string asks for (encrypt=..)?",
		"%s cannot be reached: %s.", address, why)
}

// text lists the routes by server.
func (r sqlRoutes) text() string {
	var all []string
	for _, server := range slices.Sorted(maps.Keys(r.urls)) {
		url := r.urls[server]
		if url == "" {
			url = "none"
		}
		all = append(all, server+" "+url)
	}
	return strings.Join(all, ", ")
}

// judgeSQLRoles reports servers that are not what they are used as.
func judgeSQLRoles(v *sqlView) []Finding {
	var findings []Finding
	p := v.primary()
	if p != nil && p.run.ReadOnly {
		remedy, what := "Name the listener of the availability group, which leads to the primary, and leave ApplicationIntent=ReadOnly out.",
			"%s is READ_ONLY: it is a secondary, or set so (ALTER DATABASE .. SET READ_ONLY)."
		if p.none.why == "" && p.state.Primary {
			remedy, what = "ALTER DATABASE .. SET READ_WRITE, if that is not meant.", "%s is the primary, and its database is set READ_ONLY."
		}
		findings = append(findings, found(PrimaryInRecovery, Problem, p.name, remedy, what, p.run.Server))
	}
	sound := p != nil && !p.run.ReadOnly
	for _, f := range v.replicas() {
		if !f.run.ReadOnly {
			findings = append(findings, f.writable(p))
		}
		sound = sound && f.run.ReadOnly
	}
	if n := len(v.replicas()); sound && n > 0 && n == len(v.Replicas) {
		findings = append(findings, fine(TopologySound, "", "%s is READ_WRITE, and %s READ_ONLY.", p.run.Server, plural(n, "replica is", "replicas are")))
	}
	return findings
}

// writable reports a replica that takes writes. The intent is a request that only a
// listener hears.
func (f *sqlFacts) writable(p *sqlFacts) Finding {
	leader := p != nil && p.run.Server == f.run.Server
	switch {
	case leader && !f.readOnlyIntent():
		return found(ReplicaIsPrimary, Problem, f.name, "ApplicationIntent=ReadOnly, in exactly this spelling of the value, and the address of a secondary, or the listener's.",
			"Updateability is READ_WRITE: %s is the primary, and the connection string does not ask for another.", f.run.Server)
	case leader && f.routes.known && f.routes.lists == 0:
		return found(NotRouted, Problem, f.name, giveRoutes+" Or give each secondary's own address.",
			"ApplicationIntent=ReadOnly leads to %s, the primary, which has no routing list.", f.run.Server)
	case leader:
		return found(ReplicaIsPrimary, Problem, f.name,
			"Give a secondary's own address. If it is the listener's: do secondaries let readers in, are they connected, and does each have a READ_ONLY_ROUTING_URL that is its own? "+giveRoutes,
			"Updateability is READ_WRITE: ApplicationIntent=ReadOnly is a request which only the listener hears, and it led to %s, the primary.", f.run.Server)
	}
	return found(ReplicaIsPrimary, Problem, f.name, "Has it failed over, or was the database taken out of the group? Name a secondary.",
		"Updateability is READ_WRITE: %s is a primary, or in no availability group.", f.run.Server)
}

// judgeSQLNames reports names of several servers, and servers of several names.
func judgeSQLNames(v *sqlView) []Finding {
	var findings []Finding
	seen := map[string]string{}
	for _, f := range v.all {
		if !f.answered() {
			continue
		}
		if len(f.names) > 1 {
			if !f.primary {
				findings = append(findings, found(SeveralServers, Warning, f.name,
					"Give each secondary a name and an address of its own, with ApplicationIntent=ReadOnly, or set Replica.Balanced to say that it is meant.",
					"%s answered in %s: it is the listener, or a name of several servers, and no position holds for it: after a write its session reads from the primary for Config.StickyWindow, and how old it is rests on Replica.StatedLag.",
					strings.Join(f.names, " and "), plural(f.tries, "connection", "connections")))
			} else {
				findings = append(findings, found(SeveralServers, Problem, f.name, "Name the listener without an intent.", "%s answered in %s.", strings.Join(f.names, " and "), plural(f.tries, "connection", "connections")))
			}
			continue
		}
		if f.primary {
			continue
		}
		if other, ok := seen[f.run.Server]; ok {
			findings = append(findings, found(SameServer, Warning, f.name, "Name each server once.", "It is %s, as %s is.", f.run.Server, other))
		}
		seen[f.run.Server] = f.name
	}
	return findings
}

// judgeSQLGroup reports replicas that are copies of something else.
func judgeSQLGroup(v *sqlView) []Finding {
	var findings []Finding
	p := v.primary()
	if p == nil {
		return nil
	}
	for _, f := range v.replicas() {
		if !strings.EqualFold(f.run.Database, p.run.Database) {
			findings = append(findings, found(DatabasesDiffer, Problem, f.name, "Name the same database in both connection strings.",
				"It is connected to database %q, and the primary to %q.", f.run.Database, p.run.Database))
			continue
		}
		if !f.run.ReadOnly || f.none.why != "" || p.none.why != "" {
			continue // said elsewhere, or not known
		}
		switch {
		case f.sample.System != p.sample.System:
			findings = append(findings, found(ForeignSystem, Problem, f.name, "Name the secondaries of the primary's availability group.",
				"Its database is of another availability group than the primary's (group_database_id %s, and %s).", f.state.Group, p.state.Group))
		case f.state.Follows && p.state.Primary && f.sample.ReceivedTimeline != p.sample.Timeline:
			findings = append(findings, found(TimelineDiffers, Problem, f.name,
				"Compare primary_replica of sys.dm_hadr_availability_group_states on both: a failover may be under way, or the secondary cannot ask its cluster.",
				"It does not name %s as the primary of its availability group.", p.run.Server))
		}
	}
	return findings
}

// judgeSQLPositions reports servers that tell no positions.
func judgeSQLPositions(v *sqlView) []Finding {
	var findings []Finding
	for _, f := range v.all {
		if !f.answered() {
			continue
		}
		for _, r := range f.refused {
			severity := Notice
			if r.asked {
				severity = Problem
			}
			findings = append(findings, found(QuestionRefused, severity, f.name, "Look at the server's error log and at its load; a longer -timeout helps where it is only slow.",
				"The question for %s failed: %s.", r.what, r.why))
		}
		if f.none.remedy != "" {
			findings = append(findings, found(PositionsMissing, Warning, f.name, f.none.remedy, "It tells no positions: %s.", f.none.why))
		}
		if f.primary && f.run.AsyncCommit && !f.run.ReadOnly {
			findings = append(findings, found(DelayedDurability, Warning, f.name, "ALTER DATABASE .. SET DELAYED_DURABILITY = DISABLED, or set Config.SQLServer.Marker.",
				"DELAYED_DURABILITY is not DISABLED."))
		}
	}
	return findings
}

func judgeSQLVersions(v *sqlView) []Finding {
	p := v.primary()
	if p == nil || p.about.version == "" {
		return nil
	}
	var findings []Finding
	major := func(version string) string { m, _, _ := strings.Cut(version, "."); return m }
	for _, f := range v.replicas() {
		switch {
		case f.about.version == "" || f.about.version == p.about.version:
		case major(f.about.version) != major(p.about.version):
			findings = append(findings, found(VersionsDiffer, Warning, f.name, "Finish the upgrade: secondaries first. Until then fail over in one direction only.",
				"It is version %s, and the primary %s.", f.about.version, p.about.version))
		default:
			findings = append(findings, found(MinorsDiffer, Notice, f.name, "Bring all to the same cumulative update.",
				"It is version %s, and the primary %s.", f.about.version, p.about.version))
		}
	}
	return findings
}

// judgeSQLReplay reports replicas that do not show what the primary writes.
func judgeSQLReplay(v *sqlView) []Finding {
	var findings []Finding
	p := v.primary()
	for _, f := range v.replicas() {
		if f.none.why != "" || f.state.Primary || len(f.names) > 1 || p != nil && p.none.why == "" && f.sample.System != p.sample.System {
			continue
		}
		switch {
		case f.state.Suspended:
			findings = append(findings, found(DataSuspended, Problem, f.name, "ALTER DATABASE .. SET HADR RESUME, there, when what it was suspended for is over. After a forced failover that undoes what the new primary does not have.",
				"Data movement is suspended%s.", inBrackets(f.detail.suspended)))
		case !f.state.Follows:
			findings = append(findings, found(NotSynchronizing, Problem, f.name,
				"Look at connected_state and last_connect_error of sys.dm_hadr_availability_replica_states on the primary, at the endpoint (port 5022) and its certificate, at the disks, and at both error logs.",
				"Its copy is %s, and %s.", orUnknown(f.detail.database), orUnknown(f.detail.sync)))
		default:
			findings = append(findings, v.judgeSQLLag(f)...)
		}
	}
	return findings
}

func (v *sqlView) judgeSQLLag(f *sqlFacts) []Finding {
	const remedy = "Look at redo_queue_size and redo_rate of sys.dm_hadr_database_replica_states, for a query there that redo waits for (wait type LCK_M_SCH_M of the redo session), a bulk write or an index rebuild on the primary, the disks, and the network between the two."
	l, ok := v.lagOf(f)
	if !ok {
		return nil
	}
	switch {
	case l.known && l.age <= v.MaxLag && l.worst <= v.MaxLag:
		return []Finding{fine(ReplicaCurrent, f.name, "%s old at most in the last of %s.", span(l.age), plural(l.times, "look", "looks"))}
	case l.known && l.age <= v.MaxLag:
		return []Finding{found(ReplicaBehind, Warning, f.name, remedy, "It was %s behind while it was watched, and is not now. MaxLag is %v.", span(l.worst), v.MaxLag)}
	case l.known:
		return []Finding{found(ReplicaBehind, Warning, f.name, remedy, "It is %s behind at most. MaxLag is %v.", span(l.age), v.MaxLag)}
	case v.Watch == Off:
		return []Finding{found(ReplicaBehind, Warning, f.name, remedy, "It had not redone what the primary had committed; how old that is was not watched.")}
	}
	severity := Warning
	if v.Watch >= v.MaxLag {
		severity = Problem
	}
	return []Finding{found(ReplicaBehind, severity, f.name, remedy,
		"It is older than the %v that it was watched for. MaxLag is %v.", v.Watch, v.MaxLag)}
}

func inBrackets(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (%s)", text)
}

func orUnknown(text string) string {
	if text == "" {
		return "in an unknown state"
	}
	return text
}
