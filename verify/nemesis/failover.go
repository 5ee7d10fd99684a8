package nemesis

import (
	"context"
	"fmt"

	"github.com/readsplit/readsplit/testenv"
	"github.com/readsplit/readsplit/verify/history"
)

// Failover lets the first replica take over: the primary dies, the replica is
// promoted, the others follow it, and the clients' address leads to it. With loses
// it was cut off for a while before, so that what was committed in between is gone.
// It returns the new primary. The old one does not come back.
func Failover(ctx context.Context, env *Env, loses bool, before func(ctx context.Context), record func(e history.Event)) (*testenv.Server, error) {
	heir := env.Cluster.Replica(0)
	if loses {
		// It must not see what comes after, and nobody may see it as current.
		if _, err := heir.Cut(ctx); err != nil {
			return nil, fmt.Errorf("verify: cut off %s: %w", heir.Name(), err)
		}
		before(ctx)
	}
	e := history.Event{Kind: history.KindFault, Fault: "failover", On: string(Primary), Breaks: true, Loses: true, Promoted: heir.Name(), Invoke: history.Now()}
	if _, err := env.Cluster.Primary().Kill(ctx); err != nil {
		return nil, err
	}
	if !env.Followed {
		env.Address.MoveTo("")
	}
	_, err := heir.Promote(ctx)
	if !env.Followed {
		env.Address.MoveTo(heir.Addr())
	}
	for _, r := range env.Cluster.Replicas()[1:] {
		if err == nil {
			_, err = r.Follow(ctx, heir)
		}
	}
	e.Return = history.Now()
	record(e)
	return heir, err
}
