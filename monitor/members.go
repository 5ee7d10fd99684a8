package monitor

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/readsplit/readsplit/policy"
)

// all returns the replicas by their places, those that are gone too. A place is
// taken over by the next replica that comes; its generation goes on, so that what
// was approved for the one before counts for nothing.
func (m *Monitor) all() []*replica { return *m.replicas.Load() }

func (m *Monitor) newReplica(i int, t Target) *replica {
	r := &replica{m: m, i: i, target: t, poke: make(chan struct{}, 1), minSince: maxLSN, balanced: t.Balanced, troubles: newTroubles()}
	r.ctx, r.cancel = context.WithCancel(m.ctx)
	r.pace = pace{every: pollFirst, burst: pollBurst}
	r.renew, _ = t.Source.(Renewer)
	r.asks, _ = t.Source.(ConflictSource)
	r.feed, _ = t.Source.(SubscriptionSource)
	if !m.cfg.NoServerWait {
		r.hangs.waiter, _ = t.Source.(Waiter)
	}
	return r
}

// start runs r's goroutine.
func (r *replica) start(rng *rand.Rand) {
	r.ended = make(chan struct{})
	r.m.done.Go(func() {
		defer close(r.ended)
		r.run(rng)
	})
}

// close ends r's goroutine and closes its source.
func (r *replica) close() {
	r.cancel()
	if r.ended != nil {
		<-r.ended
	}
	if !r.gone {
		_ = r.target.Source.Close()
	}
}

// Add watches another replica and returns its place. ready is told the place
// before the replica is asked for the first time: nothing reads from it earlier.
// The first question is answered, or has failed, when Add returns. Calls of Add,
// AddAll, Remove, Start and Close must not overlap.
func (m *Monitor) Add(t Target, ready func(place int)) {
	m.AddAll(context.Background(), []Target{t}, func(_, place int) { ready(place) })
}

// AddAll is Add for several replicas, which are asked at the same time: that many are
// down costs no more than that one is. ready is told which of them has what place. When
// ctx ends, and the Monitor is about to be closed, nothing is waited for.
func (m *Monitor) AddAll(ctx context.Context, targets []Target, ready func(i, place int)) {
	added := make([]*replica, len(targets))
	for i, t := range targets {
		added[i] = m.place(t)
		ready(i, added[i].i)
	}
	if m.ctx.Err() != nil {
		return
	}
	defer context.AfterFunc(ctx, func() {
		for _, r := range added {
			r.cancel()
		}
	})()
	var first sync.WaitGroup
	for _, r := range added {
		first.Go(r.sampleFull)
	}
	first.Wait()
	for _, r := range added {
		r.start(rand.New(rand.NewPCG(m.cfg.Seed, uint64(r.i)^r.gen.Load()<<32)))
	}
}

// place gives a replica a place: that of one that is gone, where there is one.
func (m *Monitor) place(t Target) *replica {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := append([]*replica(nil), m.all()...)
	place := len(all)
	for i, r := range all {
		if r.gone {
			place = i
			break
		}
	}
	r := m.newReplica(place, t)
	if place == len(all) {
		all = append(all, r)
	} else {
		r.gen.Store(all[place].gen.Load() + 1)
		all[place] = r
	}
	m.replicas.Store(&all)
	m.publish(func(s *policy.Snapshot) {
		if place == len(s.Replicas) {
			s.Replicas = append(s.Replicas, policy.Replica{})
		}
		s.Replicas[place] = r.view()
	})
	return r
}

// Remove stops watching the replica at a place. No decision names it any more when
// Remove returns, and what was read there since it was called counts for nothing.
func (m *Monitor) Remove(place int) {
	r := m.all()[place]
	r.close()
	m.mu.Lock()
	if r.forks() {
		m.lostFork = m.primary.history
	}
	r.gone, r.up = true, false
	r.next()
	r.publish()
	m.mu.Unlock()
	m.changed(place, StateRemoved, nil)
}

// Drain takes the replica at a place out of service, or puts it back. It is still
// watched.
func (m *Monitor) Drain(place int, out bool) {
	r := m.all()[place]
	m.mu.Lock()
	changed := r.drained != out
	r.drained = out
	if changed {
		if !out {
			r.comesBack()
		}
		r.publish()
	}
	m.mu.Unlock()
	switch {
	case changed && out:
		m.changed(place, StateDrained, nil)
	case changed:
		m.changed(place, StateResumed, nil)
	}
}
