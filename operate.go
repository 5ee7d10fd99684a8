package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Drain takes a replica out of service, for a migration, a bulk job or a restart,
// and returns when nothing runs there any more and no pooled connection to it is
// left. Reads go to the others. Name is Replica.Name; where resolvers have replicas
// of that name too, all of them are meant; resolver/name means one, and /name that of
// the plugin itself.
//
// When ctx ends first, Drain returns an error that says how much still runs; the
// replica is out of service all the same, until [Plugin.Resume]. The monitor goes
// on asking it over a connection of its own.
func (p *Plugin) Drain(ctx context.Context, name string) error {
	found, err := p.takeOut(name, false)
	if err != nil {
		return err
	}
	var errs []error
	for _, m := range found {
		errs = append(errs, m.server.idle(ctx))
	}
	return errors.Join(errs...)
}

// takeOut takes the replicas of a name out of service, for good where they are to
// be removed. The place of a replica must not become another's meanwhile.
func (p *Plugin) takeOut(name string, forGood bool) ([]member, error) {
	p.adding.Lock()
	defer p.adding.Unlock()
	if forGood {
		if _, err := p.changeable("RemoveReplica", ""); err != nil {
			return nil, err
		}
	}
	found, err := p.named(name)
	for _, m := range found {
		m.takeOut(forGood)
	}
	return found, err
}

// takeOut takes a replica out of service, for good where it is to be removed.
func (m member) takeOut(forGood bool) {
	m.server.gone.Store(forGood)
	m.router.monitor.Drain(m.server.index, true)
	m.server.out.Store(true) // after the news, so that what does not begin is decided by them
}

// Resume puts a replica back into service that [Plugin.Drain] took out of it. It
// starts slowly, see monitor.Health. It is named as for Drain; a name that no replica has
// is an error.
func (p *Plugin) Resume(name string) error {
	p.adding.Lock()
	defer p.adding.Unlock()
	away := p.discovery.resumes(name)
	found, err := p.named(name)
	if err != nil {
		if away {
			return nil // it serves when it is found
		}
		return err
	}
	for _, m := range found {
		m.server.out.Store(false)
		m.router.monitor.Drain(m.server.index, false)
	}
	return nil
}

// SetTraffic changes Config.Traffic, for all reads that are decided from now on; before
// db.Use it takes the place of Config.Traffic. A Percent that is not from 0 to 100 is an
// error, and then nothing is changed.
func (p *Plugin) SetTraffic(t policy.Traffic) error {
	if err := t.Validate(); err != nil {
		return err
	}
	old := p.traffic.Swap(&t)
	if p.warn != nil && (old == nil || *old != t) {
		p.warn("readsplit: traffic was set to kill switch %v, percent %d, shadow %v", t.KillSwitch, percent(t), t.Shadow)
	}
	return nil
}

func percent(t policy.Traffic) int {
	if t.Percent == 0 {
		return 100
	}
	return t.Percent
}

// withheld returns why an operator keeps a read on the primary. What a parent has
// read on a replica, its children read there too, or they would see another state
// for no reason.
func (p *Plugin) withheld(random uint64, parent *route) policy.Reason {
	t := p.traffic.Load()
	if t == nil || *t == (policy.Traffic{}) {
		return policy.ReasonNone
	}
	why := t.Withholds(random)
	if why == policy.ReasonPercent && parent != nil && parent.at != nil {
		return policy.ReasonNone
	}
	return why
}

// undirected reports whether nobody directs reads by anything but the rules: no operator,
// and no groups that the configuration describes.
func (p *Plugin) undirected() bool {
	t := p.traffic.Load()
	return (t == nil || *t == (policy.Traffic{})) && p.grouping == nil
}

// shadowed reports whether decisions are not followed.
func (p *Plugin) shadowed() bool {
	t := p.traffic.Load()
	return t != nil && t.Shadow
}

// drainEvery is how often it is looked whether a server still runs something.
const drainEvery = 2 * time.Millisecond

// idle waits until nothing runs on s and closes its pooled connections.
func (s *server) idle(ctx context.Context) error {
	t := time.NewTicker(drainEvery)
	defer t.Stop()
	for {
		// A read that was decided before the replica went out of service may not have
		// its connection yet.
		using, reads := s.inUse(), s.inFlight()
		if using == 0 && reads == 0 {
			s.closeIdle()
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("readsplit: replica %q is out of service, but it still runs %d reads on %d connections: wait for them with another call, or end them: %w", s.name, reads, using, ctx.Err())
		}
	}
}

// idleLimits is held while the limit of a pool is not what the application has set.
var idleLimits sync.Mutex

// closeIdle closes the idle connections of a pool, and leaves its limits as they
// are: the application may have set them, see [Plugin.Pools].
func closeIdle(db *sql.DB) {
	idleLimits.Lock()
	defer idleLimits.Unlock()
	limit := reflect.ValueOf(db).Elem().FieldByName("maxIdleCount")
	if !limit.IsValid() || !limit.CanInt() {
		return // they go with the next read, or when they have been idle for long
	}
	n := int(limit.Int()) // 0 means the default, and negative none
	db.SetMaxIdleConns(-1)
	if n == 0 {
		n = 2
	}
	db.SetMaxIdleConns(n)
}
