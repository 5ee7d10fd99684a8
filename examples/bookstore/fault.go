package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/testenv"
)

// patience bounds every wait for a server.
const patience = 20 * time.Second

// fault is what happens to the servers during one trial.
type fault struct {
	// begin brings it about before the first order; nil: a cue does it later.
	begin func(ctx context.Context) error
	// inForce asks the servers whether it is in force.
	inForce func(ctx context.Context) bool
	// cues are what happens between the orders.
	cues func(orders int, w *watch, s strategy) []cue
	// end undoes what is left of it.
	end func() error
	// struck is when it struck with reads in flight; zero: before the first read.
	struck span
	// late is from when on reads are counted apart, because the router must know
	// by then; zero: never.
	late time.Time
	// server is the one that it is about; "" for all replicas.
	server string
	// crashes says that server loses its own counters in it.
	crashes bool
}

// pauseReplay stops replay on servers before the first order, for the whole trial.
func pauseReplay(servers []*testenv.Server) *fault {
	var undos []testenv.Undo
	return &fault{
		begin: func(ctx context.Context) error {
			for _, s := range servers {
				undo, err := s.PauseReplay(ctx)
				if err != nil {
					return err
				}
				undos = append(undos, undo)
			}
			return nil
		},
		inForce: func(ctx context.Context) bool {
			for _, s := range servers {
				var paused bool
				err := s.DB().QueryRowContext(ctx, "SELECT pg_get_wal_replay_pause_state() = 'paused'").Scan(&paused)
				if err != nil || !paused {
					return false
				}
			}
			return true
		},
		end: func() error {
			var errs []error
			for _, undo := range undos {
				errs = append(errs, undo())
			}
			return errors.Join(errs...)
		},
	}
}

// pauseOne stops replay on one server. In the middle of the trial the orders wait
// until what it shows is older than MaxLag; from then on no read may see it.
func pauseOne(server *testenv.Server) *fault {
	f := pauseReplay([]*testenv.Server{server})
	f.server = server.Name()
	f.cues = func(orders int, _ *watch, s strategy) []cue {
		return []cue{{order: orders / 2, hold: true, do: func(ctx context.Context) error {
			if _, ok := s.status(); !ok {
				return nil // this router does not look at lag
			}
			err := until(ctx, fmt.Sprintf("%s is further behind than MaxLag", server.Name()), func() bool {
				r := statusOf(s, server.Name())
				return !r.LagKnown || r.Lag > maxLag
			})
			f.late = time.Now()
			return err
		}}}
	}
	return f
}

// maxLag is readsplit's default.
const maxLag = 2 * time.Second

// killOne kills a server's processes when a quarter of the orders is through, with
// reads in flight, and starts it again in the middle. The last two fifths come when
// it is fit for reads again, and not faster than it can take them: least in flight
// spares a server whose connections are all still to be made.
func killOne(server *testenv.Server) *fault {
	f := &fault{server: server.Name(), crashes: true}
	var undo testenv.Undo
	killed, restarted := make(chan struct{}), make(chan struct{})
	var back time.Time
	f.inForce = func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return server.DB().PingContext(ctx) != nil
	}
	f.cues = func(orders int, w *watch, s strategy) []cue {
		return []cue{
			{order: orders / 4, do: func(ctx context.Context) (err error) {
				f.struck.from = time.Now()
				if undo, err = server.Kill(ctx); err != nil {
					return err
				}
				f.struck.to = time.Now()
				close(killed)
				return nil
			}},
			{order: orders/4 + orders/10, hold: true, do: func(ctx context.Context) error {
				return errors.Join(await(ctx, killed), await(ctx, w.confirmed()))
			}},
			{order: orders / 2, do: func(context.Context) error {
				if err := undo(); err != nil {
					return err
				}
				back = time.Now()
				close(restarted)
				return nil
			}},
			{order: orders/2 + orders/10, hold: true, pause: healthyPause, do: func(ctx context.Context) error {
				if err := await(ctx, restarted); err != nil {
					return err
				}
				err := until(ctx, server.Name()+" is fit for reads again", func() bool {
					r := statusOf(s, server.Name())
					return r.Up && r.Sampled.After(back) && r.LagKnown && r.Lag < maxLag
				})
				f.late = time.Now()
				return err
			}},
		}
	}
	f.end = func() error {
		if undo == nil {
			return nil
		}
		return undo()
	}
	return f
}

func await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func statusOf(s strategy, server string) readsplit.ServerStatus {
	st, _ := s.status()
	for _, r := range st.Replicas {
		if r.Name == server {
			return r
		}
	}
	return readsplit.ServerStatus{}
}

// until waits for a condition. What it waits for changes in other processes, from
// which no signal comes.
func until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("bookstore: waited %v in vain until %s", patience, what))
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
