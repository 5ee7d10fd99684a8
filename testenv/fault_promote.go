package testenv

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Promote makes the replica a primary of its own, on a new timeline; the cluster's primary knows
// nothing of it and goes on. Other replicas stay with the primary, see [Server.Follow]. Undo throws
// away what the promoted server has written and builds it anew as a replica of the cluster's
// primary, on the same port.
func (s *Server) Promote(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: promoted}, func(ctx context.Context) error {
		if err := s.ready(ctx, isReplica, isAnswering); err != nil {
			return err
		}
		ctx, cancel := bounded(ctx, patience)
		defer cancel()
		s.diverged = true
		return s.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			var recovering, promoting bool
			if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&recovering); err != nil || !recovering {
				return err // promoted before: this fault keeps it so
			}
			if err := conn.QueryRow(ctx, "SELECT pg_promote(true, 60)").Scan(&promoting); err != nil {
				return err
			}
			if !promoting {
				return errors.New("pg_promote said that it did not happen within 60 s")
			}
			return poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
				err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&recovering)
				return !recovering, "still in recovery", err
			})
		})
	})
}
