package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// refreshWait is how long a read waits at most for a replica that should have what
// its session needs, and was last asked before it had.
const refreshWait = 3 * time.Millisecond

// refresh asks the replicas where one that was found behind should have caught up by
// now: the primary got to the position longer ago than the replica takes. Without it
// news that are a sample old would send a session to the primary, and one that must
// not go back in time would then have to stay there.
func (rt *router) refresh(ctx context.Context, q *query, snap *policy.Snapshot, now, deadline time.Time) bool {
	passed := rt.monitor.PassedAt(q.Need)
	if passed.IsZero() || !shouldHave(q, snap, passed, now) {
		return false
	}
	until := earlier(deadline, now.Add(refreshWait))
	if !now.Before(until) {
		return false
	}
	return rt.awaitReached(ctx, q.Need, passed, until)
}

// awaitReached waits until some replica has reached a position that the primary had
// at passed.
func (rt *router) awaitReached(ctx context.Context, need lsn.Position, passed, until time.Time) bool {
	for {
		news := rt.monitor.News() // first, to miss none
		for _, r := range rt.monitor.Snapshot().Replicas {
			if r.Applied.Covers(need) {
				return true
			}
		}
		rt.asks.Want(need.LSN, passed, until)
		if !rt.asks.AwaitNews(ctx, news, until) {
			return false
		}
	}
}

// shouldHave reports whether some replica takes no longer than since passed to replay
// what the primary has, and was last asked before that time was over: one that was
// found lacking it later takes longer than is known, and would be asked by every read.
func shouldHave(q *query, snap *policy.Snapshot, passed, now time.Time) bool {
	for i := range snap.Replicas {
		r := &snap.Replicas[i]
		if r.Up && !r.Paused && r.Applied.History == q.Need.History &&
			r.CatchUp <= now.Sub(passed) && r.Sampled.Sub(passed) < max(r.CatchUp, time.Millisecond) {
			return true
		}
	}
	return false
}
