package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv"
)

// pauseReplay stops replay on servers before the first order, for the whole trial.
func pauseReplay(servers []*testenv.Server) *orderlab.Fault {
	var undos []testenv.Undo
	return &orderlab.Fault{
		Begin: func(ctx context.Context) error {
			for _, s := range servers {
				undo, err := s.PauseReplay(ctx)
				if err != nil {
					return err
				}
				undos = append(undos, undo)
			}
			return nil
		},
		InForce: func(ctx context.Context) bool {
			for _, s := range servers {
				var paused bool
				err := s.DB().QueryRowContext(ctx, "SELECT pg_get_wal_replay_pause_state() = 'paused'").Scan(&paused)
				if err != nil || !paused {
					return false
				}
			}
			return true
		},
		End: func() error {
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
func pauseOne(server *testenv.Server) *orderlab.Fault {
	f := pauseReplay([]*testenv.Server{server})
	f.Server = server.Name()
	f.Cues = func(orders int, r *orderlab.Running) []orderlab.Cue {
		return []orderlab.Cue{{Order: orders / 2, Hold: true, Do: func(ctx context.Context) error {
			if _, ok := r.Strategy.Status(); !ok {
				return nil // this router does not look at lag
			}
			err := orderlab.Until(ctx, fmt.Sprintf("%s is further behind than MaxLag", server.Name()), func() bool {
				st := orderlab.StatusOf(r.Strategy, server.Name())
				return !st.LagKnown || st.Lag > maxLag
			})
			f.Late = time.Now()
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
func killOne(server *testenv.Server) *orderlab.Fault {
	f := &orderlab.Fault{Server: server.Name(), Crashes: true}
	var undo testenv.Undo
	killed, restarted := make(chan struct{}), make(chan struct{})
	var back time.Time
	f.InForce = func(ctx context.Context) bool {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return server.DB().PingContext(ctx) != nil
	}
	f.Cues = func(orders int, r *orderlab.Running) []orderlab.Cue {
		return []orderlab.Cue{
			{Order: orders / 4, Do: func(ctx context.Context) (err error) {
				f.Struck.From = time.Now()
				if undo, err = server.Kill(ctx); err != nil {
					return err
				}
				f.Struck.To = time.Now()
				close(killed)
				return nil
			}},
			{Order: orders/4 + orders/10, Hold: true, Do: func(ctx context.Context) error {
				return errors.Join(orderlab.Await(ctx, killed), orderlab.Await(ctx, r.Watch.Confirmed()))
			}},
			{Order: orders / 2, Do: func(context.Context) error {
				if err := undo(); err != nil {
					return err
				}
				back = time.Now()
				close(restarted)
				return nil
			}},
			{Order: orders/2 + orders/10, Hold: true, Pause: healthyPause, Do: func(ctx context.Context) error {
				if err := orderlab.Await(ctx, restarted); err != nil {
					return err
				}
				err := orderlab.Until(ctx, server.Name()+" is fit for reads again", func() bool {
					st := orderlab.StatusOf(r.Strategy, server.Name())
					return st.Up && st.Sampled.After(back) && st.LagKnown && st.Lag < maxLag
				})
				f.Late = time.Now()
				return err
			}},
		}
	}
	f.End = func() error {
		if undo == nil {
			return nil
		}
		return undo()
	}
	return f
}
