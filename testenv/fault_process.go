package testenv

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Freeze stops all processes of the server where they are (SIGSTOP). The kernel goes on taking
// connections for it until its backlog is full, and nobody gets an answer.
func (s *Server) Freeze(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: frozen}, func(ctx context.Context) error {
		if err := s.fit(isRunning); err != nil {
			return err
		}
		return s.freeze(ctx)
	})
}

// Stop shuts the server down cleanly (pg_ctl's fast mode). Undo starts it again on its port.
func (s *Server) Stop(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: stopped}, func(ctx context.Context) error {
		return s.stop(ctx, 10*time.Second)
	})
}

// Kill ends all processes of the server at once (SIGKILL), as the loss of its machine would, but
// for what its disk had: the kernel keeps what was written. Undo starts it again on its port.
func (s *Server) Kill(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: killed}, s.kill)
}

// CrashBackend kills one backend (SIGKILL), whose connection it opens itself. The postmaster then
// ends all others and starts over in the same process: every connection breaks, and a replica
// answers again within about 300 ms, at first from an older state (its last restartpoint). It
// returns when connections break; Undo returns when the server answers again. A pause of replay
// is lost in the crash and comes back with Undo. To hold a replica in its older state, inject a
// long Delay before the crash.
func (s *Server) CrashBackend(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: crashed}, func(ctx context.Context) error {
		if err := s.ready(ctx, isAnswering); err != nil {
			return err
		}
		ctx, cancel := bounded(ctx, patience)
		defer cancel()
		defer s.dropIdle()
		return s.query(ctx, func(ctx context.Context, witness *pgx.Conn) error {
			return s.query(ctx, func(ctx context.Context, victim *pgx.Conn) error {
				if err := signal(int(victim.PgConn().PID()), sigKill); err != nil {
					return err
				}
				return poll(ctx, 2*time.Millisecond, func() (bool, string, error) {
					_, err := witness.Exec(ctx, "SELECT 1")
					return err != nil && ctx.Err() == nil, "other connections still work", nil
				})
			})
		})
	})
}

// freeze stops the processes, the postmaster first, and returns when the system shows all of them
// as stopped.
func (s *Server) freeze(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	s.up.Store(false)
	s.frozen = true
	if err := signalUntil(ctx, s.postmaster.pid, s.dataDir, sigStop, process.stopped); err != nil {
		return fmt.Errorf("freeze %s: %w", s.name, err)
	}
	return nil
}

func (s *Server) thaw(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	awake := func(p process) bool { return !p.stopped() }
	if err := signalUntil(ctx, s.postmaster.pid, s.dataDir, sigContinue, awake); err != nil {
		return fmt.Errorf("thaw %s: %w", s.name, err)
	}
	s.frozen = false
	s.up.Store(true)
	return nil
}
