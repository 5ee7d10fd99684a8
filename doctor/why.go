package doctor

// Kind is an ID and why its findings matter.
type Kind struct {
	ID  ID
	Why string
}

// Kinds lists every kind of finding, in the order of the documentation.
func Kinds() []Kind {
	var all []Kind
	for _, group := range [][]Kind{kindsOfReaching, kindsOfRoles, kindsOfReplay, kindsOfSessions, kindsOfSQLServer, kindsOfApplications} {
		all = append(all, group...)
	}
	return all
}

func why(id ID) string {
	for _, k := range Kinds() {
		if k.ID == id {
			return k.Why
		}
	}
	return ""
}

var kindsOfReaching = []Kind{
	{DSNInvalid, "Nothing can connect with it."},
	{KindsDiffer, "Replicas are copies of their primary, by the same database."},
	{DatabaseNotNamed, "The server takes the user's name for it: another user reads another database. SQL Server's listener does not route a read-only connection without one."},
	{DatabasesDiffer, "Reads would see other tables than writes change."},
	{SeveralHosts, "Whoever answers first serves, and that may be another server after each reconnect. What is known of one is not true of the next."},
	{TLSOptional, "Passwords and rows may cross the network readable, and nobody notices when they do."},
	{ApplicationName, "In pg_stat_activity and in the log nobody can tell whose connections these are."},
	{Unreachable, "A replica that does not answer serves no reads; without the primary writes fail and nobody can prove how old a replica is."},
	{LoginRefused, "The application would be refused as well."},
	{ConnectionsUsedUp, "The application is refused as well, at the moment of its highest load."},
	{SeveralServers, "What one connection says is not true of the next. readsplit asks on each connection what it shows, which costs a round trip now and then; it balances better between servers that it can tell apart, and notices their faults sooner."},
	{PoolerTransaction, "Two statements of one connection run on different ones: prepared statements and SET get lost, and what is known of a server may be told by another one. Restarts of the server stay hidden."},
	{PoolerSession, "It hides restarts of the server behind unbroken connections, and its own limit counts, not the server's."},
	{ClockSkew, "readsplit compares positions, and no clocks of servers; timestamps in rows and logs, and monitoring that uses replay timestamps, are wrong by so much."},
	{QuestionRefused, "readsplit asks this. Without the answer the server's position or identity is not known: a replica of that kind is used for AnyReplica and Stale alone, or by what Replica.StatedLag says of it."},
	{MonitorRoleMissing, "Which timeline a replica receives is hidden from this user: after a failover it is proven minutes later than it could be. The doctor sees less, too: other users' transactions, the state of synchronous standbys."},
}

var kindsOfRoles = []Kind{
	{TopologySound, "One primary, and replicas of it."},
	{ReplicaIsPrimary, "It accepts writes, and follows nobody. What it shows is another history, or becomes one with its first write. readsplit does not read from it."},
	{PrimaryInRecovery, "Every write fails, with SQLSTATE 25006 or, on SQL Server, error 3906."},
	{TwoPrimaries, "Both accept writes: whatever goes to the wrong one is lost, or has to be merged by hand. What one process can see is all that a client can prevent."},
	{SameServer, "A copy of nobody: no load is taken off, and one failure takes both."},
	{ForeignSystem, "It was made by another initdb, or is of another availability group: its rows have nothing to do with the primary's."},
	{TimelineDiffers, "It follows another server's history. What it shows was never, or is no longer, in the primary."},
	{TimelineUnproven, "After a failover readsplit does not use a replica before it is proven to follow the new primary."},
	{ReplicaAhead, "It has replayed what the primary has never written: it belongs to another history, as after a restore of the primary from a snapshot."},
	{VersionOld, "Functions that readsplit asks do not exist there."},
	{VersionUntested, "It should work; the tests run on PostgreSQL 15 to 18."},
	{VersionsDiffer, "Physical replication works within one major version only; a secondary of SQL Server may be newer than its primary, while an upgrade is under way."},
	{MinorsDiffer, "An upgrade is under way, or was forgotten half-way. Replicas are upgraded first."},
}

