package policytest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
)

// Case is one input of a decision.
type Case struct {
	Limits   policy.Limits
	Query    policy.Query
	Snapshot policy.Snapshot
	Load     InFlight
	Now      time.Time
}

// InFlight is a [policy.Load] by index.
type InFlight []int64

// InFlight implements [policy.Load]; a replica that is not in f has none.
func (f InFlight) InFlight(replica int) int64 {
	if replica < len(f) {
		return f[replica]
	}
	return 0
}

// Latency implements [policy.LatencyLoad]: the more is in flight, the longer it takes,
// and some replicas have not been measured yet.
func (f InFlight) Latency(replica int, _ time.Time) time.Duration {
	n := f.InFlight(replica)
	if n%5 == 4 {
		return 0
	}
	return time.Duration(n+1) * 3 * time.Millisecond
}

// Clone returns a copy of c that shares no memory with it.
func (c *Case) Clone() *Case {
	d := *c
	d.Load = slices.Clone(c.Load)
	d.Snapshot.Replicas = slices.Clone(c.Snapshot.Replicas)
	for i := range d.Snapshot.Replicas {
		d.Snapshot.Replicas[i].Groups = slices.Clone(c.Snapshot.Replicas[i].Groups)
	}
	return &d
}

// Random returns a case drawn from r. Most servers are healthy, so that there is
// something to choose; times and positions lie on their bounds more often than
// chance would have it, and sometimes there are more replicas than a balancer is
// offered.
func Random(r *rand.Rand) *Case {
	g := generator{r}
	c := &Case{
		Now: time.Date(2024, 2, 29, 23, 59, 59, 0, time.UTC),
		Limits: policy.Limits{
			MaxLag:         g.pick(2*time.Second, 50*time.Millisecond),
			MaxSampleAge:   g.pick(time.Second, 100*time.Millisecond),
			MaxWait:        g.pick(5*time.Millisecond, 5*time.Millisecond, 0),
			SlowStart:      g.pick(0, 10*time.Second, time.Second),
			RefuseWhenLost: g.one(4),
		},
	}
	c.Query = g.query(c)
	c.Snapshot.Primary = policy.Primary{Name: "primary", Lost: g.one(4), Position: g.position(1000), Sampled: g.around(c.Now, c.Limits.MaxSampleAge)}
	n := r.IntN(7)
	if g.one(150) {
		n = 60 + r.IntN(150)
	}
	for i := range n {
		c.Snapshot.Replicas = append(c.Snapshot.Replicas, g.replica(c, i))
		c.Load = append(c.Load, r.Int64N(5))
	}
	return c
}

type generator struct{ *rand.Rand }

func (g generator) one(in int) bool { return g.IntN(in) == 0 }

func (g generator) pick(of ...time.Duration) time.Duration { return of[g.IntN(len(of))] }

// around returns a time that is mostly young enough for bound, often exactly at
// it, and now and then none at all or in the future.
func (g generator) around(now time.Time, bound time.Duration) time.Time {
	if g.one(12) {
		return time.Time{}
	}
	return now.Add(-g.pick(bound/2, bound/10, 0, bound-1, bound, bound, bound+1, 10*bound, -time.Second))
}

// latency is mostly plausible, sometimes unknown, and now and then beyond sense.
func (g generator) latency() time.Duration {
	return g.pick(0, time.Millisecond, time.Millisecond, 3*time.Millisecond, 40*time.Millisecond, -1, 1<<63-1)
}

func (g generator) position(at int) lsn.Position {
	p := lsn.Position{History: lsn.History{System: 7, Timeline: 3, Incarnation: 11}, LSN: lsn.LSN(at)}
	switch g.IntN(24) {
	case 0:
		p.Timeline++
	case 1:
		p.Incarnation++
	case 2:
		return lsn.Position{}
	case 3:
		p.LSN = 0
	}
	return p
}

