package testenv

import (
	"context"
	"errors"
	"fmt"
)

// errUnfit is in the error of a fault that makes no sense on a server as it is.
var errUnfit = errors.New("this server cannot have it now")

// fit checks what a fault needs of its server; the caller has the server's turn.
func (s *Server) fit(needs ...need) error {
	for _, n := range needs {
		if reason := n(s); reason != "" {
			return fmt.Errorf("%w: %s", errUnfit, reason)
		}
	}
	return nil
}

// ready checks what a fault needs of its server, and that it answers: after the crash of a
// backend it may be starting over.
func (s *Server) ready(ctx context.Context, needs ...need) error {
	if err := s.fit(needs...); err != nil {
		return err
	}
	return s.awaitAnswer(ctx)
}

// need returns what is wrong with a server, and nothing when it is fit.
type need func(*Server) string

func isReplica(s *Server) string {
	if s.relay == nil {
		return "it is the primary, and receives from nobody"
	}
	return ""
}

func isFollower(s *Server) string {
	if s.under(promoted) {
		return "it was promoted; undo that first"
	}
	return isReplica(s)
}

func isRunning(s *Server) string {
	if !s.running() {
		return "it is down; undo that first"
	}
	return ""
}

func isAnswering(s *Server) string {
	if s.frozen {
		return "it is frozen; undo that first"
	}
	return isRunning(s)
}
