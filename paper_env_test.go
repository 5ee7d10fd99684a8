package readsplit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// paper is a primary and its replicas in the time of a synctest bubble: an answer takes
// as long as it is said to, and nothing else takes any time. The router, its monitor and
// its decider are the real ones.
type paper struct {
	behind time.Duration // the replicas
	mu     sync.Mutex
	log    []commit
	rt     *router

	counting atomic.Bool
	reads    [2]atomic.Int64 // on the primary, on replicas
	waited   [2]atomic.Int64
	reasons  [256]atomic.Int64
	missing  atomic.Int64
	captures atomic.Int64
	asked    atomic.Int64 // replicas for their position
}

type commit struct {
	at  time.Time
	lsn lsn.LSN
}

const (
	paperStart   = lsn.LSN(1 << 20)
	paperWay     = 60 * time.Microsecond // to a server and back
	paperReplica = 2
)

// shown is what a replica shows now, or the primary.
func (p *paper) shown(replica bool) lsn.LSN {
	p.mu.Lock()
	defer p.mu.Unlock()
	until := time.Now()
	if replica {
		until = until.Add(-p.behind)
	}
	if i := sort.Search(len(p.log), func(i int) bool { return p.log[i].at.After(until) }); i > 0 {
		return p.log[i-1].lsn
	}
	return paperStart
}

func (p *paper) commit() (at lsn.LSN) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at = paperStart + lsn.LSN(96*(len(p.log)+1))
	p.log = append(p.log, commit{time.Now(), at})
	return at
}

// sheet is one server of it, as the monitor asks it.
type sheet struct {
	p       *paper
	replica int // 0: the primary
	used    atomic.Bool
}

func (s *sheet) sample() (a lsn.Sample) {
	<-time.After(paperWay / 2)
	a.Server = lsn.Server{System: 1, Started: int64(1 + s.replica), Port: 5432 + s.replica}
	a.Timeline, a.ControlTimeline, a.BlockSize, a.SegmentSize, a.Version = 1, 1, 8192, 16<<20, 150018
	if s.replica > 0 {
		a.InRecovery, a.ReceivedTimeline, a.Timeline = true, 1, 0
		a.Replay = s.p.shown(true)
		a.Receive = a.Replay
	} else {
		a.Flush = s.p.shown(false)
		a.Insert = a.Flush
	}
	<-time.After(paperWay / 2)
	return a
}

func (s *sheet) Sample(context.Context) (lsn.Sample, bool, error) {
	return s.sample(), !s.used.Swap(true), nil
}

func (s *sheet) Position(context.Context) (lsn.LSN, bool, bool, error) {
	s.p.asked.Add(1)
	return s.sample().Replay, true, true, nil
}

func (s *sheet) Capture(context.Context) (lsn.Capture, bool, error) {
	s.p.captures.Add(1)
	a := s.sample()
	return lsn.Capture{Flush: a.Flush, Insert: a.Insert}, true, nil
}

func (s *sheet) Nudge(context.Context) error { return nil }
func (s *sheet) Close() error                { return nil }

// newPaper starts a router over it, with the plugin's defaults.
func newPaper(behind time.Duration) *paper {
	// A bubble begins in the year 2000; when something was written counts from the start of
	// the process.
	<-time.After(time.Until(processStart) + time.Second)
	p := &paper{behind: behind}
	rt := &router{cfg: Config{}.withDefaults()}
	rt.self, rt.watched, rt.maxWait = []*router{rt}, true, rt.cfg.MaxWait
	rt.plugin = &Plugin{main: rt, db: &gorm.DB{Config: &gorm.Config{Logger: logger.Discard}}}
	var servers []*server
	cfg := monitor.Config{
		Primary:     monitor.Target{Name: primaryName, Source: &sheet{p: p}},
		SampleEvery: rt.cfg.SampleEvery, SampleTimeout: rt.cfg.SampleTimeout, MaxLag: rt.cfg.MaxLag, MaxWait: rt.maxWait,
		MaxSampleAge: rt.cfg.MaxSampleAge, Window: rt.cfg.StickyWindow, Nudge: true, Seed: 1,
	}
	for i := range paperReplica {
		servers = append(servers, &server{index: i})
		servers[i].lanes.Store(new([]*lane))
		cfg.Replicas = append(cfg.Replicas, monitor.Target{Name: []string{"replica1", "replica2"}[i], Source: &sheet{p: p, replica: i + 1}})
	}
	rt.members.list.Store(&servers)
	rt.monitor = monitor.New(cfg)
	rt.asks = rt.monitor
	rt.decider = policy.NewDecider(policy.Rules{
		Limits:   policy.Limits{MaxLag: rt.cfg.MaxLag, MaxSampleAge: rt.cfg.MaxSampleAge, MaxWait: rt.maxWait},
		Balancer: policy.Random(),
	})
	p.rt = rt
	rt.monitor.Start()
	return p
}