func (g generator) query(c *Case) policy.Query {
	q := policy.Query{
		Statement: policy.Read,
		Random:    g.Uint64(), Ticket: g.Uint64(),
		Zone:  []string{"", "east", "west"}[g.IntN(3)],
		Group: []string{"", "", "", "", "", "reports", "search", "nobody"}[g.IntN(8)],
		Held:  g.IntN(12) - 2,
	}
	if g.one(12) {
		q.Statement = policy.Statement(g.IntN(6))
	}
	if g.one(2) {
		q.Mode = policy.Mode(g.IntN(7))
	}
	q.PreferPrimary = g.one(6)
	if g.one(3) {
		q.AtMost = g.pick(c.Limits.MaxLag/2, c.Limits.MaxLag, 2*c.Limits.MaxLag, time.Nanosecond, -time.Second)
	}
	if g.one(2) {
		q.Need = g.position(1000)
	}
	q.Pending, q.Unsure, q.Foreign, q.Wrote = g.one(15), g.one(15), g.one(15), g.one(6)
	if g.one(2) {
		q.LastWrite = g.around(c.Now, 5*time.Second)
	}
	if g.one(3) {
		q.Exclude = g.Uint64() & g.Uint64()
	}
	if q.Random%19 == 0 {
		q.Only = int(q.Random % 9)
	}
	if g.one(15) {
		q.Withheld = []policy.Reason{policy.ReasonKillSwitch, policy.ReasonPercent}[g.IntN(2)]
	}
	q.TryEjected = g.one(6)
	q.Monotonic = q.Random%5 == 0
	q.KeepServer = q.Random%17 == 0
	if q.Random%3 == 0 {
		q.Affinity = q.Random
	}
	if g.one(2) {
		q.Waited = g.pick(0, time.Millisecond, 4*time.Millisecond, 5*time.Millisecond, time.Second, -time.Second)
	}
	return q
}

func (g generator) replica(c *Case, i int) policy.Replica {
	r := policy.Replica{
		Name:   fmt.Sprintf("pg%d", i+2),
		Zone:   []string{"", "east", "west"}[g.IntN(3)],
		Weight: []int{0, 1, 2, 5, -3, 1 << 40}[g.IntN(6)],
		Role:   policy.RoleStandby,
		Up:     !g.one(10), AllowPrimary: g.one(6), Balanced: g.one(10), Paused: g.one(8),
		Sampled:    g.around(c.Now, c.Limits.MaxSampleAge),
		Applied:    g.position(999 + g.IntN(4)),
		ReplayedAt: g.around(c.Now, c.Limits.MaxLag),
		CatchUp:    g.pick(0, time.Millisecond, 4*time.Millisecond, 5*time.Millisecond, time.Minute),
	}
	if g.one(8) {
		r.Role = policy.Role(g.IntN(4))
		if r.Role == policy.RoleForeign && i%2 == 0 {
			r.Role = policy.RoleLogical
		}
	}
	if g.one(4) {
		r.Margin = g.pick(time.Nanosecond, 60*time.Millisecond)
	}
	// No chance of its own: the cases of a seed would be others.
	if some := c.Query.Random >> (uint(i) % 48); some%8 == 0 {
		r.NoPosition, r.StatedLag = true, time.Duration(some/8%2)*time.Second
	}
	r.Drained, r.Gone = g.one(12), g.one(12)
	r.Reserved = r.Zone == "west" && i == 0
	if g.one(6) {
		r.EjectedUntil = c.Now.Add(g.pick(-time.Second, 0, 1, time.Second))
	}
	if g.one(3) {
		r.Since = c.Now.Add(-g.pick(0, c.Limits.SlowStart/10, c.Limits.SlowStart/2, c.Limits.SlowStart-1, c.Limits.SlowStart, time.Hour, -time.Second))
	}
	if r.Applied.LSN < 1000 {
		r.BehindBytes = uint64(1000 - r.Applied.LSN)
	}
	for _, group := range []string{"reports", "search"} {
		if g.one(2) {
			r.Groups = append(r.Groups, group)
		}
	}
	return r
}
