package testenv

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cut takes away the replica's connection to its upstream, and refuses new ones; clients still
// reach the replica. Undo returns when it receives again, unless its upstream is down.
func (s *Server) Cut(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: cut}, func(ctx context.Context) error {
		if err := s.fit(isReplica); err != nil {
			return err
		}
		s.setRelay()
		if !s.running() || s.frozen {
			return nil // it holds no connection, or cannot say so: the relay has closed it
		}
		return s.awaitCut(ctx)
	})
}

// LagNetwork delivers every byte between the replica and its upstream d later than it was sent,
// in both directions; the connection stays. Of several lags the one injected last holds. With a
// lag over 2 s a replica that has to connect anew may give up: its timeouts are 5 s.
func (s *Server) LagNetwork(ctx context.Context, d time.Duration) (Undo, error) {
	return s.inject(ctx, &fault{kind: lagging, duration: d}, func(context.Context) error {
		if d <= 0 {
			return fmt.Errorf("%w: the lag is %s and must be positive", errUnfit, d)
		}
		if err := s.fit(isReplica); err != nil {
			return err
		}
		s.setRelay()
		return nil
	})
}

// Follow makes the replica receive from upstream instead of the cluster's primary: from another
// replica (a cascade), or from one that was promoted (what a cluster manager does in a failover).
// Undo builds the replica anew from the cluster's primary.
func (s *Server) Follow(ctx context.Context, upstream *Server) (Undo, error) {
	return s.inject(ctx, &fault{kind: following, upstream: upstream}, func(ctx context.Context) error {
		switch {
		case upstream == nil || upstream.cluster != s.cluster:
			return fmt.Errorf("%w: the upstream must be a server of the same cluster", errUnfit)
		case upstream == s || upstream.follows(s):
			return fmt.Errorf("%w: it would follow itself", errUnfit)
		case !upstream.up.Load():
			return fmt.Errorf("%w: its upstream %s is down or frozen", errUnfit, upstream)
		}
		if err := s.fit(isFollower, isAnswering); err != nil {
			return err
		}
		s.diverged = true
		s.setRelay()
		return s.awaitStreaming(ctx)
	})
}

// follows says whether s receives from other, directly or over others.
func (s *Server) follows(other *Server) bool {
	for s.relay != nil && !s.under(promoted) {
		if s = s.upstream(); s == other {
			return true
		}
	}
	return false
}

// setRelay makes the relay what the faults in force say.
func (s *Server) setRelay() {
	var lag time.Duration
	if f := s.newest(lagging); f != nil {
		lag = f.duration
	}
	s.relay.set(s.upstream().Addr, s.under(cut), lag)
}

// awaitCut returns when the replica has no receiver any more.
func (s *Server) awaitCut(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	return s.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
			var receivers int
			err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_wal_receiver").Scan(&receivers)
			return receivers == 0, "its receiver still runs", err
		})
	})
}

// awaitStreaming returns when the replica receives from its upstream, and at once where a fault
// in force says that it cannot. Both ends are asked: after a cut or a change of upstream either
// may believe for some milliseconds more in a connection that has ended.
func (s *Server) awaitStreaming(ctx context.Context) error {
	ctx, cancel := bounded(ctx, patience)
	defer cancel()
	impossible := func() bool {
		return s.under(cut, promoted) || !s.up.Load() || !s.upstream().up.Load()
	}
	return poll(ctx, 5*time.Millisecond, func() (bool, string, error) {
		if impossible() {
			return true, "", nil
		}
		receiving, err := s.receives(ctx)
		state := fmt.Sprintf("it does not receive from %s", s.upstream().name)
		if err != nil {
			state += ": " + err.Error() // the other end may be starting over just now
		}
		return receiving, state, nil
	})
}

func (s *Server) receives(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	var here, there int
	if err := s.ask(ctx, "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'", &here); err != nil || here == 0 {
		return false, err
	}
	const senders = "SELECT count(*) FROM pg_stat_replication WHERE state IN ('streaming', 'catchup') AND application_name = '%s'"
	err := s.upstream().ask(ctx, fmt.Sprintf(senders, s.name), &there)
	return there > 0, err
}
