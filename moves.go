package readsplit

import "time"

// Moves tells how often s has written, and how often its reads have shown what binds
// the next ones (Config.MonotonicReads), in this process; what was joined does not
// count. A carrier asks it twice to learn whether something has come in between, and
// tells by it what s did itself from what it was told.
func (s *Session) Moves() (writes, shown uint64) {
	return s.writes.Load(), s.shown.Load()
}

// ExportNow is Export for those who can wait for nothing, as TokenNow is Token.
func (s *Session) ExportNow() Token {
	t, _ := s.tokenNow()
	if len(t.Positions) == 0 && t.Unsure.IsZero() {
		return Token{}
	}
	return t
}

// saw notes that a read of s has shown something that binds the next ones.
func (s *Session) saw() {
	s.shown.Add(1)
	s.changed.Store(true)
}

// unfinished makes t say "unsure" for what an open transaction of s may write.
func (s *Session) unfinished(t *Token, now time.Time) {
	for _, l := range s.ledgers() {
		later(&t.Unsure, now.Add(l.plugin.Load().cfg.StickyWindow))
	}
	outlive(t, now)
}
