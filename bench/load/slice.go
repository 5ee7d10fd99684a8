package load

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/readsplit/readsplit/bench/side"
)

// Slice is what one form did in one slice of time.
type Slice struct {
	PerSecond          float64 // operations of all clients
	WritesPerSecond    float64
	CPU                float64 // us of processor time of this process for each operation
	Reads, Writes, Own Latency
	Missed             int // reads that did not show their client's newest write
	OwnReads           int
	WritesDone         int
	OnReplicas         float64 // share of reads, where the form tells it, else -1
	Captures           float64 // questions to the primary for its position, a second
}

// Latency is of one kind of operation, in ms; 0: there was none.
type Latency struct{ P50, P99 float64 }

func (a *app) slice(m Mix, clients []*client, d time.Duration) (Slice, error) {
	var wg sync.WaitGroup
	errs := make(chan error, len(clients))
	before, used := a.counts(), side.Processor()
	began := time.Now()
	until := began.Add(d)
	for _, c := range clients {
		c.reads, c.writes, c.own, c.missed = c.reads[:0], c.writes[:0], c.own[:0], 0
		wg.Go(func() {
			for time.Now().Before(until) {
				if err := c.step(m); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took, cpu := time.Since(began), side.Processor()-used
	after := a.counts()
	select {
	case err := <-errs:
		return Slice{}, err
	default:
	}
	var s Slice
	var reads, writes, own []time.Duration
	for _, c := range clients {
		reads, writes, own = append(reads, c.reads...), append(writes, c.writes...), append(own, c.own...)
		s.Missed += c.missed
	}
	n := len(reads) + len(writes) + len(own)
	s.PerSecond, s.WritesPerSecond = float64(n)/took.Seconds(), float64(len(writes))/took.Seconds()
	s.CPU = float64(cpu.Nanoseconds()) / 1000 / float64(max(n, 1))
	s.Reads, s.Writes, s.Own, s.OwnReads = latency(reads), latency(writes), latency(own), len(own)
	s.WritesDone = len(writes)
	s.OnReplicas = -1
	if n := after.primary - before.primary + after.replicas - before.replicas; a.plugin != nil && n > 0 {
		s.OnReplicas = float64(after.replicas-before.replicas) / float64(n)
	}
	s.Captures = float64(after.captures-before.captures) / took.Seconds()
	return s, nil
}

func latency(d []time.Duration) Latency {
	if len(d) == 0 {
		return Latency{}
	}
	slices.Sort(d)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return Latency{P50: ms(d[len(d)/2]), P99: ms(d[len(d)*99/100])}
}

// clients makes clients whose rows are there: n of a form, numbered from first on.
func (a *app) clients(first int64, n int) ([]*client, error) {
	var all []*client
	for i := range int64(n) {
		c := &client{db: a.client(), replicas: a.replicas, id: first + i, rng: rand.New(rand.NewPCG(uint64(first), uint64(i)))}
		if err := a.db.Save(&Account{ID: c.id, Client: c.id, Note: "of a client"}).Error; err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}
