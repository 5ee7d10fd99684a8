package policy

// meaning is what a reason says to people.
type meaning struct {
	sentence string // what it means, of a statement or of a replica
	because  string // the same of many statements, behind "because"
	remedy   string // what to do about many of them; "": nothing
}

// meanings is the one place where reasons are put into words: errors, explanations,
// pages and docs/reasons.md take them from here, so that nobody has to find out
// whether two texts mean the same.
var meanings = [len(labels)]meaning{
	ReasonNone: {"Nothing was decided.", "nothing was decided", ""},

	ReasonCaughtUp:     {"The replica has replayed what the session must see and is within the bound on lag.", "the replica has what the session wrote", ""},
	ReasonWithinLag:    {"The session has nothing that it must see, and the replica is within the bound on lag.", "the session has nothing to see, and the replica is within MaxLag", ""},
	ReasonWaited:       {"The replica reached the session's position after a short wait.", "the replica had what the session wrote after a short wait", "Where these are many, replicas need a little longer than a round trip: nothing is wrong."},
	ReasonStatedLag:    {"The replica tells no replay position: it is used because Replica.StatedLag says how far behind it is at most, and what the session must see is older than Config.StickyWindow.", "Replica.StatedLag says that the replica is fresh enough", ""},
	ReasonStale:        {"The context asked for Stale: the replica has what the session wrote, and its lag does not count.", "its context does without a bound on staleness", ""},
	ReasonAnyReplica:   {"The context asked for AnyReplica: only the role of the server counts, not even the session's own writes.", "its context asks for nothing but a replica", ""},
	ReasonServedStale:  {"No replica is within the bounds, and the primary has no room for another such read: a replica serves it that has what the session wrote.", "no replica was fresh enough and the primary had no room", "Look at the replicas' lag, or raise Config.PrimaryBudget."},
	ReasonOutsideGroup: {"No replica of the read's group is right for it, and another replica serves it, as the group's rule allows.", "no replica of their group was right for them and another one was", "Look at the replicas of the group."},
	ReasonPrimaryLost:  {"The primary cannot be reached, so that no bound on lag is proven: a replica serves it that has what the session wrote.", "the primary cannot be reached", "Look at the primary."},

	ReasonWrite:               {"The statement writes.", "they write", ""},
	ReasonLockingRead:         {"The statement takes locks, which only the primary can give.", "they lock rows", "Leave out FOR UPDATE and the like where nothing is written afterwards."},
	ReasonUnknownStatement:    {"The statement cannot be shown to be a read.", "they are not provably reads", "Where it is one, declare the function that it calls STABLE or IMMUTABLE, or name it in Config.ReadFunctions."},
	ReasonFresh:               {"The context, or a clause, asked for current data.", "their context asks for current data", ""},
	ReasonNoReplicas:          {"There is no replica, or the plugin is closed.", "no replica is configured", "Set Config.Replicas."},
	ReasonGroupOnPrimary:      {"No replica of the read's group is right for it, and the group's rule lets the primary serve it.", "no replica of their group was right for them", "Look at the replicas of the group; or set its Otherwise to AnyReplica or Refuse."},
	ReasonGroupEmpty:          {"No replica is in the group that the context names.", "no replica is in the group that they name", "Correct the name, or Replica.Groups."},
	ReasonPreferPrimary:       {"The configuration prefers the primary, and the context did not ask for a replica.", "Config.Default prefers the primary", "Mark the reads that may use one with UseReplica, or set Config.Default to PreferReplica."},
	ReasonKillSwitch:          {"An operator keeps every read on the primary.", "an operator has switched replicas off", "Plugin.SetTraffic with KillSwitch false ends it."},
	ReasonPercent:             {"The read is of the share that an operator keeps on the primary.", "an operator keeps a share on the primary", "Plugin.SetTraffic with a higher Percent."},
	ReasonShadow:              {"An operator wants decisions to be counted and not followed.", "shadow mode sends every read there", "Plugin.SetTraffic with Shadow false ends it."},
	ReasonInTransaction:       {"The statement is part of a transaction on the primary.", "they are in a transaction", "Begin transactions that only read with sql.TxOptions{ReadOnly: true}."},
	ReasonPinned:              {"The statement belongs to something that holds the primary: a hook of a write, the migrator, a connection of its own.", "they belong to a write or to a connection of their own", ""},
	ReasonReadToWrite:         {"The statement is the first half of a write, or reads again a row that the program holds.", "they read what is about to be written", "Read into a new variable where nothing is written afterwards."},
	ReasonParent:              {"The statement follows the one that it belongs to, so that both see the same state.", "the statement that they belong to ran there", ""},
	ReasonReadOnlyTransaction: {"The statement is part of a read-only transaction and follows it.", "their read-only transaction is there", ""},

	ReasonUnsure:          {"The outcome of one of the session's writes is unknown, or its token could not be trusted.", "the outcome of a write of the session is unknown", "It ends after Config.StickyWindow. Where these are many, look for cancelled or broken writes."},
	ReasonOtherHistory:    {"The session's position is of another history of the primary and cannot be compared.", "their session wrote before a failover", "It ends after Config.StickyWindow. After a failover or a restart that is usual; later, look for tokens of another cluster."},
	ReasonPositionPending: {"The session wrote, and no position that covers the write is known yet.", "no position of the session's write is known yet", "Where these are many, asking the primary for its position is slow: look at its load and at the network."},
	ReasonStickyWindow:    {"The session wrote less than a window ago, and only time says when a replica shows it: the policy Sticky, or a replica that tells no position.", "their session wrote a moment ago", "Remove policy.Sticky where positions can be had; let the role ask for the replay position where the server has one."},
	ReasonRestOfRequest:   {"The request has written, and the policy RestOfRequest keeps it on the primary.", "their request has written", ""},
	ReasonHeldElsewhere:   {"The request is held on another server.", "their request is held on another server", ""},
	ReasonObjected:        {"A policy of the application objected without a reason of this list.", "a policy of the application objected", "Let the policy answer with one of the objections, see policy.Reason.Objection."},

	ReasonReserved:        {"The replica is reserved for the reads of its groups.", "the replicas are reserved for groups", ""},
	ReasonLogical:         {"The replica is fed by logical replication: only reads of its groups go there that are Stale and whose session has nothing to see, or AnyReplica.", "a replica that is fed by logical replication proves nothing", "Mark such reads with Stale, or with AnyReplica where their session writes."},
	ReasonNotInGroup:      {"The replica is not in the group that the context names.", "no replica of their group may serve", ""},
	ReasonDrained:         {"An operator has taken the replica out of service.", "the replicas are out of service", "Plugin.Resume puts it back."},
	ReasonFailedThisRead:  {"This read has failed on the replica, or belongs elsewhere.", "they failed on the replicas", "Look at the retries and at the replica's log."},
	ReasonNotAStandby:     {"The server is a primary, not a replica.", "a replica is a primary", "Correct its address; for development with one server, set Replica.AllowPrimaryAsReplica."},
	ReasonDown:            {"The replica does not answer, or what was known of it became void.", "the replicas are down", "Look at the server."},
	ReasonNoNews:          {"The replica has not answered yet, or its role is unknown.", "the replicas have not answered yet", "Right after a start that is usual; later, look at its address and its rights."},
	ReasonOldNews:         {"What is known of the replica is too old to prove anything.", "news of the replicas are too old", "Look at the load of this process and at the network."},
	ReasonEjected:         {"The replica answers its probes, but reads fail there one after the other.", "reads fail on the replicas", "Look at its log; it is tried again by itself."},
	ReasonBalanced:        {"The name of the replica answers as several servers, and what the read asks for cannot be found out on its own connection.", "a replica's name answers as several servers", "Set Replica.Balanced where that is meant; begin transactions behind a pooler in READ COMMITTED; name the servers one by one if you can."},
	ReasonUnprovenHistory: {"The replica is not proven to follow the primary's history.", "the replicas are not proven to follow the primary", "Right after a failover that is usual; later, see what it streams from, and grant pg_monitor."},
	ReasonLagUnknown:      {"No bound on the replica's lag is proven yet.", "nobody knows how old the replicas are", "Right after a start that is usual; later, see whether it replays at all."},
	ReasonNoPosition:      {"The server does not tell its replay position, and nothing says how far behind it is at most.", "a replica tells no replay position", "GRANT EXECUTE on pg_last_wal_replay_lsn() and its like to the role, or set Replica.StatedLag."},
	ReasonBehindBytes:     {"The replica has more bytes to replay than the policy MaxBytes allows.", "the replicas have too much to replay", "Look at its replay."},
	ReasonLagging:         {"The replica may be further behind than the bound on lag.", "the replicas are staler than MaxLag", "Look at its replay: load, a pause, a conflict with a long query, the network."},
	ReasonSlowStart:       {"The replica came back a moment ago and gets only a share of its reads.", "the replica comes back slowly", "Nothing: it ends by itself (Health.SlowStart)."},
	ReasonBehindSession:   {"The replica has not replayed what the session must see, and waiting was not possible or not likely to help.", "the replicas lack what the session wrote", "Use sessions, so that fewer writes bind each read; or raise Config.MaxWait; or look at the replica's replay."},
	ReasonWaitExpired:     {"The replica did not reach the session's position within Config.MaxWait.", "the replicas did not get the session's write within MaxWait", "As for behind_session."},

	ReasonPrimaryLostRefused: {"The primary cannot be reached, and the configuration refuses reads whose age cannot be bounded.", "the primary is lost and Config.PrimaryLost refuses", "Look at the primary; ask for less with Stale, or set Config.PrimaryLost to ServeReplicas."},
	ReasonGroupRefused:       {"No replica of the read's group is right for it, and the group's rule refuses it then.", "no replica of their group was right for them, and its rule refuses them", "Look at the replicas of the group; ask for less with Stale; or set its Otherwise to AnyReplica or Primary."},
	ReasonAtMostUnproven:     {"The primary cannot be reached, and no replica is proven to be within the bound that the context gave.", "nobody can prove the bound that they ask for", "Look at the primary; ask for less with Stale."},

	ReasonReplicaFailed:    {"The replicas failed while they ran the read.", "they failed on replicas too often", "Look at the retries and at the replicas' logs."},
	ReasonRefusedByReplica: {"A replica refused the statement as a write.", "a replica refused them as writes", "It was taken for a read: report it, or name its function in Config.WriteFunctions."},
	ReasonNotFoundRecheck:  {"The replica did not have the row, and the primary is asked once more.", "a replica found nothing and the primary was asked", "Where these are many, rows are asked for that do not exist, or before they are replicated."},
	ReasonSchemaBehind:     {"The replica does not have a table, column or function that the statement names.", "the replica did not have the new schema yet", "After a change of the schema that is usual for a moment; later, look at its replay."},
	ReasonKeepsConflicting: {"Replay on the replicas has cancelled the statement again and again.", "replay keeps cancelling them on replicas", "Make it shorter, name a Config.ConflictGroup, or let replicas wait for it (max_standby_streaming_delay, hot_standby_feedback)."},
}

// Sentence returns what r means, as one English sentence: the text of errors,
// explanations and pages. It is for people and may be reworded; programs use
// [Reason.String].
func (r Reason) Sentence() string {
	if int(r) < len(meanings) {
		return meanings[r].sentence
	}
	return "The reason is not of this version."
}

// Because returns what r means of many statements, as the end of a sentence behind
// "because". It is for people, as Sentence is.
func (r Reason) Because() string {
	if int(r) < len(meanings) {
		return meanings[r].because
	}
	return "of something that is not of this version"
}

// Remedy returns what to do about many decisions with r; "" where nothing is.
func (r Reason) Remedy() string {
	if int(r) < len(meanings) {
		return meanings[r].remedy
	}
	return ""
}
