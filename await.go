package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Await waits until a replica may serve the reads of s, in every database of this
// process that s must see something in, and reports whether that is so. It gives up
// when ctx is done, and at once where no waiting helps: there is no replica, or
// operators have sent all reads to the primary. A job that may run a little later
// spares the primary by it; its reads are right either way.
func (s *Session) Await(ctx context.Context) bool {
	all := plugins.all()
	for _, rt := range all {
		if !rt.watched || rt.closed.Load() {
			continue
		}
		l := s.ledgerOf(rt)
		if l.accepted.Load() < s.joined.Load() {
			rt.acceptTokens(s, l)
		}
		if l.claim.load().Empty() && l.seen.Load() == nil && len(all) > 1 {
			continue // of a database that s has nothing to do with
		}
		if !rt.awaitReplica(ctx, s) {
			return false
		}
	}
	return true
}

// awaitPause is how long Await waits for news before it looks again: doubts end
// without any.
const awaitPause = 50 * time.Millisecond

func (rt *router) awaitReplica(ctx context.Context, s *Session) bool {
	m := &marks{session: s, mode: policy.UseReplica}
	for {
		q := &query{Query: policy.Query{Statement: policy.Read, Mode: m.mode, Zone: rt.cfg.Zone, Ticket: rt.ticket.Add(1)}}
		q.Withheld = rt.plugin.withheld(q.Random, nil)
		if q.Withheld != policy.ReasonNone || !rt.splits() || rt.closed.Load() {
			return false
		}
		news := rt.monitor.News()
		var seen *sight
		_, err := rt.decide(ctx, m, q, nil, &seen)
		d := &q.decision
		if err == nil && d.Target == policy.ToReplica && (!d.Check || rt.replicas()[d.Replica].shows(ctx, q)) {
			return true
		}
		if err == nil && d.Reason == policy.ReasonNoReplicas {
			return false // all that there were have been removed
		}
		until := time.Now().Add(awaitPause)
		if !q.Need.Zero() {
			rt.monitor.Want(q.Need.LSN, q.at, until)
		}
		rt.monitor.AwaitNews(ctx, news, until)
		if ctx.Err() != nil {
			return false
		}
	}
}
