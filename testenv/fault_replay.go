package testenv

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// PauseReplay stops the replica from applying what it receives; clients go on reading a state
// that no longer moves, while pg_last_wal_receive_lsn goes on growing. It stays paused when another
// fault restarts the server, although what was received until then may be applied in between.
func (s *Server) PauseReplay(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: paused}, func(ctx context.Context) error {
		if err := s.ready(ctx, isFollower, isAnswering); err != nil {
			return err
		}
		return s.setReplay(ctx)
	})
}

// Delay makes the replica apply every commit d after it was made (recovery_min_apply_delay); d is
// rounded to milliseconds and at least 1. Of several delays the one injected last holds.
func (s *Server) Delay(ctx context.Context, d time.Duration) (Undo, error) {
	return s.inject(ctx, &fault{kind: delayed, duration: d}, func(ctx context.Context) error {
		if d < time.Millisecond {
			return fmt.Errorf("%w: the delay is %s and must be at least 1ms", errUnfit, d)
		}
		if err := s.ready(ctx, isFollower, isAnswering); err != nil {
			return err
		}
		return s.setDelay(ctx)
	})
}

// setReplay pauses or resumes replay and returns when the replica says that it is so.
func (s *Server) setReplay(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	order, want := "SELECT pg_wal_replay_resume()", "not paused"
	if s.under(paused) {
		order, want = "SELECT pg_wal_replay_pause()", "paused"
	}
	return s.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var state, position, before string
		const question = "SELECT pg_get_wal_replay_pause_state(), coalesce(pg_last_wal_replay_lsn()::text, '')"
		if err := conn.QueryRow(ctx, question).Scan(&state, &before); err != nil {
			return err
		}
		if state == want {
			return nil
		}
		if _, err := conn.Exec(ctx, order); err != nil {
			return err
		}
		var still int
		return poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
			if err := conn.QueryRow(ctx, question).Scan(&state, &position); err != nil {
				return false, "", err
			}
			// A replica that waits for the end of an apply delay confirms a pause only after it;
			// that nothing moves meanwhile is all that a pause can mean.
			if position == before {
				still++
			} else {
				still, before = 0, position
			}
			held := state == "pause requested" && want == "paused" && still >= 10 && s.under(delayed)
			return state == want || held, "replay is " + state, nil
		})
	})
}

// setDelay writes the wanted delay and returns when it holds. A connection that was opened after
// the postmaster reloaded sees the new value, and by then the postmaster has told the process
// that replays, which looks for such news before each record.
func (s *Server) setDelay(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	const question = "SELECT setting::bigint FROM pg_settings WHERE name = 'recovery_min_apply_delay'"
	want := s.wantedDelay().Milliseconds()
	var now int64
	if err := s.ask(ctx, question, &now); err != nil || now == want {
		return err
	}
	if err := s.writeConf(); err != nil {
		return err
	}
	if err := signal(s.postmaster.pid, sigReload); err != nil {
		return err
	}
	return poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
		err := s.ask(ctx, question, &now)
		return now == want, fmt.Sprintf("the delay is %d ms, not yet %d ms", now, want), err
	})
}
