package readsplit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/readonlyguard"
)

// marks is everything that a context says about its reads. It is one value
// under one key, so that a statement looks it up once, and it is never changed:
// every mark makes a copy.
type marks struct {
	mode    policy.Mode
	atMost  time.Duration
	group   string
	recheck bool
	session *Session
	request *request
}

// request is what happened in one scope of a session: from [WithSession] on, in
// everything that was derived from its context.
type request struct {
	wrote atomic.Bool
	held  atomic.Pointer[heldServer]
}

// written notes that something was written, or may have been.
func (m *marks) written() {
	if m.request != nil {
		m.request.wrote.Store(true)
	}
	if m.session != nil {
		m.session.writes.Add(1)
		m.session.changed.Store(true)
	}
}

type marksKey struct{}

// noMarks is what an unmarked context says.
var noMarks = &marks{}

func marksOf(ctx context.Context) *marks {
	if ctx != nil {
		if m, ok := ctx.Value(marksKey{}).(*marks); ok {
			return m
		}
	}
	return noMarks
}

func with(ctx context.Context, change func(m *marks)) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	m := *marksOf(ctx)
	change(&m)
	return context.WithValue(ctx, marksKey{}, &m)
}

// Fresh marks reads that must be current (a balance, the stock, a payment): they
// go to the primary. Of Fresh, UseReplica, Stale and AnyReplica the last one in
// a context counts.
func Fresh(ctx context.Context) context.Context {
	return with(ctx, func(m *marks) { m.mode = policy.Fresh })
}

// UseReplica marks reads that may use a replica, by the usual rules. It matters
// where Config.Default is PreferPrimary, and it takes back an earlier Fresh.
func UseReplica(ctx context.Context) context.Context {
	return with(ctx, func(m *marks) { m.mode = policy.UseReplica })
}

// Stale marks reads for which MaxLag does not matter (feeds, exports). What
// their own session wrote they still see; a context without a session gives up
// the writes of its process.
func Stale(ctx context.Context) context.Context {
	return with(ctx, func(m *marks) { m.mode = policy.Stale })
}

// AnyReplica marks reads for which nothing matters but that a replica serves
// them, not even their session's own writes.
func AnyReplica(ctx context.Context) context.Context {
	return with(ctx, func(m *marks) { m.mode = policy.AnyReplica })
}

// AtMost marks reads that must not be older than d, in addition to MaxLag. The
// bound only ever tightens: the smaller of two counts, and after Fresh it changes
// nothing, while it takes back an earlier Stale or AnyReplica. A bound below twice Config.SampleEvery asks the servers anew, once for all reads
// that wait; d <= 0 is Fresh. When the primary cannot be reached and no replica
// is proven to be within d, such a read fails with ErrPrimaryLost.
func AtMost(ctx context.Context, d time.Duration) context.Context {
	if d <= 0 {
		return Fresh(ctx)
	}
	return with(ctx, func(m *marks) {
		if m.atMost == 0 || d < m.atMost {
			m.atMost = d
		}
		if m.mode == policy.Stale || m.mode == policy.AnyReplica {
			m.mode = policy.Normal
		}
	})
}

// Group marks reads that may use only replicas of this group (see Replica.Groups), by
// the usual rules. If none of them is right, Config.Groups says what happens: the
// primary, unless its Otherwise is another replica or groups.ErrRefused. A name that no
// replica has and Config.Groups does not describe is an error of the read,
// [ErrUnknownGroup]; an empty name is no group, and takes an earlier mark away.
func Group(ctx context.Context, name string) context.Context {
	return with(ctx, func(m *marks) { m.group = name })
}

// Recheck marks reads that must not miss a row which is there: a lookup of a
// single row that finds nothing on a replica, and the last batch of FindInBatches,
// are run once more on the primary. Config.NotFound says so for all reads. A read of a
// group is not, unless the group's rule is groups.Primary.
func Recheck(ctx context.Context) context.Context {
	return with(ctx, func(m *marks) { m.recheck = true })
}

// ReadOnly marks a read session: Create, Save, Update, Delete, association
// writes, the migrator and Exec or Raw of a write panic with a
// *readonlyguard.Error before anything is sent and before any hook runs (see
// Config.GuardErrors for an error instead).
func ReadOnly(ctx context.Context) context.Context {
	return readonlyguard.ReadOnly(ctx)
}

// WithSession says whose reads and writes follow: reads in this context, and in
// all that are derived from it, see what was written through s, here or in any
// other context with s. It also begins a request (see policy.RestOfRequest).
func WithSession(ctx context.Context, s *Session) context.Context {
	return with(ctx, func(m *marks) {
		m.session = s
		m.request = &request{}
	})
}

// SessionFrom returns the session of ctx. Without one it returns a new session
// that belongs to nobody, so that SessionFrom(ctx).Token(ctx) is always valid
// code; its token is empty.
func SessionFrom(ctx context.Context) *Session {
	if s := marksOf(ctx).session; s != nil {
		return s
	}
	return NewSession()
}
