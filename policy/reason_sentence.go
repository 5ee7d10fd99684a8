package policy

// meaning is what a reason says to people.
type meaning struct {
	sentence string // what it means, of a statement or of a replica
	remedy   string // what to do about many of them; "": nothing
}

// meanings is the one place where reasons are put into words: errors, explanations,
// pages and docs/reasons.md take them from here, so that nobody has to find out
// whether two texts mean the same.
var meanings = [len(labels)]meaning{
	ReasonNone: {"Nothing was decided.", ""},

	ReasonCaughtUp:    {"The replica has replayed what the session must see and is within the bound on lag.", ""},
	ReasonWithinLag:   {"The session has nothing that it must see, and the replica is within the bound on lag.", ""},
	ReasonWaited:      {"The replica reached the session's position after a short wait.", "Where these are many, replicas need a little longer than a round trip: nothing is wrong."},
	ReasonStale:       {"The context asked for Stale: the replica has what the session wrote, and its lag does not count.", ""},
	ReasonAnyReplica:  {"The context asked for AnyReplica: only the role of the server counts, not even the session's own writes.", ""},
	ReasonServedStale: {"No replica is within the bounds, and the primary has no room for another such read: a replica serves it that has what the session wrote.", "Look at the replicas' lag, or raise Config.PrimaryBudget."},
	ReasonPrimaryLost: {"The primary cannot be reached, so that no bound on lag is proven: a replica serves it that has what the session wrote.", "Look at the primary."},

	ReasonWrite:               {"The statement writes.", ""},
	ReasonLockingRead:         {"The statement takes locks, which only the primary can give.", "Leave out FOR UPDATE and the like where nothing is written afterwards."},
	ReasonUnknownStatement:    {"The statement cannot be shown to be a read.", "Where it is one, declare the function that it calls STABLE or IMMUTABLE, or name it in Config.ReadFunctions."},
	ReasonFresh:               {"The context, or a clause, asked for current data.", ""},
	ReasonNoReplicas:          {"There is no replica, or the plugin is closed.", "Set Config.Replicas."},
	ReasonGroupEmpty:          {"No replica is in the group that the context names.", "Correct the name, or Replica.Groups."},
	ReasonPreferPrimary:       {"The configuration prefers the primary, and the context did not ask for a replica.", "Mark the reads that may use one with UseReplica, or set Config.Default to PreferReplica."},
	ReasonKillSwitch:          {"An operator keeps every read on the primary.", "Plugin.SetTraffic with KillSwitch false ends it."},
	ReasonPercent:             {"The read is of the share that an operator keeps on the primary.", "Plugin.SetTraffic with a higher Percent."},
	ReasonShadow:              {"An operator wants decisions to be counted and not followed.", "Plugin.SetTraffic with Shadow false ends it."},
	ReasonInTransaction:       {"The statement is part of a transaction on the primary.", "Begin transactions that only read with sql.TxOptions{ReadOnly: true}."},
	ReasonPinned:              {"The statement belongs to something that holds the primary: a hook of a write, the migrator, a connection of its own.", ""},
	ReasonReadToWrite:         {"The statement is the first half of a write, or reads again a row that the program holds.", "Read into a new variable where nothing is written afterwards."},
	ReasonParent:              {"The statement follows the one that it belongs to, so that both see the same state.", ""},
	ReasonReadOnlyTransaction: {"The statement is part of a read-only transaction and follows it.", ""},

	ReasonUnsure:          {"The outcome of one of the session's writes is unknown, or its token could not be trusted.", "It ends after Config.StickyWindow. Where these are many, look for cancelled or broken writes."},
	ReasonOtherHistory:    {"The session's position is of another history of the primary and cannot be compared.", "It ends after Config.StickyWindow. After a failover or a restart that is usual; later, look for tokens of another cluster."},
	ReasonPositionPending: {"The session wrote, and no position that covers the write is known yet.", "Where these are many, asking the primary for its position is slow: look at its load and at the network."},
	ReasonStickyWindow:    {"The session wrote less than the window of the policy Sticky ago.", "Remove policy.Sticky where positions can be had."},
	ReasonRestOfRequest:   {"The request has written, and the policy RestOfRequest keeps it on the primary.", ""},
	ReasonHeldElsewhere:   {"The request is held on another server.", ""},
	ReasonObjected:        {"A policy of the application objected without a reason of this list.", "Let the policy answer with one of the objections, see policy.Reason.Objection."},

	ReasonNotInGroup:      {"The replica is not in the group that the context names.", ""},
	ReasonDrained:         {"An operator has taken the replica out of service.", "Plugin.Resume puts it back."},
	ReasonFailedThisRead:  {"This read has failed on the replica, or belongs elsewhere.", "Look at the retries and at the replica's log."},
	ReasonNotAStandby:     {"The server is a primary, not a replica.", "Correct its address; for development with one server, set Replica.AllowPrimaryAsReplica."},
	ReasonDown:            {"The replica does not answer, or what was known of it became void.", "Look at the server."},
	ReasonNoNews:          {"The replica has not answered yet, or its role is unknown.", "Right after a start that is usual; later, look at its address and its rights."},
	ReasonOldNews:         {"What is known of the replica is too old to prove anything.", "Look at the load of this process and at the network."},
	ReasonEjected:         {"The replica answers its probes, but reads fail there one after the other.", "Look at its log; it is tried again by itself."},
	ReasonBalanced:        {"The name of the replica answers as several servers.", "Configure the servers one by one."},
	ReasonUnprovenHistory: {"The replica is not proven to follow the primary's history.", "Right after a failover that is usual; later, see what it streams from, and grant pg_monitor."},
	ReasonLagUnknown:      {"No bound on the replica's lag is proven yet.", "Right after a start that is usual; later, see whether it replays at all."},
	ReasonBehindBytes:     {"The replica has more bytes to replay than the policy MaxBytes allows.", "Look at its replay."},
	ReasonLagging:         {"The replica may be further behind than the bound on lag.", "Look at its replay: load, a pause, a conflict with a long query, the network."},
	ReasonSlowStart:       {"The replica came back a moment ago and gets only a share of its reads.", "Nothing: it ends by itself (Health.SlowStart)."},
	ReasonBehindSession:   {"The replica has not replayed what the session must see, and waiting was not possible or not likely to help.", "Use sessions, so that fewer writes bind each read; or raise Config.MaxWait; or look at the replica's replay."},
	ReasonWaitExpired:     {"The replica did not reach the session's position within Config.MaxWait.", "As for behind_session."},

	ReasonPrimaryLostRefused: {"The primary cannot be reached, and the configuration refuses reads whose age cannot be bounded.", "Look at the primary; ask for less with Stale, or set Config.PrimaryLost to ServeReplicas."},
	ReasonAtMostUnproven:     {"The primary cannot be reached, and no replica is proven to be within the bound that the context gave.", "Look at the primary; ask for less with Stale."},

	ReasonReplicaFailed:    {"The replicas failed while they ran the read.", "Look at the retries and at the replicas' logs."},
	ReasonRefusedByReplica: {"A replica refused the statement as a write.", "It was taken for a read: report it, or name its function in Config.WriteFunctions."},
	ReasonNotFoundRecheck:  {"The replica did not have the row, and the primary is asked once more.", "Where these are many, rows are asked for that do not exist, or before they are replicated."},
	ReasonSchemaBehind:     {"The replica does not have a table, column or function that the statement names.", "After a change of the schema that is usual for a moment; later, look at its replay."},
	ReasonKeepsConflicting: {"Replay on the replicas has cancelled the statement again and again.", "Make it shorter, name a Config.ConflictGroup, or let replicas wait for it (max_standby_streaming_delay, hot_standby_feedback)."},
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

// Remedy returns what to do about many decisions with r; "" where nothing is.
func (r Reason) Remedy() string {
	if int(r) < len(meanings) {
		return meanings[r].remedy
	}
	return ""
}
