package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

// Condition is how the replicas are.
type Condition int

// Conditions, the better first.
const (
	Changing    Condition = iota // on the way from one to another
	Quiet                        // nothing is broken, and they are caught up
	OneDelayed                   // one applies what it receives later
	OnePaused                    // one applies nothing
	BothDelayed                  // both apply what they receive later
	BothPaused                   // both apply nothing
	FarBehind                    // both are on the way to five seconds behind, or there
	conditions
)

func (c Condition) String() string {
	return [...]string{"changing", "quiet", "one delayed", "one paused", "both delayed", "both paused", "5 s behind"}[c]
}

// Both reports whether no replica shows what was written a moment ago.
func (c Condition) Both() bool { return c == BothDelayed || c == BothPaused || c == FarBehind }

// Conditions are all of them.
func Conditions() (all []Condition) {
	for c := range conditions {
		all = append(all, c)
	}
	return all
}

// farBehind is how far the replicas are behind in that condition.
const farBehind = 5 * time.Second

// Weather changes the condition of the replicas at random. What it does, in which
// order and for how long, follows from its seed.
type Weather struct {
	// Pace is how long a condition lasts, relative to the usual 1 to 4 seconds.
	Pace float64

	cluster *testenv.Cluster
	rng     *rand.Rand
	now     atomic.Int64 // the number of the change times conditions, plus the condition
}

// NewWeather returns weather for a cluster, which is quiet until Blow.
func NewWeather(c *testenv.Cluster, seed uint64) *Weather {
	w := &Weather{Pace: 1, cluster: c, rng: rand.New(rand.NewPCG(seed, 0))}
	w.set(Quiet)
	return w
}

// Moment is when something was looked at.
type Moment int64

// Now is the present moment.
func (w *Weather) Now() Moment { return Moment(w.now.Load()) }

// Between is the condition that held from one moment to another: Changing when it
// was not the same all the time.
func Between(from, to Moment) Condition {
	if from != to {
		return Changing
	}
	return Condition(from) % conditions
}

func (w *Weather) set(c Condition) {
	w.now.Store((w.now.Load()/int64(conditions)+1)*int64(conditions) + int64(c))
}

// Blow changes the condition until ctx ends, and leaves the replicas quiet.
func (w *Weather) Blow(ctx context.Context) error {
	for {
		bag := []Condition{OneDelayed, OnePaused, BothDelayed, BothPaused, FarBehind}
		w.rng.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		for _, c := range bag {
			if !w.wait(ctx, w.between(time.Second, 3*time.Second)) {
				return nil
			}
			if err := w.Strike(ctx, c); err != nil {
				return err
			}
		}
	}
}

// Strike brings a condition about for a while, and ends it.
func (w *Weather) Strike(ctx context.Context, c Condition) error {
	lasts := w.between(time.Second, 4*time.Second)
	if c == FarBehind {
		lasts = w.between(farBehind, 2*farBehind)
	}
	undo, err := w.Begin(ctx, c)
	if err != nil {
		return ended(ctx, err)
	}
	w.wait(ctx, lasts)
	w.set(Changing)
	if err := undo(); err != nil {
		return err
	}
	if err := w.cluster.WaitCaughtUp(ctx); err != nil {
		return ended(ctx, err)
	}
	w.set(Quiet)
	return nil
}

// Stay keeps all replicas so far behind.
func (w *Weather) Stay(ctx context.Context, behind time.Duration) error {
	w.set(Changing)
	for _, s := range w.cluster.Replicas() {
		if _, err := s.Delay(ctx, behind); err != nil {
			return fmt.Errorf("webshop: %v behind: %w", behind, err)
		}
	}
	if behind < farBehind {
		w.set(BothDelayed)
	} else {
		w.set(FarBehind)
	}
	return nil
}

// Begin brings a condition about, until it is undone.
func (w *Weather) Begin(ctx context.Context, c Condition) (testenv.Undo, error) {
	servers := w.cluster.Replicas()
	if !c.Both() {
		servers = servers[w.rng.IntN(len(servers)):][:1]
	}
	w.set(Changing)
	var undos []testenv.Undo
	undo := func() error {
		var errs []error
		for _, undo := range undos {
			errs = append(errs, undo())
		}
		return errors.Join(errs...)
	}
	for _, s := range servers {
		var u testenv.Undo
		var err error
		switch c {
		case OneDelayed, BothDelayed:
			u, err = s.Delay(ctx, w.delay())
		case FarBehind:
			u, err = s.Delay(ctx, farBehind)
		default:
			u, err = s.PauseReplay(ctx)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("webshop: %s: %w", c, err), undo())
		}
		undos = append(undos, u)
	}
	w.set(c)
	return undo, nil
}

// delay is 20 ms to 2 s, short ones as often as long ones.
func (w *Weather) delay() time.Duration {
	return 20 * time.Millisecond << w.rng.IntN(7) * time.Duration(100+w.rng.IntN(56)) / 100
}

func (w *Weather) between(least, most time.Duration) time.Duration {
	return time.Duration(w.Pace * float64(least+time.Duration(w.rng.Int64N(int64(most-least)))))
}

// wait returns false when ctx has ended.
func (w *Weather) wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ended forgives what failed because nobody wants it any more.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that ctx has ended is no failure
	}
	return err
}