// crowd is who writes and reads.
type crowd struct {
	writes, reads float64 // a second
	users         int     // each with a session; 0: the process is the only one
}

// run lets c write and read for so long, after as long to find out how quick replicas are.
func (p *paper) run(c crowd, length time.Duration) {
	m := make([]*marks, max(c.users, 1))
	seen := make([]atomic.Int64, len(m)) // what was acknowledged
	for i := range m {
		m[i] = &marks{}
		if c.users > 0 {
			m[i].session = NewSession()
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	each := func(seed uint64, rate float64, do func(who int)) {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(7, seed))
			for {
				select {
				case <-time.After(time.Duration(rng.ExpFloat64() / rate * float64(time.Second))):
					who := rng.IntN(len(m))
					all.Go(func() { do(who) })
				case <-ctx.Done():
					return
				}
			}
		})
	}
	each(1, c.writes, func(i int) {
		<-time.After(100 * time.Microsecond)
		at := p.commit()
		<-time.After(100 * time.Microsecond)
		p.rt.wrote(m[i], false, false, lsn.History{})
		for old := seen[i].Load(); old < int64(at) && !seen[i].CompareAndSwap(old, int64(at)); old = seen[i].Load() {
		}
	})
	each(2, c.reads, func(i int) {
		p.read(ctx, m[i], lsn.LSN(seen[i].Load()))
	})
	<-time.After(length)
	p.counting.Store(true)
	p.captures.Store(0)
	p.asked.Store(0)
	<-time.After(length)
	cancel()
	all.Wait()
}

func (p *paper) read(ctx context.Context, m *marks, least lsn.LSN) {
	q := &query{Query: policy.Query{Statement: policy.Read, Random: rand.Uint64(), Ticket: p.rt.ticket.Add(1)}}
	var seen *sight
	_, err := p.rt.decide(ctx, m, q, nil, &seen)
	d := q.decision
	if err != nil || !p.counting.Load() {
		return
	}
	at := 0
	if d.Target == policy.ToReplica {
		at = 1
		if p.shown(true) < least {
			p.missing.Add(1)
		}
	} else {
		p.reasons[d.Reason].Add(1)
	}
	p.reads[at].Add(1)
	if q.Waited > 0 || q.Spent > 0 {
		p.waited[at].Add(1)
	}
}

// forget forgets what was counted.
func (p *paper) forget() {
	p.counting.Store(false)
	for i := range p.reads {
		p.reads[i].Store(0)
		p.waited[i].Store(0)
	}
	for i := range p.reasons {
		p.reasons[i].Store(0)
	}
}

// why says for which reasons reads ran on the primary.
func (p *paper) why() string {
	var all []string
	for i := range p.reasons {
		if n := p.reasons[i].Load(); n > 0 {
			all = append(all, fmt.Sprintf("%v %d", policy.Reason(i), n))
		}
	}
	return strings.Join(all, ", ")
}

// String is the line of a table.
func (p *paper) String() string {
	seconds := int64(paperLength / time.Second)
	return fmt.Sprintf("%d | %.1f %% | %d | %d | %d | %d | %s", p.reads[0].Load()+p.reads[1].Load(), 100*p.share(),
		p.waited[0].Load()+p.waited[1].Load(), p.waited[0].Load(), p.captures.Load()/seconds, p.asked.Load()/seconds, p.why())
}

func (p *paper) share() float64 {
	return float64(p.reads[1].Load()) / float64(p.reads[0].Load()+p.reads[1].Load())
}
