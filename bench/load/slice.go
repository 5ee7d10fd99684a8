package load

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Slice is what one form did in one slice of time.
type Slice struct {
	PerSecond          float64 // operations of all clients
	Reads, Writes, Own Latency
	Missed             int // reads that did not show their client's newest write
	OwnReads           int
	OnReplicas         float64 // share of reads, where the form tells it, else -1
	Captures           uint64  // questions to the primary for its position
}

// Latency is of one kind of operation.
type Latency struct{ P50, P99 time.Duration }

func (a *app) slice(m Mix, clients []*client, d time.Duration) (Slice, error) {
	var wg sync.WaitGroup
	errs := make(chan error, len(clients))
	before := a.counts()
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
	took := time.Since(began)
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
	s.PerSecond = float64(len(reads)+len(writes)+len(own)) / took.Seconds()
	s.Reads, s.Writes, s.Own, s.OwnReads = latency(reads), latency(writes), latency(own), len(own)
	s.OnReplicas = -1
	if n := after.primary - before.primary + after.replicas - before.replicas; a.plugin != nil && n > 0 {
		s.OnReplicas = float64(after.replicas-before.replicas) / float64(n)
	}
	s.Captures = after.captures - before.captures
	return s, nil
}

func latency(d []time.Duration) Latency {
	if len(d) == 0 {
		return Latency{}
	}
	slices.Sort(d)
	return Latency{P50: d[len(d)/2], P99: d[len(d)*99/100]}
}

// newClients makes clients whose rows are there: n of a form, numbered from first on.
func (a *app) newClients(first, n int) ([]*client, error) {
	var all []*client
	for i := range n {
		c := &client{db: a.client(), id: int64(first + i), rng: rand.New(rand.NewPCG(uint64(first), uint64(i)))}
		if err := a.db.Save(&Account{ID: c.id, Client: c.id, Note: "of a client"}).Error; err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// counts are totals of the form so far.
type counts struct{ primary, replicas, captures uint64 }

func (a *app) counts() counts {
	if a.plugin == nil {
		return counts{}
	}
	st := a.plugin.Status()
	return counts{st.PrimaryReads, st.ReplicaReads, st.Captures}
}
