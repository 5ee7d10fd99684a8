package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// stickyWindow is readsplit's default for Config.StickyWindow.
const stickyWindow = 5 * time.Second

// windowOver lets the window pass that readsplit keeps after a write, so that positions
// alone decide for those who ordered before.
func (l *lab) windowOver() func(ctx context.Context) error {
	window := l.window
	if window == 0 {
		window = stickyWindow
	}
	return func(ctx context.Context) error {
		timer := time.NewTimer(window)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// halfway keeps the second half of the orders until the window of the first one is over.
// Others than readsplit have none.
func (l *lab) halfway(f *orderlab.Fault) *orderlab.Fault {
	f.Cues = func(orders int, r *orderlab.Running) []orderlab.Cue {
		if _, ok := r.Strategy.Status(); !ok {
			return nil
		}
		return []orderlab.Cue{{Order: orders / 2, Drain: true, Do: l.windowOver()}}
	}
	return f
}

// inject makes a fault of what the double does to servers, for the whole trial.
func inject(what func(s *tdsenv.Server, ctx context.Context) (tdsenv.Undo, error), servers []*tdsenv.Server) *orderlab.Fault {
	return &orderlab.Fault{
		Begin: func(ctx context.Context) error {
			for _, s := range servers {
				if _, err := what(s, ctx); err != nil {
					return err
				}
			}
			return nil
		},
		InForce: func(context.Context) bool {
			for _, s := range servers {
				if len(s.Faults()) == 0 {
					return false
				}
			}
			return true
		},
	}
}

// redoPaused: log arrives and is hardened, and readers see a state that does not move.
func (l *lab) redoPaused(g *group) *orderlab.Fault {
	return l.halfway(inject((*tdsenv.Server).PauseRedo, g.Double.Replicas()))
}

// oneRedoPaused is the same on one of the two.
func (l *lab) oneRedoPaused(g *group) *orderlab.Fault {
	f := l.halfway(inject((*tdsenv.Server).PauseRedo, g.Double.Replicas()[:1]))
	f.Server = g.Double.Replica(0).Name()
	return f
}

// commitsHidden: readers miss commits that last_commit_lsn counts already. An older page
// of SQL Server's documentation says that one long open transaction can do this.
func commitsHidden(g *group) *orderlab.Fault {
	return inject((*tdsenv.Server).HideCommits, g.Double.Replicas())
}

// suspended: nothing arrives on any secondary.
func (l *lab) suspended(g *group) *orderlab.Fault {
	if g.Double == nil {
		return l.halfway(g.suspend())
	}
	return l.halfway(inject((*tdsenv.Server).Suspend, g.Double.Replicas()))
}

// calm is no fault: it only lets the window pass.
func (l *lab) calm(*group) *orderlab.Fault {
	return l.halfway(&orderlab.Fault{InForce: func(context.Context) bool { return true }})
}

// failover makes a secondary the primary in the middle, with requests under way.
func (l *lab) failover(g *group) *orderlab.Fault {
	old, next := g.Double.Primary(), g.Double.Replica(0)
	f := &orderlab.Fault{Moves: true, InForce: func(context.Context) bool { return g.Double.Primary() != old }}
	f.Cues = func(orders int, r *orderlab.Running) []orderlab.Cue {
		moved := make(chan struct{})
		cues := []orderlab.Cue{
			{Order: orders / 4, Do: func(ctx context.Context) error {
				f.Struck.From = time.Now()
				err := g.Double.Failover(ctx, next)
				f.Struck.To = time.Now()
				close(moved)
				return err
			}},
			{Order: orders / 2, Hold: true, Do: func(ctx context.Context) error {
				return errors.Join(orderlab.Await(ctx, moved), orderlab.Await(ctx, r.Watch.Confirmed()))
			}},
		}
		return append(cues, l.later(orders, r, nil)...)
	}
	return f
}

// later lets the window pass when three quarters of the orders are through, and does
// something then.
func (l *lab) later(orders int, r *orderlab.Running, do func(ctx context.Context) error) []orderlab.Cue {
	return []orderlab.Cue{{Order: orders * 3 / 4, Drain: true, Do: func(ctx context.Context) error {
		if do != nil {
			if err := do(ctx); err != nil {
				return err
			}
		}
		if _, ok := r.Strategy.Status(); !ok {
			return nil
		}
		return l.windowOver()(ctx)
	}}}
}

// forcedFailover suspends both secondaries, takes a quarter of the orders, and forces one
// of the secondaries to be the primary, which has none of them. The other servers show
// what they had until they are resumed, when three quarters are through.
//
// It happens between two orders: what is lost must be known before somebody asks for it.
func (l *lab) forcedFailover(g *group) *orderlab.Fault {
	next := g.Double.Replica(0)
	f := inject((*tdsenv.Server).Suspend, g.Double.Replicas())
	f.Moves = true
	f.InForce = func(context.Context) bool { return next == g.Double.Primary() }
	f.Cues = func(orders int, r *orderlab.Running) []orderlab.Cue {
		cues := []orderlab.Cue{{Order: orders / 4, Drain: true, Do: func(ctx context.Context) error {
			if _, err := g.Double.ForceFailover(ctx, next); err != nil {
				return err
			}
			if err := g.Double.UndoAll(); err != nil {
				return err
			}
			left, err := g.survivors(ctx, next)
			if err != nil {
				return err
			}
			r.Keep(func(order int64) bool { return left[order] })
			return nil
		}}}
		return append(cues, l.later(orders, r, func(ctx context.Context) error {
			var errs []error
			for _, s := range g.Double.Replicas() {
				errs = append(errs, s.Resume(ctx))
			}
			return errors.Join(append(errs, g.Double.WaitCaughtUp(ctx))...)
		})...)
	}
	return f
}

// survivors are the orders that a server has.
func (g *group) survivors(ctx context.Context, s *tdsenv.Server) (left map[int64]bool, err error) {
	db, err := pool(s.DSN(), "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT id FROM orders")
	if err != nil {
		return nil, fmt.Errorf("ask %s which orders are left: %w", s.Name(), err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	left = make(map[int64]bool)
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		left[id] = true
	}
	return left, rows.Err()
}
