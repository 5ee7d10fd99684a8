package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Operation is what an operator does to the plugin of a running process.
type Operation struct {
	ID   int64  `json:"id"`
	What string `json:"what"`
	// Name is a replica, for Drain, Resume, Remove and Add.
	Name string `json:"name,omitempty"`
	// Wait is how long Drain, Remove and Swap wait for what runs there; what is left is
	// broken off by the latter two.
	Wait    time.Duration  `json:"wait,omitempty"`
	Traffic policy.Traffic `json:"traffic"`
}

// What an operator does.
const (
	Drain  = "drain"
	Resume = "resume"
	Remove = "remove"
	Add    = "add"
	// Swap removes all replicas and adds them in the other order: each takes over the
	// place of another.
	Swap    = "swap"
	Traffic = "traffic"
)

// Operate does what an operator wants.
func (p *Process) Operate(ctx context.Context, op Operation) error {
	plugin := p.app.plugin
	if plugin == nil {
		return errors.New("verify: " + p.cfg.Plugin + " has no operators")
	}
	waiting, cancel := context.WithTimeout(ctx, op.Wait)
	defer cancel()
	switch op.What {
	case Drain:
		if err := plugin.Drain(waiting, op.Name); !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		return nil // out of service all the same
	case Resume:
		return plugin.Resume(op.Name)
	case Remove:
		return plugin.RemoveReplica(waiting, op.Name)
	case Add:
		return p.add(op.Name)
	case Traffic:
		return plugin.SetTraffic(op.Traffic)
	case Swap:
		var errs []error
		p.mu.Lock()
		p.cfg.Replicas = slices.Clone(p.cfg.Replicas)
		slices.Reverse(p.cfg.Replicas)
		p.mu.Unlock()
		all := p.replicas()
		for _, r := range slices.Backward(all) {
			errs = append(errs, plugin.RemoveReplica(waiting, r.Name))
		}
		for _, r := range all {
			errs = append(errs, p.add(r.Name))
		}
		return errors.Join(errs...)
	}
	return fmt.Errorf("verify: operation %q is not known", op.What)
}

// replicas are the servers in the order in which they were added last.
func (p *Process) replicas() []Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.cfg.Replicas)
}

func (p *Process) add(name string) error {
	for _, s := range p.replicas() {
		if s.Name == name {
			return p.app.plugin.AddReplica("", readsplit.Replica{Name: name, Dialector: postgres.Open(s.DSN)})
		}
	}
	return fmt.Errorf("verify: there is no replica %q", name)
}
