package policy

// Reason says why a statement went where it went, or why a replica was not
// used. The list is closed: the same value is the label of the metric, the word
// in the log line and the span, the text on the status page and in errors.
//
// As the answer of a [Policy], the zero Reason is "no objection".
type Reason uint8

// Reasons. Each comment says what the reason means and what to do about many of
// them. The numbers may change between versions; the labels do not.
const (
	// ReasonNone is the zero Reason: no objection, nothing decided.
	ReasonNone Reason = iota

	// Reasons for a replica.

	// ReasonCaughtUp: the replica has replayed the session's own writes and is
	// within the lag bound. Nothing to do.
	ReasonCaughtUp
	// ReasonWithinLag: the session has no writes to see and the replica is
	// within the lag bound. Nothing to do.
	ReasonWithinLag
	// ReasonWaited: the replica reached the session's position after a short
	// wait. Many of these: replicas need a little longer than a round trip.
	ReasonWaited
	// ReasonStatedLag: the replica tells no replay position. It is used because its
	// configuration says how far behind it is at most, and because what the session
	// must see is older than the sticky window. Nothing proves it.
	ReasonStatedLag
	// ReasonStale: the read did without a lag bound, as its context asked; its
	// session's own writes are there. Nothing to do.
	ReasonStale
	// ReasonAnyReplica: the read gave up everything but the server's role, even
	// its own writes, as its context asked.
	ReasonAnyReplica
	// ReasonPrimaryLost: the primary cannot be reached, so no bound on staleness
	// can be proven; the session's own writes are there. Look at the primary.
	ReasonPrimaryLost
	// ReasonServedStale: no replica was within the bounds on staleness, and the
	// primary had no room for another such read; what the session wrote is there.
	// Look at the replicas' lag, or raise the budget.
	ReasonServedStale
	// ReasonOutsideGroup: no replica of the read's group was right for it, and another
	// replica was, as the group's rule allows. Look at the replicas of the group.
	ReasonOutsideGroup

	// Reasons for the primary that lie in the statement, its context or the
	// configuration.

	// ReasonWrite: the statement writes.
	ReasonWrite
	// ReasonLockingRead: the statement takes row locks (FOR UPDATE and the like).
	ReasonLockingRead
	// ReasonUnknownStatement: the statement is not provably a read. If it is one
	// and there are many, declare the function that it calls as read-only.
	ReasonUnknownStatement
	// ReasonFresh: the context asked for current data.
	ReasonFresh
	// ReasonNoReplicas: no replica is configured.
	ReasonNoReplicas
	// ReasonGroupEmpty: no configured replica is in the group that the context
	// names. Correct the name, or the groups of the replicas.
	ReasonGroupEmpty
	// ReasonGroupOnPrimary: no replica of the read's group was right for it, and the
	// group's rule lets the primary serve it. Look at the replicas of the group, or let
	// the rule be another one.
	ReasonGroupOnPrimary
	// ReasonPreferPrimary: the configuration prefers the primary, and the
	// context did not ask for a replica.
	ReasonPreferPrimary
	// ReasonKillSwitch: an operator keeps every read on the primary, see [Traffic].
	ReasonKillSwitch
	// ReasonPercent: the read is of the share that an operator keeps on the
	// primary, see [Traffic].
	ReasonPercent
	// ReasonShadow: a replica was right for the read, and an operator wants to see
	// decisions without following them, see [Traffic].
	ReasonShadow
	// ReasonInTransaction: the statement is part of a transaction on the primary.
	ReasonInTransaction
	// ReasonPinned: the statement belongs to something that holds the primary: a
	// hook of a write, the migrator, a dedicated connection.
	ReasonPinned
	// ReasonReadToWrite: the statement is the first half of a write, or reads a row
	// again that the program holds already: FirstOrCreate, FirstOrInit, a reload.
	// What it sees is about to be acted on.
	ReasonReadToWrite
	// ReasonParent: the statement (a preload, say) follows the statement that it
	// belongs to, so that both see the same state.
	ReasonParent
	// ReasonReadOnlyTransaction: the statement is part of a read-only
	// transaction and follows it.
	ReasonReadOnlyTransaction

	// Reasons for the primary that lie in the session.

	// ReasonUnsure: the outcome of one of the session's writes is unknown, or its
	// token could not be trusted; it ends when a position taken afterwards is
	// reached. Many of these: look for cancelled or broken writes.
	ReasonUnsure
	// ReasonOtherHistory: the session's position was taken before a failover or
	// on another cluster and cannot be compared. It lasts for the sticky window.
	ReasonOtherHistory
	// ReasonPositionPending: the session wrote, and no position that covers the
	// write is known yet. Many of these: capturing positions is slow.
	ReasonPositionPending
	// ReasonStickyWindow: the session wrote less than the sticky window ago, and
	// nothing but time says when a replica shows it: the policy [Sticky], or a replica
	// that tells no position.
	ReasonStickyWindow
	// ReasonRestOfRequest: the request has written, and the rest of it stays on
	// the primary.
	ReasonRestOfRequest
	// ReasonHeldElsewhere: the request is held on another server.
	ReasonHeldElsewhere
	// ReasonObjected: a policy of the application objected without giving a
	// reason of this list.
	ReasonObjected

	// Reasons against one replica; as the reason of a decision for the primary, the
	// one that is most telling over all replicas.

	// ReasonNotInGroup: the replica is not in the group that the context names.
	ReasonNotInGroup
	// ReasonReserved: the replica is reserved for the reads of its groups, and the read
	// is meant for none.
	ReasonReserved
	// ReasonDrained: an operator has taken the replica out of service.
	ReasonDrained
	// ReasonFailedThisRead: this read was tried on the replica and failed.
	ReasonFailedThisRead
	// ReasonNotAStandby: the server is a primary. Correct its address, or allow it
	// explicitly (development with one server).
	ReasonNotAStandby
	// ReasonLogical: the replica is fed by logical replication and has no position that
	// could be compared with the primary's. Only reads of its groups go there that are
	// Stale and whose session has nothing to see, or AnyReplica.
	ReasonLogical
	// ReasonDown: the newest probe failed, or a crash, a restart or a broken
	// connection made it void. Look at the server.
	ReasonDown
	// ReasonNoNews: the replica was never sampled, or its role is unknown. Right
	// after a start; later: look at its address and its rights.
	ReasonNoNews
	// ReasonOldNews: the newest sample is too old to prove anything. The process
	// or the network is overloaded, or the monitor is stopped.
	ReasonOldNews
	// ReasonEjected: the replica answers its probes, and reads failed on it one after
	// the other. It is tried again after a while. Look at its log.
	ReasonEjected
	// ReasonBalanced: the name answers as several servers, and what the read asks for
	// cannot be found out on the connection that it would run on: a REPEATABLE READ
	// transaction behind a pooler. Configure the servers one by one.
	ReasonBalanced
	// ReasonUnprovenHistory: the replica is not proven to follow the primary's
	// history. After a failover; later: it follows another server.
	ReasonUnprovenHistory
	// ReasonLagUnknown: no bound on the replica's staleness is proven yet.
	ReasonLagUnknown
	// ReasonNoPosition: the server does not tell its replay position, and its
	// configuration does not say how far behind it is at most. Let the role ask for the
	// position, or state the bound.
	ReasonNoPosition
	// ReasonBehindBytes: the replica has more bytes to replay than allowed.
	ReasonBehindBytes
	// ReasonLagging: the replica's staleness may be over the bound. Look at its
	// replay: load, a paused replay, a conflict with a long query, the network.
	ReasonLagging
	// ReasonSlowStart: the replica came back a moment ago, and this read is not of
	// the share that it gets meanwhile. Only where another replica serves the read.
	ReasonSlowStart
	// ReasonBehindSession: the replica has not replayed the session's own writes,
	// and a wait was not possible or not likely to help. Many of these: the
	// replicas are slower than the users; use sessions, or raise the wait.
	ReasonBehindSession
	// ReasonWaitExpired: as before, and the longest wait is over.
	ReasonWaitExpired

	// Reasons for a refusal: the caller gets a typed error.

	// ReasonPrimaryLostRefused: the primary cannot be reached, and the
	// configuration says to refuse reads whose staleness cannot be bounded.
	ReasonPrimaryLostRefused
	// ReasonAtMostUnproven: the context gave this read a bound on staleness, the
	// primary cannot be reached, and no replica is proven to be within it.
	ReasonAtMostUnproven
	// ReasonGroupRefused: no replica of the read's group was right for it, and the
	// group's rule refuses it then. Look at the replicas of the group.
	ReasonGroupRefused

	// Reasons for the primary after a replica was tried.

	// ReasonReplicaFailed: the replica failed while it ran the read.
	ReasonReplicaFailed
	// ReasonRefusedByReplica: the replica refused the statement as a write. The
	// session is treated as having written; report the statement.
	ReasonRefusedByReplica
	// ReasonNotFoundRecheck: the replica did not have the row that was looked for,
	// and the configuration or the context says to look once more. Many of these:
	// rows are asked for that do not exist, or before they are replicated.
	ReasonNotFoundRecheck
	// ReasonSchemaBehind: the replica does not have a table, column or function
	// that the statement names; after a schema change, for a moment.
	ReasonSchemaBehind
	// ReasonKeepsConflicting: replay on the replicas has cancelled the statement
	// again and again, so it starts on one that is meant for it, or on the primary.
	// Make the statement shorter, or let the replicas wait for it
	// (max_standby_streaming_delay, hot_standby_feedback).
	ReasonKeepsConflicting
)
