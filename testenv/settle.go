package testenv

import (
	"context"
	"fmt"
)

// settle makes the server what the faults still in force say, and returns when it is; the caller
// has the server's turn.
func (s *Server) settle(ctx context.Context) error {
	if s.relay != nil {
		s.setRelay()
	}
	if s.under(stopped, killed) || s.frozen && s.under(frozen) {
		return nil // the rest waits for the undo of that
	}
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if s.frozen {
		if err := s.thaw(ctx); err != nil {
			return err
		}
	}
	if s.adrift || s.diverged && !s.under(promoted, following) {
		if err := s.rebuild(ctx); err != nil {
			return err
		}
		s.rebuilt.Store(true)
	}
	if !s.running() {
		if err := s.start(ctx); err != nil {
			return err
		}
	}
	if err := s.awaitAnswer(ctx); err != nil {
		return err
	}
	if s.relay != nil && !s.under(promoted) {
		if err := s.setDelay(ctx); err != nil {
			return err
		}
		if err := s.setReplay(ctx); err != nil {
			return err
		}
		if err := s.awaitStreaming(ctx); err != nil {
			return err
		}
	}
	if s.under(frozen) {
		return s.freeze(ctx)
	}
	return nil
}

// settleFollowers sees to the replicas that receive from this server after it was settled: their
// connections may be broken, and if it was built anew it lost a history that they share, and so
// must they be. The caller has no server's turn, or two of them could wait for each other.
func (s *Server) settleFollowers(ctx context.Context) error {
	rebuilt := s.rebuilt.Load()
	for _, t := range s.cluster.Replicas() {
		if t == s || t.under(promoted) || t.upstream() != s {
			continue
		}
		var err error
		if rebuilt {
			err = t.settleAnew(ctx)
		} else {
			err = t.awaitStreaming(ctx)
		}
		if err != nil {
			return fmt.Errorf("%s, which follows it: %w", t.name, err)
		}
	}
	s.rebuilt.Store(false)
	return nil
}

// settleAnew builds this replica anew, and then all that receive from it.
func (s *Server) settleAnew(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.adrift = true
	err := s.settle(ctx)
	s.unlock()
	if err != nil {
		return err
	}
	return s.settleFollowers(ctx)
}
