package readsplit

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// Session is whoever must see their own writes: a user, a request, a job. It
// holds the position of their last write, per database. A Session may be used by
// several goroutines and several plugins at once, and must not be copied. Make it with
// [NewSession]; the zero Session is as good.
type Session struct {
	first ledger // the only one in an application with one database
	mu    sync.Mutex
	more  []*ledger
	// tokens were joined before any plugin was in use.
	tokens []arrival
	joined atomic.Int32 // len(tokens)
	open   atomic.Int32 // transactions that are open
	// changed says that a token of the session would say something else than those
	// that were joined.
	changed atomic.Bool
	writes  atomic.Uint64 // see Moves
	shown   atomic.Uint64
	// covers is since when writes without a session count as the session's own, in
	// nanoseconds since processStart; 0: they do not.
	covers   atomic.Int64
	born     time.Duration // when it was made, since processStart; 0: not known
	level    atomic.Int32  // a Guarantee and 1; 0: Config.Guarantee
	keeps    atomic.Bool   // see KeepServer
	affinity atomic.Uint64 // see Prefer
	// carried are positions of databases that no plugin of this process knows:
	// they came with a token and must leave with the next.
	carried []lsn.Position
	// others are the tokens of other services, which leave with the next token too.
	others session.Bundle
}

// carry keeps a position for the tokens of s.
func (s *Session) carry(p lsn.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, have := range s.carried {
		if have.System == p.System {
			if lsn.Compare(have, p) != lsn.After {
				s.carried[i] = p // the later, or the other history that came last
			}
			return
		}
	}
	if len(s.carried) < session.MaxPositions {
		s.carried = append(s.carried, p)
	}
}

// ledger is what a session wrote through one plugin.
type ledger struct {
	plugin   atomic.Pointer[router]
	claim    register
	seen     atomic.Pointer[sight] // from MonotonicReads on
	accepted atomic.Int32          // how many of the session's tokens were judged
}

// NewSession returns a session that has not written anything yet. Give it to the
// requests of one user with [WithSession].
func NewSession() *Session { return &Session{born: time.Since(processStart)} }

// ledgerOf returns s's ledger for p, making one if need be.
func (s *Session) ledgerOf(rt *router) *ledger {
	if s.first.plugin.Load() == rt {
		return &s.first
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first.plugin.CompareAndSwap(nil, rt) || s.first.plugin.Load() == rt {
		return &s.first
	}
	for _, l := range s.more {
		if l.plugin.Load() == rt {
			return l
		}
	}
	l := &ledger{}
	l.plugin.Store(rt)
	if rt.startClaim > 0 && !s.bornAfter(rt) {
		// s may have written through another plugin before this one was in use.
		l.claim.update(func(c session.Claim) session.Claim {
			// How its commits were acknowledged is not known here.
			return c.AfterWrite(rt.startClaim, true, lsn.History{}, time.Time{})
		})
	}
	s.more = append(s.more, l)
	return l
}

// bornAfter reports whether s is known to have been made when rt was in use, so that rt
// was told of all that it has written. Its token would else ask for what it has not
// written, and every response that only read would set a cookie.
func (s *Session) bornAfter(rt *router) bool {
	told := rt.original().toldSince.Load()
	return told > 0 && int64(s.born) > told
}

// ledgers returns every ledger of s.
func (s *Session) ledgers() []*ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*ledger
	if s.first.plugin.Load() != nil {
		all = append(all, &s.first)
	}
	return append(all, s.more...)
}
