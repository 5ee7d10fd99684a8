package readsplit

import (
	"database/sql"
	"time"

	"github.com/readsplit/readsplit/catalog"
	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// Status is what the plugin knows and has done, for metrics, pages and tests. It
// holds no DSN, token or bind value.
type Status struct {
	// Resolver is the name of the resolver that it is about; empty for the
	// plugin's own servers.
	Resolver string
	Primary  ServerStatus
	Replicas []ServerStatus
	// SharesPrimary says that the resolver has no primary of its own: Primary, Budget
	// and Failover are the plugin's again, and would be counted twice.
	SharesPrimary bool

	// ReplicaReads and PrimaryReads are reads outside of transactions, by who
	// served them.
	ReplicaReads, PrimaryReads uint64
	// Reasons counts statements outside of transactions by the reason of their
	// decision. GORM wraps Create, Update and Delete in a transaction unless
	// SkipDefaultTransaction is set.
	Reasons map[policy.Reason]uint64
	// ReplicaReasons are those of Reasons that replicas served. A preload, for example,
	// follows its parent to whoever served that, for one and the same reason.
	ReplicaReasons map[policy.Reason]uint64
	// RefusedReasons are those of Reasons that nobody served: the read failed with
	// ErrPrimaryLost, overload.ErrPrimaryBusy or groups.ErrRefused, and was sent nowhere.
	RefusedReasons map[policy.Reason]uint64
	// Retries counts reads that failed on a replica and were run again, by cause.
	Retries map[retry.Cause]uint64
	// Conflicts counts reads that replay cancelled, by what they stood in the way of.
	Conflicts map[retry.ConflictKind]uint64
	// KeepConflicting is how many statements do not start on ordinary replicas now,
	// because replay cancelled them again and again.
	KeepConflicting int
	// Captures is how often the primary was asked for its position.
	Captures uint64
	// Unsure counts writes whose outcome was unknown.
	Unsure uint64
	// OtherHistory counts sessions whose position was of another history than
	// the primary's.
	OtherHistory uint64
	// Voided counts answers that were dropped because their replica came back in
	// another state meanwhile.
	Voided uint64
	// Refused counts statements that were taken for reads and that a replica
	// refused as writes.
	Refused uint64
	// Tokens counts tokens that were not accepted as they came.
	Tokens TokenCounts
	// BoundByProcess counts reads without a session that ran on the primary because
	// something in the process had written a moment before, and no replica had that yet.
	// SessionsWouldHelp: at some time they were a quarter of all reads, or more. With a
	// session for each user only who wrote is held to it. It is said once in the log.
	BoundByProcess    uint64
	SessionsWouldHelp bool

	// Traffic is what operators have set, and Shadow what its shadow mode has counted.
	Traffic policy.Traffic
	Shadow  policy.ShadowCounts
	// Budget is what Config.PrimaryBudget has done. Resolvers over the plugin's own
	// primary have the same one.
	Budget overload.Status

	// Connections are, for each server that was seen, how many connections may be
	// opened to it by all instances and how many it takes. Empty in Resolvers, whose
	// servers are among them.
	Connections []overload.Connections
	// Failover is how the primary is followed; without hosts where it is not.
	Failover failover.Status

	// Catalog is what is known of the functions and views of the primary's database;
	// Catalog.Risks are those that send a statement to the primary.
	Catalog catalog.Status

	// Discovery is what Config.Discover has found; without a Source where it is not set,
	// and in Resolvers.
	Discovery discover.Status

	// Resolvers are the same for each resolver, none of which is counted above.
	Resolvers []Status

	// Groups are the groups of replicas, by name, with what became of their reads.
	Groups []groups.Status
}

// TokenCounts counts tokens that were not accepted as they came. None of them is
// an error for the user who sent it.
type TokenCounts struct {
	Refused uint64 // forged, truncated, or signed with a key that is not configured
	Foreign uint64 // of another database cluster or history, or beyond what the primary has written
	Expired uint64 // older than a token counts
}

// ServerStatus is one server's part of [Status].
type ServerStatus struct {
	Name string
	// Host is which of the hosts the primary is now, where it is followed; empty
	// elsewhere, and for replicas.
	Host string
	// Up: it answers. For the primary: it is not lost.
	Up bool
	// Role is what the server says it is.
	Role policy.Role
	// Position is the replay position of a replica that follows the primary's
	// history, and the flush position of the primary.
	Position lsn.Position
	// Lag is the upper bound of the staleness of what the server shows; LagKnown
	// is false when there is none. BehindBytes is the distance in bytes of log; 0 where
	// positions tell no bytes (Config.SQLServer.Marker), and on SQL Server at least so
	// many when the primary has begun another virtual log file since.
	Lag         time.Duration
	LagKnown    bool
	BehindBytes uint64
	// CatchUp is how long the replica recently took to reach a position that the
	// primary already had; 0: not measured yet.
	CatchUp time.Duration
	// Paused: an administrator paused replay. Balanced: the name answers as
	// several servers, and reads find out on their connections what they are shown.
	Paused, Balanced bool
	// Backends are the servers that were seen behind a name that is Balanced.
	Backends []monitor.Backend
	// Pooled: behind a name that is Balanced, not every connection is known to lead to
	// one server for good; its reads are checked inside of their transactions.
	Pooled bool
	// NoPosition: it, or a server behind its name, does not tell its replay position.
	// What may be read there then follows from StatedLag, as Replica.StatedLag says, and
	// from Config.StickyWindow; Lag and Position are what is stated, and not proven.
	NoPosition bool
	StatedLag  time.Duration
	// NoPositionWhy is why a replica with NoPosition, or the primary, tells none, where
	// that is known: on SQL Server, for people.
	NoPositionWhy string
	// CutOff: it has received nothing for two seconds or more, although the primary has
	// more: the network between them, its slot, its right to connect.
	CutOff bool
	// Conflicts is what the replica itself has counted, from pg_stat_database_conflicts,
	// of the database that it is used for; nil for the primary and before the first
	// answer. It is asked seldom, and not at all over a connection that is the
	// application's own. A crash of the replica sets it back to 0.
	Conflicts map[retry.ConflictKind]uint64
	// Drained: an operator has taken the replica out of service. EjectedUntil is until
	// when it is left alone because reads failed there; zero or past: it is not.
	Drained      bool
	EjectedUntil time.Time
	// Discovered: Config.Discover has found it. IsPrimary: this replica is the primary
	// itself, under another name, and is not read from as long as it is.
	Discovered, IsPrimary bool
	// Sampled is when the newest sample began; zero: never.
	Sampled time.Time
	// Reads is how many reads the replica served, InFlight how many it runs now;
	// both 0 for the primary, see Status.PrimaryReads.
	Reads    uint64
	InFlight int64
	// Latency is how long a read of this process is expected to take there until its
	// first row, the wait for a connection included (package policy/latency); 0: not
	// known, or the primary.
	Latency time.Duration
	// Pool are the statistics of the server's connection pool; of the primary's it
	// is the application's own, unless Config.Primary or a resolver names another.
	Pool sql.DBStats
	// Groups are the pools that groups have on a replica for themselves. They are not in
	// Pool; their reads are among Reads and InFlight.
	Groups []groups.PoolStatus
	// Reserved: the replica serves reads of its groups alone, and has no pool for others.
	// Logical: it is fed by logical replication, and has no position and no lag; it is
	// Reserved, whatever Replica.Reserved says.
	Reserved, Logical bool
	// Subscription is what a Logical replica says of its subscriptions, for people: no
	// decision looks at it. Nil where nothing is known.
	Subscription *monitor.Subscription
}

// Status returns a snapshot. It asks no server.
func (p *Plugin) Status() Status {
	all := p.routers()
	if len(all) == 0 {
		return emptyStatus("")
	}
	st := all[0].status()
	st.Connections = p.connections.status()
	st.Discovery = p.discovery.status()
	for _, rt := range all[1:] {
		st.Resolvers = append(st.Resolvers, rt.status())
	}
	return st
}

func emptyStatus(resolver string) Status {
	return Status{
		Resolver: resolver,
		Primary:  ServerStatus{Name: primaryName},
		Reasons:  make(map[policy.Reason]uint64), ReplicaReasons: make(map[policy.Reason]uint64), RefusedReasons: make(map[policy.Reason]uint64),
		Retries: make(map[retry.Cause]uint64), Conflicts: make(map[retry.ConflictKind]uint64),
	}
}

func (rt *router) status() Status {
	st := emptyStatus(rt.name)
	st.SharesPrimary = rt.name != "" && !rt.owns()
	now := time.Now()
	servers := rt.replicas() // before the snapshot, which then has them all
	snap := rt.monitor.Snapshot()
	st.Primary.Up = !snap.Primary.Lost && !snap.Primary.Sampled.IsZero()
	st.Primary.Position = snap.Primary.Position
	st.Primary.Sampled = snap.Primary.Sampled
	st.Primary.NoPositionWhy = rt.primarySilence()
	if rt.follow != nil {
		st.Failover = rt.follow.watch.Status()
		st.Primary.Host = st.Failover.Primary
	}
	if pool, err := rt.primaryDB(); err == nil {
		st.Primary.Pool = pool.Stats()
	}
	if st.Primary.Up {
		st.Primary.Role = policy.RolePrimary
	}
	for i, s := range servers {
		r := &snap.Replicas[i]
		if r.Gone {
			continue
		}
		rs := ServerStatus{
			Name: r.Name, Up: r.Up, Role: r.Role, Position: r.Applied, BehindBytes: r.BehindBytes,
			CatchUp: r.CatchUp, Paused: r.Paused, CutOff: r.CutOff, Balanced: r.Balanced, NoPosition: r.NoPosition, Sampled: r.Sampled,
			Drained: r.Drained, EjectedUntil: r.EjectedUntil,
			Reads: s.reads.Load(), InFlight: s.inFlight(), Latency: s.meter.Latency(sinceStart()), Pool: s.pool.Stats(),
		}
		if rs.Lag, rs.LagKnown = r.Lag(now); r.NoPosition {
			rs.StatedLag, rs.NoPositionWhy = r.StatedLag, silenceOf(s.dialer.asks())
		}
		if r.Balanced {
			rs.Backends, rs.Pooled = rt.monitor.Backends(i), s.pooled.Load()
		}
		rs.Discovered, rs.IsPrimary = s.discovered.Load(), rt.monitor.IsPrimary(i)
		rs.Conflicts = rt.conflictsOn(i)
		rs.Reserved, rs.Logical, rs.Groups = s.reserved, s.logical, s.laneStatus()
		if fed, ok := rt.monitor.Subscription(i); ok {
			rs.Subscription = &fed
		}
		st.Replicas = append(st.Replicas, rs)
	}
	for _, name := range sortedKeys(rt.members.groups()) {
		st.Groups = append(st.Groups, rt.members.class(name).status(snap))
	}
	c := &rt.counters
	for i := range c.onPrimary {
		replicas, nobody := c.onReplicas[i].Load(), c.onNobody[i].Load()
		if replicas > 0 {
			st.ReplicaReasons[policy.Reason(i)] = replicas
		}
		if nobody > 0 {
			st.RefusedReasons[policy.Reason(i)] = nobody
		}
		if n := c.onPrimary[i].Load() + replicas + nobody; n > 0 {
			st.Reasons[policy.Reason(i)] = n
		}
	}
	for i := range c.causes {
		if n := c.causes[i].Load(); n > 0 {
			st.Retries[retry.Cause(i)] = n
		}
	}
	for i := range c.conflicts {
		if n := c.conflicts[i].Load(); n > 0 {
			st.Conflicts[retry.ConflictKind(i)] = n
		}
	}
	st.KeepConflicting = rt.conflicts.Avoided(now)
	st.PrimaryReads, st.ReplicaReads = c.primaryReads(), c.replicaReads()
	if t := rt.plugin.traffic.Load(); t != nil {
		st.Traffic = *t
	}
	st.Shadow = policy.ShadowCounts{Replica: c.shadowReplica.Load(), Primary: c.shadowPrimary.Load(), Stale: c.shadowStale.Load()}
	st.Budget = rt.budget.status()
	if rt.judging.Load() {
		st.Catalog = rt.catalog.Status()
	}
	st.Captures = rt.monitor.Captures()
	st.Unsure, st.OtherHistory = c.unsure.Load(), c.otherHistory.Load()
	st.Voided, st.Refused = c.voided.Load(), c.refused.Load()
	st.BoundByProcess, st.SessionsWouldHelp = c.advice.bound.Load(), c.advice.given.Load()
	st.Tokens = TokenCounts{Refused: c.tokensRefused.Load(), Foreign: c.tokensForeign.Load(), Expired: c.tokensExpired.Load()}
	return st
}
