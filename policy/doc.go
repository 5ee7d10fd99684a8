// Package policy decides which server one statement runs on, and why.
//
// It is a pure function of its arguments: a [Query] (what is asked), a
// [Snapshot] (what is known of the servers), a [Load] (reads in flight) and the
// time. It does no I/O, reads no clock, starts no goroutine and draws no random
// number, so that the same input always gives the same [Decision] and every
// decision can be replayed from a log line.
//
// # Policies propose, the core disposes
//
// A [Policy] can only object to a replica and a [Balancer] can only choose among
// replicas that nobody objected to. Neither can add one. The rules of the core
// (role, news, lag, the session's own writes) hold whatever they answer, so a
// faulty policy makes a read slow or unfair, never stale.
//
// # Order of the rules
//
// The first that applies decides:
//
//  1. A statement that is not provably a read: the primary.
//  2. Fresh, no replicas, an empty group, a preferred primary: the primary.
//  3. A session whose own writes cannot be judged (unsure, of another history,
//     position pending): the primary, except for AnyReplica.
//  4. A policy that implements [QueryJudge] and objects: the primary.
//  5. Each replica is judged: not failed by this read already, in the group, a
//     standby, up, one server, the one that the request is held on, news not too
//     old, within the lag bound, at the session's position, no objection by a policy.
//  6. Replicas without an objection are left: the balancer picks one.
//  7. A replica only needs to reach the session's position and is likely to do
//     so in time: wait.
//  8. The primary is lost: refuse, or serve a replica that has the session's
//     writes, without a bound on its lag.
//  9. The primary, with the most telling objection as the reason.
//
// What each rule looks at is in the comment of its [Reason]; [Decider.Explain]
// shows all of it for one decision.
package policy
