package readsplit

import (
	"context"
	"sync/atomic"

	"github.com/readsplit/readsplit/policy"
)

const (
	// adviceAfter is how many reads are kept on the primary before it is looked at what
	// part of all they are: fewer may have met one slow moment of a replica.
	adviceAfter = 250
	// adviceOf is how many reads there may have been meanwhile: one of four.
	adviceOf = 4 * adviceAfter
)

// advice counts the reads without a session that ran on the primary although a replica
// was well, because anybody in the process had written a moment ago. With a session for
// each user, only those who wrote would have. It costs those reads alone.
type advice struct {
	bound atomic.Uint64
	reads atomic.Uint64 // all that there had been when it was last looked at
	given atomic.Bool
}

// advise takes in a read that runs on the primary, and says once in the log that sessions
// would help where they would.
func (rt *router) advise(m *marks, reason policy.Reason) {
	if m.session != nil || rt.rehearsal != nil ||
		reason != policy.ReasonBehindSession && reason != policy.ReasonWaitExpired && reason != policy.ReasonPositionPending {
		return
	}
	c := &rt.counters
	if c.advice.bound.Add(1)%adviceAfter != 0 {
		return
	}
	reads := c.primaryReads() + c.replicaReads()
	before := c.advice.reads.Swap(reads)
	// Before the first write everybody waits for the same position, once.
	if reads-before > adviceOf || rt.process.lastWrite().IsZero() || c.advice.given.Swap(true) {
		return
	}
	of := ""
	if rt.name != "" {
		of = " of resolver " + rt.name
	}
	rt.plugin.db.Logger.Warn(context.Background(), "readsplit: of %d reads%s, %d without a session ran on the primary, because something in this process had written a moment before and no replica had that yet: they are held to every write of the process. "+
		"Give each request the session of its user (readsplit.WithSession, package session/httpsession), so that only who wrote is held to it, or mark reads that need not see what was just written (readsplit.Stale)", reads-before, of, adviceAfter)
}
