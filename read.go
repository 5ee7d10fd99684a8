package readsplit

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
	"github.com/readsplit/readsplit/sqlclass"
)

// read runs attempt on the server that is right for the read, and again
// elsewhere as long as the failure is the server's and nothing has reached the
// caller. attempt is given nil for the primary, whose errors are final. discard
// drops a result that turned out not to be trusted.
func (r *route) read(ctx context.Context, attempt func(s *server) error, discard func()) error {
	p := r.p
	primary := r.forced
	r.forced = 0
	for {
		r.attempts++
		if primary == 0 && r.attempts > 1 && !p.cfg.Retry.Allows(r.attempts) {
			primary = policy.ReasonReplicaFailed // the last run is the primary's
		}
		s, generation, reason, err := r.choose(ctx, primary)
		if err != nil {
			return err
		}
		if s == nil {
			if r.refused {
				r.wrote, r.effect = true, effect{insert: true}
			}
			r.ranOn(nil, reason)
			return attempt(nil)
		}
		err = s.try(attempt)
		if err == nil {
			if p.monitor.Generation(s.index) == generation {
				r.ranOn(s, reason)
				return nil
			}
			// Between the decision and now the server came back in an older
			// state, and this answer may be from there.
			if discard != nil {
				discard()
			}
			p.counters.voided.Add(1)
			if !p.cfg.Retry.Allows(r.attempts) {
				primary = policy.ReasonReplicaFailed
			}
			continue
		}
		next, again := r.failed(ctx, s, err)
		if !again {
			r.ranOn(s, reason)
			return err
		}
		if next != 0 {
			primary = next
		}
		if !p.cfg.Retry.Allows(r.attempts) {
			if primary == 0 {
				r.ranOn(s, reason)
				return err
			}
		} else if primary == 0 && !p.pause(ctx, r.attempts) {
			return err
		}
	}
}

// try runs an attempt and counts it while it runs, also when it panics: what is
// in flight for ever keeps reads away from its server for ever.
func (s *server) try(attempt func(s *server) error) error {
	s.inFlight.Add(1)
	defer s.inFlight.Add(-1)
	return attempt(s)
}

// failed judges an error of a replica: whether the read may run again, and the
// reason when that must be on the primary.
func (r *route) failed(ctx context.Context, s *server, err error) (primary policy.Reason, again bool) {
	if ctx.Err() == nil && r.p.closed.Load() {
		return policy.ReasonNoReplicas, true // broken off by Close
	}
	v := retry.OfAttempt(ctx, ctx, err)
	if ctx.Err() == nil && (errors.Is(err, retry.ErrServerDead) || errors.Is(err, monitor.ErrNotStandby)) {
		v = retry.Verdict{Action: retry.Elsewhere, Cause: retry.CauseServerDead}
	}
	if v.ServerSuspect {
		r.p.monitor.Suspect(s.index, err)
	}
	r.exclude |= 1 << (s.index % 64)
	switch v.Action {
	case retry.Elsewhere:
		r.p.counters.retried(v.Cause)
		return 0, true
	case retry.Primary:
		r.p.counters.retried(v.Cause)
		switch {
		case v.CountsAsWrite:
			r.refused = true
			r.p.counters.refused.Add(1)
			return policy.ReasonRefusedByReplica, true
		case v.Cause == retry.CauseSchemaBehind:
			return policy.ReasonSchemaBehind, true
		default:
			return policy.ReasonReplicaFailed, true
		}
	default:
		return 0, false
	}
}

