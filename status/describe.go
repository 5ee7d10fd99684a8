package status

import (
	"cmp"
	"database/sql"
	"slices"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// describe makes the report of one router, without what depends on time.
func describe(st *readsplit.Status, now time.Time) Router {
	r := Router{
		Reasons: []Reason{}, // no null in JSON
		Name:    st.Resolver, Captures: st.Captures, UnsureWrites: st.Unsure, KeepConflicting: st.KeepConflicting,
		Reads:   Reads{Replicas: st.ReplicaReads, Primary: st.PrimaryReads, Share: share(st.ReplicaReads, st.PrimaryReads)},
		Retries: named(st.Retries), Conflicts: named(st.Conflicts),
		Tokens: some(map[string]uint64{"refused": st.Tokens.Refused, "foreign": st.Tokens.Foreign, "expired": st.Tokens.Expired}),
	}
	r.Servers = append(r.Servers, server(&st.Primary, true, false, now))
	for i := range st.Replicas {
		s := &st.Replicas[i]
		r.Servers = append(r.Servers, server(s, false, st.Failover.Follows(s.Name), now))
	}
	if r.lost() {
		for i := range r.Servers {
			if s := &r.Servers[i]; s.State == stateBehind {
				s.Advice = behindNobody
			}
		}
	}
	for reason, n := range st.Reasons {
		replicas, refused := st.ReplicaReasons[reason], st.RefusedReasons[reason]
		for _, by := range []Reason{{Count: n - replicas - refused}, {Count: replicas, Replica: true}, {Count: refused, Refused: true}} {
			if by.Count > 0 {
				by.Reason, by.Because, by.Do = reason, reason.Because(), reason.Remedy()
				r.Reasons = append(r.Reasons, by)
			}
		}
	}
	slices.SortFunc(r.Reasons, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason))
	})
	if st.Traffic != (policy.Traffic{}) {
		r.Traffic = &Traffic{KillSwitch: st.Traffic.KillSwitch, Percent: st.Traffic.Percent, Shadow: st.Traffic.Shadow, Stale: st.Shadow.Stale}
	}
	if b := st.Budget; b.Reads > 0 {
		r.Budget = &Budget{Reads: b.Reads, InUse: b.InUse, Waiting: b.Waiting, Refused: b.Refused, ServedStale: b.ServedStale}
	}
	r.Discovery = discovery(&st.Discovery)
	if f := st.Failover; len(f.Hosts) > 0 {
		r.Election = &Election{State: string(f.State), Primary: f.Primary, Timeline: f.Timeline, Moves: f.Moves, Hosts: hosts(&f, now)}
	}
	return r
}

// share is what part of a and b a is; nil: there is nothing.
func share(a, b uint64) *float64 {
	if a+b == 0 {
		return nil
	}
	s := float64(a) / float64(a+b)
	return &s
}

// named gives counters their labels.
func named[K interface {
	comparable
	String() string
}](counts map[K]uint64) map[string]uint64 {
	labelled := map[string]uint64{}
	for k, n := range counts {
		labelled[k.String()] = n
	}
	return some(labelled)
}

// some drops what is 0, and a map of nothing.
func some(counts map[string]uint64) map[string]uint64 {
	for k, n := range counts {
		if n == 0 {
			delete(counts, k)
		}
	}
	if len(counts) == 0 {
		return nil
	}
	return counts
}

func server(s *readsplit.ServerStatus, primary, elected bool, now time.Time) Server {
	d := Server{
		Name: s.Name, Host: s.Host, Role: s.Role.String(), Primary: primary,
		Behind: s.BehindBytes, CatchUp: s.CatchUp.Seconds(), Reads: s.Reads, InFlight: s.InFlight, Pool: pool(s.Pool),
	}
	if !s.Position.Zero() {
		d.Position = s.Position.LSN.String()
	}
	if s.LagKnown {
		lag := s.Lag.Seconds()
		d.Lag = &lag
	}
	if !s.Sampled.IsZero() {
		d.Sampled = s.Sampled.UTC().Format(time.RFC3339Nano)
	}
	d.Conflicts, d.Reserved = named(s.Conflicts), s.Reserved
	if s.Reserved {
		d.Pool = Pool{}
	}
	for i := range s.Groups {
		if d.Groups == nil {
			d.Groups = make(map[string]Pool)
		}
		p := pool(s.Groups[i].Pool)
		d.Groups[s.Groups[i].Group] = p
		d.Pool = d.Pool.plus(p)
	}
	d.State, d.Level, d.Advice = state(s, primary, elected, now)
	return d
}

// plus is p and q together; without a limit on one there is none on both.
func (p Pool) plus(q Pool) Pool {
	sum := Pool{Open: p.Open + q.Open, InUse: p.InUse + q.InUse, Idle: p.Idle + q.Idle, Max: p.Max + q.Max, Waits: p.Waits + q.Waits}
	if p != (Pool{}) && p.Max == 0 || q.Max == 0 {
		sum.Max = 0
	}
	return sum
}

func pool(s sql.DBStats) Pool {
	return Pool{Open: s.OpenConnections, InUse: s.InUse, Idle: s.Idle, Max: s.MaxOpenConnections, Waits: s.WaitCount}
}
