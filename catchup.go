package readsplit

import "github.com/readsplit/readsplit/session"

// CatchUp makes s see at least what the primary has when CatchUp is called, in every
// database of this process: whatever was committed before, by whomever. It is for
// those who take up what others committed and have no token of it: the relay of an
// outbox, a worker that finds a message without a token. It asks no server; the next
// read of s, or its token, does.
func (s *Session) CatchUp() {
	for _, rt := range plugins.all() {
		l := s.ledgerOf(rt)
		// A capture that begins from now on shows whatever was committed until now.
		next, h := rt.asks.NextCapture(), rt.history()
		l.claim.update(func(c session.Claim) session.Claim { return c.AfterDoubt(next, h) })
		s.changed.Store(true)
	}
}
