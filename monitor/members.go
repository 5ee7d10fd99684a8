package monitor

import (
	"context"
	"math/rand/v2"

	"github.com/readsplit/readsplit/policy"
)

// all returns the replicas by their places, those that are gone too. A place is
// taken over by the next replica that comes; its generation goes on, so that what
// was approved for the one before counts for nothing.
func (m *Monitor) all() []*replica { return *m.replicas.Load() }

func (m *Monitor) newReplica(i int, t Target) *replica {
	r := &replica{m: m, i: i, target: t, poke: make(chan struct{}, 1), minSince: maxLSN, balanced: t.Balanced, troubles: newTroubles()}
	r.ctx, r.cancel = context.WithCancel(m.ctx)
	r.renew, _ = t.Source.(Renewer)
	r.asks, _ = t.Source.(ConflictSource)
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
// Remove, Start and Close must not overlap.
func (m *Monitor) Add(t Target, ready func(place int)) {
	m.mu.Lock()
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
	m.mu.Unlock()
	ready(place)
	if m.ctx.Err() != nil {
		return
	}
	r.sampleFull()
	r.start(rand.New(rand.NewPCG(m.cfg.Seed, uint64(place)^r.gen.Load()<<32)))
}

// Remove stops watching the replica at a place. No decision names it any more when
// Remove returns, and what was read there since it was called counts for nothing.
func (m *Monitor) Remove(place int) {
	r := m.all()[place]
	r.close()
	m.mu.Lock()
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
