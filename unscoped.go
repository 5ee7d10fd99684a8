package readsplit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/internal/unmarked"
)

// nobodys are the transactions of this process that are open and were begun without a
// session: that of a request which a middleware has begun without the request's
// context, say. They are noted while somebody watches for statements without a session,
// and cost nothing otherwise.
var nobodys struct {
	n     atomic.Int32
	mu    sync.Mutex
	began map[*trackedTx]time.Duration // since processStart
}

// begunByNobody notes t if it has no session.
func (t *trackedTx) begunByNobody(ctx context.Context) {
	if !unmarked.Watched() || marksOf(ctx).session != nil {
		return
	}
	nobodys.mu.Lock()
	if nobodys.began == nil {
		nobodys.began = make(map[*trackedTx]time.Duration)
	}
	nobodys.began[t] = time.Since(processStart)
	nobodys.n.Store(int32(len(nobodys.began)))
	nobodys.mu.Unlock()

	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted = true
	if t.unhook == nil && ctx.Done() != nil {
		t.unhook = context.AfterFunc(ctx, t.abandoned) // as in join
	}
}

// endedByNobody is called once t is over.
func (t *trackedTx) endedByNobody() {
	nobodys.mu.Lock()
	defer nobodys.mu.Unlock()
	delete(nobodys.began, t)
	nobodys.n.Store(int32(len(nobodys.began)))
}

// UnscopedOpen reports whether a transaction is open that was begun without a session
// since CoverUnscoped: what it commits counts as s's own, and no token of s covers it
// yet. Whether it is of the same request nobody knows.
func (s *Session) UnscopedOpen() bool {
	since := s.covers.Load()
	if since == 0 || nobodys.n.Load() == 0 {
		return false
	}
	nobodys.mu.Lock()
	defer nobodys.mu.Unlock()
	for _, began := range nobodys.began {
		if began >= time.Duration(since) {
			return true
		}
	}
	return false
}
