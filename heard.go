package readsplit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// rumours are positions that tokens have said, and that nobody has found to lie
// within what the primary has written: whoever reads without a session must see
// them, but a forged one must neither keep everybody on the primary nor take the
// place of those that are genuine.
type rumours struct {
	n    atomic.Int32
	mu   sync.Mutex
	list []rumour
}

type rumour struct {
	pos lsn.Position
	// verify is the number of a capture that began after the token came.
	verify uint64
	// genuine says that the token was signed, or came from this side.
	genuine bool
}

// mostRumours bounds the list. Beyond it, a position of the primary of that moment
// stands for all.
const mostRumours = 16

// hear makes reads without a session see a position of a token.
func (rt *router) hear(pos lsn.Position, genuine bool) {
	if rt.monitor.Reached().Covers(pos) {
		rt.believe(pos)
		return
	}
	next := rt.asks.NextCapture()
	r := &rt.rumours
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, have := range r.list {
		if have.pos == pos {
			r.list[i].genuine = have.genuine || genuine
			return
		}
	}
	if len(r.list) == mostRumours {
		clear(r.list)
		r.list = append(r.list[:0], rumour{verify: next}) // all that was said until now
	} else {
		r.list = append(r.list, rumour{pos, next, genuine})
	}
	r.n.Store(int32(len(r.list)))
}

// believe makes reads without a session see a position of the primary.
func (rt *router) believe(pos lsn.Position) {
	now := time.Now()
	rt.heard.update(func(c session.Claim) session.Claim {
		joined, ok := c.Join(pos, 0, now)
		if !ok {
			return c.AfterDoubt(rt.asks.NextCapture(), pos.History) // of before a failover
		}
		return joined
	})
}

// settleRumours compares what tokens have said with what the primary has written
// since. pending says that it could not be asked in time, although it is there.
func (rt *router) settleRumours(ctx context.Context, p *patience) (pending bool) {
	r := &rt.rumours
	if r.n.Load() == 0 {
		return false
	}
	r.mu.Lock()
	list := slices.Clone(r.list)
	r.mu.Unlock()
	var last uint64
	for _, said := range list {
		last = max(last, said.verify)
	}
	end, _, ok := rt.monitor.Captured(last, true)
	if !ok && rt.asks.AwaitCapture(ctx, last, p.until()) {
		end, _, ok = rt.monitor.Captured(last, true)
	}
	if !ok {
		if !rt.lost() {
			return true
		}
		for _, said := range list {
			if said.genuine {
				rt.believe(said.pos)
			}
		}
		// Without the primary anybody's token could keep all reads from the replicas.
		return false
	}
	for _, said := range list {
		switch {
		case said.pos.Zero():
			rt.believe(end)
		case said.pos.History != end.History:
			// The primary has changed since. What has survived lies before what it has.
			next := rt.asks.NextCapture()
			rt.heard.update(func(c session.Claim) session.Claim { return c.AfterDoubt(next, end.History) })
		case end.Covers(said.pos):
			rt.believe(said.pos)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(said rumour) bool { return slices.Contains(list, said) })
	r.n.Store(int32(len(r.list)))
	return false
}
