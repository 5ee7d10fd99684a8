package simulate

import (
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/latency"
)

// process is an application process: what it knows of the servers.
type process struct {
	run    *run
	phase  time.Duration // of its samples
	ticket uint64
	meters []latency.Meter
	health []health
}

func newProcess(r *run, i int) *process {
	n := len(r.fleet.servers)
	return &process{
		run: r, phase: time.Duration(i) * sampleEvery / 11, ticket: uint64(i),
		meters: make([]latency.Meter, n), health: make([]health, n),
	}
}

// health is what the plugin does about a server on which reads fail, see
// monitor.Health; with its defaults.
type health struct {
	strikes int
	until   time.Duration // ejected until then
	out     time.Duration // how long the newest ejection was
	since   time.Duration // back since then; 0: it was never away
}

const (
	sampleEvery = 200 * time.Millisecond
	strikes     = 3
	ejectFirst  = time.Second
	ejectMost   = 30 * time.Second
	// refreshEvery is how often a replica is asked that somebody waits for.
	refreshEvery = time.Millisecond
)

// InFlight implements policy.Load.
func (p *process) InFlight(i int) int64 { return p.meters[i].InFlight() }

// Latency implements policy.LatencyLoad.
func (p *process) Latency(i int, _ time.Time) time.Duration { return p.meters[i].Latency(p.run.now) }

func (p *process) struck(i int) {
	h, now := &p.health[i], p.run.now
	if now < h.until {
		return
	}
	if h.strikes++; h.strikes < strikes {
		return
	}
	if now-h.until > h.out {
		h.out = 0
	}
	h.strikes = 0
	h.out = min(max(2*h.out, ejectFirst), ejectMost)
	h.until = now + h.out
	h.since = h.until
}

var (
	epoch   = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	history = lsn.History{System: 1, Timeline: 1, Incarnation: 1}
)

// written is the primary's position at a moment: it writes all the time.
func written(at time.Duration) lsn.Position {
	return lsn.Position{History: history, LSN: lsn.LSN(max(at, 0) + 1)}
}

// snapshot is what the process knows now. fresh asks all servers anew, as the plugin
// does while somebody waits.
func (p *process) snapshot(fresh bool) *policy.Snapshot {
	s := &p.run.snapshot
	now := p.run.now
	if fresh {
		now -= now % refreshEvery
	}
	for i, server := range p.run.fleet.servers {
		sampled := now
		if !fresh {
			sampled -= (now + p.phase + time.Duration(i)*sampleEvery/7) % sampleEvery
		}
		sampled = max(sampled, 0)
		shows := max(sampled-server.behind(), 0)
		r := &s.Replicas[i]
		r.Sampled, r.Applied = epoch.Add(sampled), written(shows)
		r.ReplayedAt = epoch.Add(shows - shows%sampleEvery)
		r.EjectedUntil, r.Since = epoch.Add(p.health[i].until), time.Time{}
		if since := p.health[i].since; since > 0 {
			r.Since = epoch.Add(since)
		}
	}
	return s
}

// behind is how far behind the server is; the primary never is.
func (s *server) behind() time.Duration {
	if s.Primary {
		return 0
	}
	return s.replay
}