// pause waits between two runs of a read.
func (p *Plugin) pause(ctx context.Context, ran int) bool {
	d := p.cfg.Retry.Delay(ran, rand.Uint64())
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// choose decides where the read runs. generation belongs to the news that the
// decision is based on.
func (r *route) choose(ctx context.Context, forced policy.Reason) (s *server, generation uint64, reason policy.Reason, err error) {
	p := r.p
	if forced != 0 {
		return nil, 0, forced, nil
	}
	if p.closed.Load() {
		return nil, 0, policy.ReasonNoReplicas, nil
	}
	m := marksOf(ctx)
	if m.group != "" && !p.groups[m.group] {
		return nil, 0, 0, fmt.Errorf("%w %q: %s", ErrUnknownGroup, m.group, p.groupNames())
	}
	q := queries.Get().(*query)
	defer queries.Put(q)
	*q = query{Query: policy.Query{
		Statement: policy.Read, Mode: m.mode, PreferPrimary: p.cfg.Default == PreferPrimary,
		AtMost: m.atMost, Group: m.group, Zone: p.cfg.Zone,
		Exclude: r.exclude, Random: rand.Uint64(), Ticket: p.ticket.Add(1),
	}}
	if m.request != nil {
		q.Wrote, q.Held = m.request.wrote.Load(), int(m.request.held.Load())
	}
	if r.parent != nil && r.parent.ran && r.parent.at == nil {
		return nil, 0, policy.ReasonParent, nil
	}
	d, snap, err := p.decide(ctx, m, q, r.parent)
	if err != nil {
		return nil, 0, 0, err
	}
	if d.Target != policy.ToReplica {
		hold(m, -1)
		return nil, 0, d.Reason, nil
	}
	hold(m, d.Replica+1)
	return p.servers[d.Replica], snap.Replicas[d.Replica].Generation, d.Reason, nil
}

// hold remembers the first server of a request, for policy.OneServer.
func hold(m *marks, server int) {
	if m.request != nil && m.request.held.Load() == 0 {
		m.request.held.CompareAndSwap(0, int64(server))
	}
}

// query is a decision to be made, with what is needed to wait for it.
type query struct {
	policy.Query
	since time.Time // when the decision began
	at    time.Time // when the primary was known to have Need
}

// queries are reused: a read must not pay an allocation for being routed.
var queries = sync.Pool{New: func() any { return new(query) }}

// decide asks the policies, waiting for a replica where they say so.
func (p *Plugin) decide(ctx context.Context, m *marks, q *query, parent *route) (policy.Decision, *policy.Snapshot, error) {
	now := time.Now()
	q.since = now
	deadline := now.Add(p.maxWait)
	snap := p.monitor.Snapshot()
	if p.needsClaims(q) {
		q.at = p.demand(ctx, m, &q.Query, deadline)
		bounded := q.AtMost > 0 && q.Mode != policy.Stale && q.Mode != policy.AnyReplica
		if bounded && q.AtMost < 2*p.cfg.SampleEvery && !q.Pending {
			p.demandRecent(ctx, q, now, deadline)
		}
		snap, now = p.monitor.Snapshot(), time.Now()
	}
	if parent != nil && parent.at != nil && parent.at.index < 64 {
		// A child that can be read where its parent was read is read there.
		alone := q.Query
		alone.Exclude |= ^(uint64(1) << parent.at.index)
		if d := p.decider.Decide(&alone, snap, p.load, now); d.Target == policy.ToReplica {
			return d, snap, nil
		}
	}
	for {
		d := p.decider.Decide(&q.Query, snap, p.load, now)
		switch d.Target {
		case policy.Refuse:
			return d, snap, &refusal{d.Reason}
		case policy.Wait:
		case policy.ToPrimary:
			if d.Reason == policy.ReasonBehindSession || d.Reason == policy.ReasonWaitExpired {
				// Nobody waits, but somebody should find out when waiting helps again.
				p.monitor.Want(q.Need.LSN, q.at, q.since)
			}
			return d, snap, nil
		default:
			return d, snap, nil
		}
		// To miss no news, ask for them first and look afterwards.
		news := p.monitor.News()
		if again := p.monitor.Snapshot(); again != snap {
			snap, now = again, time.Now()
			continue
		}
		p.monitor.Want(q.Need.LSN, q.at, deadline)
		p.monitor.AwaitNews(ctx, news, deadline)
		snap, now = p.monitor.Snapshot(), time.Now()
		q.Waited = now.Sub(q.since) // what was spent on the capture counts too
		switch {
		case ctx.Err() != nil:
			return d, snap, ctx.Err()
		case p.closed.Load(): // no news will come any more
			return policy.Decision{Reason: policy.ReasonNoReplicas}, snap, nil
		}
	}
}

// needsClaims reports whether what the session wrote matters for the decision:
// looking it up may ask the primary, which a read that goes there anyway should
// not wait for.
func (p *Plugin) needsClaims(q *query) bool {
	if len(p.servers) == 0 || q.Mode == policy.Fresh {
		return false
	}
	return !q.PreferPrimary || q.Mode != policy.Normal || q.AtMost > 0 || q.Group != ""
}

// demandRecent makes q need a position that the primary had at most AtMost ago,
// because between two samples nothing younger than the sample is proven.
func (p *Plugin) demandRecent(ctx context.Context, q *query, now, deadline time.Time) {
	since := now.Add(-q.AtMost)
	pos, ok := p.monitor.CapturedSince(since)
	if !ok {
		next := p.monitor.NextCapture()
		if p.monitor.AwaitCapture(ctx, next, deadline) {
			pos, _, ok = p.monitor.Captured(next, false)
		}
	}
	if !ok {
		// Without the primary nothing so recent can be proven: the policies say
		// what that means for a bound that the read itself asked for.
		q.Pending = !p.lost()
		return
	}
	if q.Need.Zero() || pos.Covers(q.Need) {
		q.Need, q.at = pos, now
	}
	// Need now says more than the age of a sample can.
	q.AtMost = 0
}

// load is the reads in flight on each replica. It implements policy.Load.
type load []*server

func (l load) InFlight(replica int) int64 { return l[replica].inFlight.Load() }

// classify reads a statement's text.
func (p *Plugin) classify(query string) sqlclass.Info { return sqlclass.Classify(p.dialect, query) }

func (p *Plugin) groupNames() string {
	if len(p.groups) == 0 {
		return "no replica is in any group; set Replica.Groups"
	}
	names := make([]string, 0, len(p.groups))
	for g := range p.groups {
		names = append(names, g)
	}
	return "the groups are " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
}