var kindsOfReplay = []Kind{
	{ReplicaCurrent, "It shows what the primary had written."},
	{ReplicaBehind, "Reads that ask for nothing do not go there while it is older than MaxLag; sessions that have written wait for it, or read the primary."},
	{CutOff, "It gets older with every second, and the usual formula for lag says 0 there. readsplit notices and does not use it."},
	{FedFromArchive, "It is behind by whole WAL segments, so by minutes on a quiet primary: too old for MaxLag most of the time."},
	{Cascading, "It is behind by the sum of both ways, and when its upstream goes it is cut off too."},
	{ReplayPaused, "It shows the state of one moment for ever. No read that asks for anything goes there."},
	{ApplyDelay, "Everything is shown that much later: at or above MaxLag it serves no ordinary reads, below it no session sees its own writes there in time."},
	{StandbyDelay, "While a query stands in the way of replay, everything on the replica gets older, up to this limit; for longer than MaxLag all reads leave it."},
	{FeedbackOff, "Vacuum on the primary removes rows that queries on the replica still need, and cancels those queries (SQLSTATE 40001). readsplit runs short ones again elsewhere; long reports suffer."},
	{Conflicts, "Queries on the replica were cancelled because replay could not wait."},
	{LongTransaction, "On a replica it stops replay, or is cancelled; on the primary, or with hot_standby_feedback, it keeps vacuum from cleaning up."},
	{StandbySettings, "A standby needs at least the primary's value: replay pauses, and the server does not start again."},
	{WALLevel, "Nothing can be replicated with it."},
	{WALSenders, "A replica that loses its connection cannot come back."},
	{WALNotKept, "A replica that was away for a little too long has to be built anew."},
	{SlotInactive, "The primary keeps all WAL for it, until its disk is full and it stops, or until the slot is lost and its replica with it."},
	{ArchiveFailing, "WAL piles up on the primary's disk, and there is no restore to a point in time."},
	{AsyncCommit, "A crash of the primary loses commits that were acknowledged. readsplit's positions cover them, and cost a little more waiting."},
	{SyncStandbyAbsent, "Every commit waits for it for ever. A client that gives up has committed all the same."},
	{RemoteApply, "Each commit waits until the synchronous standby shows it: reads there need no wait, and a slow replay slows every write."},
}

var kindsOfSessions = []Kind{
	{ConnectionsFit, "What the pools may open, the server takes."},
	{ConnectionsExceeded, "When load makes the pools grow, connections are refused (SQLSTATE 53300), at the worst moment."},
	{ConnectionsBusy, "Little is left, for administrators too."},
	{ReadOnlyDefault, "Every write on a new connection fails with SQLSTATE 25006."},
	{SerializableDefault, "A hot standby refuses serializable transactions (SQLSTATE 0A000): every read there fails and goes to the primary."},
	{SessionTimeouts, "Set where no code shows it. Reports end in the middle, and the same read may end on one server and not on the other."},
	{IdleSessionTimeout, "The server cuts idle connections of the pools; the next statement on each finds it broken."},
}

var kindsOfSQLServer = []Kind{
	{IntentMisspelt, "The driver ignores every other spelling without a word: reads land on the primary."},
	{IntentMissing, "The listener sends such a connection to the primary; a secondary that takes only read-intent connections refuses it."},
	{IntentOnPrimary, "The listener may send it to a secondary, where writes fail with error 3906."},
	{ServersNotAsked, "Connection strings are all that was looked at."},
	{RoutingLoop, "The listener sends these connections to where nobody takes them, or back to itself; the driver follows for ever. No read gets there."},
	{NotRouted, "The listener has nowhere to send reads: they land on the primary, or fail."},
	{SecondaryNotReadable, "ALLOW_CONNECTIONS of the secondary role keeps readers out."},
	{PositionsMissing, "Nobody can prove what its replicas show: after a write its session reads from the primary for Config.StickyWindow, and other reads go by what Replica.StatedLag says."},
	{DelayedDurability, "A commit may be acknowledged before it is in the log: a crash loses it, and it has no position yet. Positions are not used."},
	{DataSuspended, "It shows the state of one moment for ever, while secondary_lag_seconds says 0. No read that asks for anything goes there."},
	{NotSynchronizing, "It gets older with every second, and is not used."},
}

var kindsOfApplications = []Kind{
	{AppUnreachable, "What the application decides is not known."},
	{AppServer, "As the running application sees it."},
	{AppNoReads, "Nothing can be said about shares and reasons yet."},
	{AppShare, "What replicas serve, the primary need not."},
	{AppShareLow, "Replicas are there, and the primary does their work."},
	{AppProcessSession, "Without a session of its own, every read waits for every write that this process made. A session for each user, request or job waits for its own alone."},
	{AppTraffic, "An operator's switch keeps reads on the primary. Such switches are forgotten."},
	{AppRetries, "Each costs its caller a second run, and hints at a server that is not well."},
	{AppConflicts, "Statements that replay cancels again and again no longer start on ordinary replicas."},
	{AppUnsureWrites, "Of these writes nobody knows whether they happened; their sessions read the primary meanwhile."},
	{AppTokens, "Whoever brought them reads the primary for the sticky window."},
	{AppPoolWaits, "Statements wait for a connection before they start."},
	{AppBudget, "More reads fell back to the primary than it may get."},
	{AppConnections, "When load makes the pools grow, connections are refused."},
}
