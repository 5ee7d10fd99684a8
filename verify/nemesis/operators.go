package nemesis

import (
	"context"
	"errors"
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/verify/workload"
)

// operate does one thing now and another at the end, to one process or all.
func (e *Env) operate(ctx context.Context, s Step, now, after workload.Operation) (Undo, error) {
	process := int(s.Size/2) % 3 // 0: all of them
	if err := e.Operate(ctx, process, now); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), undoWithin)
		defer cancel()
		return e.Operate(ctx, process, after)
	}, nil
}

// picked is one of the replicas.
func (e *Env) picked(s Step) string {
	all := e.Cluster.Replicas()
	return all[int(s.Size)%len(all)].Name()
}

// impatient is how long an operator waits for what runs on a replica: half of the
// time not at all, so that it is broken off.
func (s Step) impatient() time.Duration {
	if s.Size%4 < 2 {
		return time.Millisecond
	}
	return time.Duration(s.Size) * time.Millisecond
}

func drain(ctx context.Context, env *Env, s Step) (Undo, error) {
	name := env.picked(s)
	return env.operate(ctx, s, workload.Operation{What: workload.Drain, Name: name, Wait: s.impatient()}, workload.Operation{What: workload.Resume, Name: name})
}

func remove(ctx context.Context, env *Env, s Step) (Undo, error) {
	name := env.picked(s)
	return env.operate(ctx, s, workload.Operation{What: workload.Remove, Name: name, Wait: s.impatient()}, workload.Operation{What: workload.Add, Name: name})
}

func swap(_ context.Context, env *Env, s Step) (Undo, error) {
	process := int(s.Size/2) % 3
	if env.Operate == nil {
		return nil, errors.New("verify: there is nobody to be operated")
	}
	return repeated(600*time.Millisecond, func(ctx context.Context) error {
		// Half of a swap would leave replicas out.
		return env.Operate(context.WithoutCancel(ctx), process, workload.Operation{What: workload.Swap, Wait: s.impatient() / 10})
	}), nil
}

func traffic(ctx context.Context, env *Env, s Step, t policy.Traffic) (Undo, error) {
	return env.operate(ctx, s, workload.Operation{What: workload.Traffic, Traffic: t}, workload.Operation{What: workload.Traffic})
}

func killSwitch(ctx context.Context, env *Env, s Step) (Undo, error) {
	return traffic(ctx, env, s, policy.Traffic{KillSwitch: true})
}

func percent(ctx context.Context, env *Env, s Step) (Undo, error) {
	return traffic(ctx, env, s, policy.Traffic{Percent: 1 + int(s.Size)%99})
}

func shadow(ctx context.Context, env *Env, s Step) (Undo, error) {
	return traffic(ctx, env, s, policy.Traffic{Shadow: true})
}
