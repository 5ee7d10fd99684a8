package orderlab

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit"
)

// patience bounds every wait for a server.
const patience = 20 * time.Second

// Fault is what happens to the servers during one trial.
type Fault struct {
	// Begin brings it about before the first order; nil: a cue does it later.
	Begin func(ctx context.Context) error
	// InForce asks the servers whether it is in force.
	InForce func(ctx context.Context) bool
	// Cues are what happens between the orders.
	Cues func(orders int, r *Running) []Cue
	// End undoes what is left of it.
	End func() error
	// Struck is when it struck with reads in flight; zero: before the first read.
	Struck Span
	// Late is from when on reads are counted apart, because the router must know
	// by then; zero: never.
	Late time.Time
	// Server is the one that it is about; "" for all replicas.
	Server string
	// Crashes says that Server loses its own counters in it.
	Crashes bool
	// Moves says that another server becomes the primary in it: what is written
	// meanwhile may fail, and is written again.
	Moves bool
}

// Running is what a cue may know of the trial that it is part of.
type Running struct {
	Watch    *Watch
	Strategy Strategy
	oracle   *oracle
}

// Keep takes from what the lists must show the orders that did not survive a loss, and
// returns how many these are. Nothing may be in flight: see Cue.Drain.
func (r *Running) Keep(survived func(order int64) bool) (lost int) { return r.oracle.keep(survived) }

// Await waits until done is closed.
func Await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// StatusOf is what the router says of a server.
func StatusOf(s Strategy, server string) readsplit.ServerStatus {
	st, _ := s.Status()
	for _, r := range st.Replicas {
		if r.Name == server {
			return r
		}
	}
	return readsplit.ServerStatus{}
}

// Until waits for a condition. What it waits for changes in other processes, from
// which no signal comes.
func Until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("orderlab: waited %v in vain until %s", patience, what))
	defer cancel()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
