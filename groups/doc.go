// Package groups says what named sets of replicas are for: classes of work such as
// reports or a search, which must not stand in the way of the site, nor fall on the
// primary unasked.
//
// A replica is in a group by readsplit.Replica.Groups. A [Group] in
// readsplit.Config.Groups says the rest: which reads are meant for it, how many
// connections they may use, and what becomes of them when no replica of the group is
// right for them.
//
// Which group a read is meant for is decided in this order:
//
//  1. its context, by readsplit.Group, or a clause of dbresolver that names it;
//  2. its tables, by [Group.Tables];
//  3. the estimate that its caller gives, by [WithEstimate], against [Group.From].
//
// A group never makes a read staler than it may be: it narrows the choice of replicas,
// and all other rules hold within it.
package groups
