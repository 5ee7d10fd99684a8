package otel

import (
	"context"
	"database/sql"
	"errors"
	"time"

	otelapi "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// round is one collection. What the plugin knows is asked for once, so that all of it
// is of the same moment.
type round struct {
	metric.Observer
	in     *instruments
	common labels
	now    time.Time
	// known says that the plugin's catalogue was reported, which resolvers without a
	// primary of their own share.
	known bool
}

// collect is the callback of all instruments.
func (x *Observer) collect(_ context.Context, o metric.Observer) error {
	x.collection.Lock()
	defer x.collection.Unlock()
	p := x.plugin.Load()
	if p == nil {
		return nil // taken back meanwhile
	}
	st := p.Status()
	x.listening(&st)
	x.report(o, st)
	return nil
}

// listening says once when the plugin serves reads and tells x of none: counts that
// stay at 0 look like an application that does nothing.
func (x *Observer) listening(st *readsplit.Status) {
	if x.heard.Load() {
		return
	}
	reads := st.ReplicaReads + st.PrimaryReads
	for i := range st.Resolvers {
		reads += st.Resolvers[i].ReplicaReads + st.Resolvers[i].PrimaryReads
	}
	if reads == 0 {
		return
	}
	// The first time, the one read that there is may be on its way to being told.
	if x.deaf++; x.deaf == 2 {
		otelapi.Handle(errors.New("readsplit: otel: the plugin serves reads and tells this Observer of none: put it into readsplit.Config.Observers, else what it counts itself stays at 0"))
	}
}

// report reports what x has counted and what a plugin knows.
func (x *Observer) report(o metric.Observer, st readsplit.Status) {
	r := &round{Observer: o, in: &x.in, common: x.common, now: x.now()}
	all := append([]readsplit.Status{st}, st.Resolvers...)
	there := map[[2]string]bool{}
	for i := range all {
		s := &all[i]
		there[[2]string{s.Resolver, primaryName}] = true
		for j := range s.Replicas {
			there[[2]string{s.Resolver, s.Replicas[j].Name}] = true
		}
		r.router(s)
		if share, ok := x.shares.of(s.Resolver, r.now, s.ReplicaReads, s.PrimaryReads); ok {
			o.ObserveFloat64(x.in.share, share, r.with(r.common.of(s.Resolver)))
		}
	}
	r.process(&st)
	place := func(s statement) bool { return there[[2]string{s.resolver, s.server}] }
	x.statements.observe(o, x.in.statements, r.now, place)
	x.transactions.observe(o, x.in.transactions, r.now, place)
	x.retries.observe(o, x.in.retries, r.now, func(f failure) bool { return there[[2]string{f.resolver, f.server}] })
	x.tokens.observe(o, x.in.tokens, r.now, func(token) bool { return true })
}

func (r *round) with(l labels, more ...attribute.KeyValue) metric.ObserveOption {
	return metric.WithAttributeSet(l.with(more...).set())
}

// count reports a total, which the plugin keeps without a sign.
func (r *round) count(as metric.Int64Observable, n uint64, l labels, more ...attribute.KeyValue) {
	r.ObserveInt64(as, int64(n), r.with(l, more...)) //nolint:gosec // nothing is counted so far
}

func (r *round) number(as metric.Int64Observable, n int, l labels, more ...attribute.KeyValue) {
	r.ObserveInt64(as, int64(n), r.with(l, more...))
}

func (r *round) flag(as metric.Int64Observable, set bool, l labels, more ...attribute.KeyValue) {
	n := 0
	if set {
		n = 1
	}
	r.number(as, n, l, more...)
}

func (r *round) seconds(as metric.Float64Observable, d time.Duration, l labels, more ...attribute.KeyValue) {
	r.ObserveFloat64(as, d.Seconds(), r.with(l, more...))
}

// router reports what is known of one resolver, or of what belongs to none.
func (r *round) router(s *readsplit.Status) {
	l := r.common.of(s.Resolver)
	r.servers(s, l)
	for kind, n := range s.Conflicts {
		r.count(r.in.conflicts, n, l, keyConflict.String(kind.String()))
	}
	r.number(r.in.conflicting, s.KeepConflicting, l)
	r.count(r.in.refusals, s.Refused, l)
	// These two are nothing but refusals, and stand from the beginning: a counter that
	// comes with the first of them has no rate, and a panel of it no 0.
	for _, reason := range []policy.Reason{policy.ReasonPrimaryLostRefused, policy.ReasonAtMostUnproven} {
		r.count(r.in.refused, s.RefusedReasons[reason], l, keyReason.String(reason.String()))
	}
	for reason, n := range s.RefusedReasons {
		if reason != policy.ReasonPrimaryLostRefused && reason != policy.ReasonAtMostUnproven {
			r.count(r.in.refused, n, l, keyReason.String(reason.String()))
		}
	}
	r.count(r.in.voided, s.Voided, l)
	r.count(r.in.shadowReads, s.Shadow.Replica, l, role(true))
	r.count(r.in.shadowReads, s.Shadow.Primary, l, role(false))
	r.count(r.in.shadowStale, s.Shadow.Stale, l)
	r.count(r.in.unsure, s.Unsure, l)
	r.count(r.in.otherHistory, s.OtherHistory, l)
	if c := &s.Catalog; (c.Loads > 0 || c.Err != nil) && !(s.SharesPrimary && r.known) {
		r.known = r.known || s.Resolver == ""
		r.flag(r.in.catalog.current, c.Current, l)
		r.number(r.in.catalog.functions, c.Functions, l)
		r.number(r.in.catalog.risks, len(c.Risks), l)
		r.number(r.in.catalog.loads, c.Loads, l)
	}
	if s.SharesPrimary {
		return
	}
	r.fallback(&s.Budget, l)
	r.failover(s, l)
}

func (r *round) fallback(b *overload.Status, l labels) {
	if b.Reads == 0 {
		return
	}
	f := &r.in.fallback
	r.number(f.limit, b.Reads, l)
	r.number(f.inUse, b.InUse, l)
	r.number(f.waiting, b.Waiting, l)
	r.count(f.waits, b.Waited, l)
	r.seconds(f.waitTime, b.WaitedFor, l)
	r.count(f.refused, b.Refused, l)
	r.count(f.servedStale, b.ServedStale, l)
}

func (r *round) failover(s *readsplit.Status, l labels) {
	if len(s.Failover.Hosts) == 0 {
		return
	}
	for _, state := range failoverStates {
		r.flag(r.in.failover.state, s.Failover.State == state, l, keyFailover.String(string(state)))
	}
	r.count(r.in.failover.moves, s.Failover.Moves, l)
	if s.Failover.Timeline != 0 {
		r.number(r.in.failover.timeline, int(s.Failover.Timeline), l)
	}
}

// process reports what is said of the whole plugin.
func (r *round) process(st *readsplit.Status) {
	allowed := st.Traffic.Percent
	switch {
	case st.Traffic.KillSwitch:
		allowed = 0
	case allowed == 0:
		allowed = 100
	}
	r.number(r.in.allowed, allowed, r.common)
	r.flag(r.in.killSwitch, st.Traffic.KillSwitch, r.common)
	r.flag(r.in.shadow, st.Traffic.Shadow, r.common)
	for _, c := range st.Connections {
		if len(c.Servers) == 0 {
			continue
		}
		server := keyConnecting.String(c.Servers[0])
		r.number(r.in.available, c.Available, r.common, server)
		r.number(r.in.needed, c.Needed, r.common, server)
	}
}

// pool reports the connections of one server.
func (r *round) pool(s *sql.DBStats, l labels, name string) {
	pool := keyPool.String(name)
	r.number(r.in.connections, s.InUse, l, pool, keyPoolState.String("used"))
	r.number(r.in.connections, s.Idle, l, pool, keyPoolState.String("idle"))
	if s.MaxOpenConnections > 0 {
		r.number(r.in.connectionsMax, s.MaxOpenConnections, l, pool)
	}
	r.ObserveInt64(r.in.poolWaits, s.WaitCount, r.with(l, pool))
	r.seconds(r.in.poolWaitTime, s.WaitDuration, l, pool)
	r.ObserveInt64(r.in.poolClosed, s.MaxIdleClosed, r.with(l, pool, keyLimit.String("idle")))
	r.ObserveInt64(r.in.poolClosed, s.MaxIdleTimeClosed, r.with(l, pool, keyLimit.String("idle_time")))
	r.ObserveInt64(r.in.poolClosed, s.MaxLifetimeClosed, r.with(l, pool, keyLimit.String("lifetime")))
}
