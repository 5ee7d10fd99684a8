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
	rebuilt := s.adrift || s.diverged && !s.under(promoted, following)
	if rebuilt {
		if err := s.rebuild(ctx); err != nil {
			return err
		}
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
	if rebuilt {
		if err := s.takeAlong(ctx); err != nil {
			return err
		}
	}
	if s.under(frozen) {
		return s.freeze(ctx)
	}
	return s.awaitFollowers(ctx)
}

// awaitFollowers returns when the replicas of this server receive again: what was undone may have
// broken their connections.
func (s *Server) awaitFollowers(ctx context.Context) error {
	for _, t := range s.cluster.Replicas() {
		if t == s || t.upstream() != s {
			continue
		}
		if err := t.awaitStreaming(ctx); err != nil {
			return fmt.Errorf("%s, which follows it: %w", t.name, err)
		}
	}
	return nil
}

// takeAlong builds anew who follows this server, which just lost a history that they share.
func (s *Server) takeAlong(ctx context.Context) error {
	for _, t := range s.cluster.servers {
		if t == s || t.relay == nil || t.upstream() != s {
			continue
		}
		if err := t.lock(ctx); err != nil {
			return err
		}
		t.adrift = true
		err := t.settle(ctx)
		t.unlock()
		if err != nil {
			return fmt.Errorf("%s, which follows it: %w", t.name, err)
		}
	}
	return nil
}
