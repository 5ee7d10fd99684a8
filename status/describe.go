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
	r.Servers = append(r.Servers, server(&st.Primary, true, now))
	for i := range st.Replicas {
		r.Servers = append(r.Servers, server(&st.Replicas[i], false, now))
	}
	for reason, n := range st.Reasons {
		r.Reasons = append(r.Reasons, Reason{Reason: reason, Count: n})
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
	if f := st.Failover; len(f.Hosts) > 0 {
		r.Election = &Election{State: string(f.State), Primary: f.Primary, Timeline: f.Timeline, Moves: f.Moves}
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

func server(s *readsplit.ServerStatus, primary bool, now time.Time) Server {
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
	d.State, d.Advice = state(s, primary, now)
	return d
}

func pool(s sql.DBStats) Pool {
	return Pool{Open: s.OpenConnections, InUse: s.InUse, Idle: s.Idle, Max: s.MaxOpenConnections, Waits: s.WaitCount}
}

// behind is from when on a replica is called behind: reads that ask for nothing still
// go there until Config.MaxLag.
const behind = time.Second

// state is a server in one word, and what whoever is on call does about it.
func state(s *readsplit.ServerStatus, primary bool, now time.Time) (word, advice string) {
	switch {
	case s.Sampled.IsZero():
		return "unknown", "It has not answered yet. Is its address right, and does its role have the right to connect?"
	case !s.Up && primary:
		return "down", "The primary cannot be reached: writes fail, and nobody can prove how old replicas are. Bring it back, or promote a replica."
	case !s.Up:
		return "down", "No read goes there. Look at the server's log; reads return by themselves."
	case !primary && s.Role == policy.RolePrimary:
		return "writable", "It is not in recovery: it was promoted, or the address is wrong. No read goes there."
	case s.Drained:
		return "drained", "An operator has taken it out of service. Resume it when the work is done."
	case now.Before(s.EjectedUntil):
		return "ejected", "It answers probes, but reads failed there one after the other: it is left alone for a while. Look at its log."
	case s.Balanced:
		return "balanced", "The name answers as several servers: each read that asks for something finds out on its own connection what it is shown. Give each server a name of its own in Config.Replicas if you can."
	case s.Paused:
		return "paused", "An administrator paused replay: SELECT pg_wal_replay_resume() when that is over."
	case !primary && !s.LagKnown:
		return "unproven", "It is not proven to follow the primary. Does it stream from it, and may its role see pg_stat_wal_receiver (pg_monitor)?"
	case !primary && s.Lag >= behind:
		return "behind", "Look for a long query there that replay waits for, a bulk write on the primary, and the network between the two."
	default:
		return "up", ""
	}
}
