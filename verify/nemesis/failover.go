package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/history"
)

// Old is what becomes of the old primary in a failover.
type Old string

// What becomes of it.
const (
	Killed Old = "killed"
	Frozen Old = "frozen" // and thawed later: a second primary
	Alive  Old = "alive"  // nobody stops it: a second primary from the beginning
)

// Takeover is how one server takes over from another.
type Takeover struct {
	Old Old
	// Loses: the heir was cut off for a while before, so that what was committed in
	// between is gone.
	Loses bool
}

// electedWithin is how long the clients have after a promotion to find out: ten
// times what a question to the servers takes to come round. Until then an old primary
// that lives may take their writes, and these are lost; from then on it may not.
const electedWithin = 2 * time.Second

// Failover lets the first replica take over: the primary dies, or does not, the
// replica is promoted, the others follow it, and the clients' address leads to it,
// unless they find it by themselves. It returns the new primary, and what thaws the
// old one. The old one does not come back as a standby.
func Failover(ctx context.Context, env *Env, how Takeover, before func(ctx context.Context), record func(e history.Event)) (heir *testenv.Server, thaw Undo, err error) {
	heir = env.Cluster.Replica(0)
	if how.Loses {
		// It must not see what comes after, and nobody may see it as current.
		if _, err := heir.Cut(ctx); err != nil {
			return nil, nil, fmt.Errorf("verify: cut off %s: %w", heir.Name(), err)
		}
		before(ctx)
	}
	e := history.Event{Kind: history.KindFault, Fault: "failover", On: string(Primary), Breaks: true, Loses: true, Promoted: heir.Name(), Invoke: history.Now()}
	thaw = func() error { return nil }
	switch how.Old {
	case Alive:
	case Frozen:
		undo, err := env.Cluster.Primary().Freeze(ctx)
		if err != nil {
			return nil, nil, err
		}
		thaw = Undo(undo)
	default:
		if _, err := env.Cluster.Primary().Kill(ctx); err != nil {
			return nil, nil, err
		}
	}
	if !env.Followed {
		env.Address.MoveTo("")
	}
	_, err = heir.Promote(ctx)
	promoted := time.Now()
	if !env.Followed {
		env.Address.MoveTo(heir.Addr())
	}
	for _, r := range env.Cluster.Replicas()[1:] {
		if err == nil {
			_, err = r.Follow(ctx, heir)
		}
	}
	sleep(ctx, electedWithin-time.Since(promoted))
	e.Return = history.Now()
	record(e)
	if err != nil {
		err = errors.Join(err, thaw())
	}
	return heir, thaw, err
}
