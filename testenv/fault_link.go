package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cut takes away the replica's connection to its upstream, and refuses new ones; clients still
// reach the replica. Undo returns when it receives again, unless its upstream is down, or its
// replay is paused or delayed: PostgreSQL connects anew only when it needs more to replay.
func (s *Server) Cut(ctx context.Context) (Undo, error) {
	return s.inject(ctx, &fault{kind: cut}, func(ctx context.Context) error {
		if err := s.fit(isReplica); err != nil {
			return err
		}
		s.setRelay()
		if !s.running() || s.frozen {
			return nil // it holds no connection, or cannot say so: the relay has closed it
		}
		if err := s.awaitAnswer(ctx); err != nil {
			return err
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
// A replica that is past the point where a promoted upstream left the primary's history cannot
// follow it any more, and is built anew from it. Undo builds it anew from the cluster's primary.
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
		if err := s.ready(ctx, isFollower, isAnswering); err != nil {
			return err
		}
		s.diverged = true
		s.relay.set(upstream.Addr, true, 0) // so that it stays where it is while we look
		if err := s.awaitCut(ctx); err != nil {
			return err
		}
		past, err := s.isPastTheFork(ctx)
		if err != nil {
			return err
		}
		s.adrift = past
		return s.settle(ctx)
	})
}

// isPastTheFork says whether the replica has received more of the primary's history than the
// server has kept that it shall follow. The last line of that server's history file says where it
// left; the replica would refuse to go back there, and wait for ever.
func (s *Server) isPastTheFork(ctx context.Context) (bool, error) {
	root := s.source()
	if root == s.cluster.Primary() {
		return false, nil
	}
	var file, fork string
	var past bool
	if err := root.ask(ctx, "SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) || '.history'", &file); err != nil {
		return false, err
	}
	history, err := os.ReadFile(filepath.Join(root.dataDir, "pg_wal", file))
	if err != nil {
		return false, fmt.Errorf("read the history of %s: %w", root.name, err)
	}
	for line := range strings.Lines(string(history)) {
		if fields := strings.Fields(line); len(fields) > 1 && !strings.HasPrefix(fields[0], "#") {
			fork = fields[1]
		}
	}
	err = s.query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		const question = "SELECT greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) > $1::text::pg_lsn"
		return conn.QueryRow(ctx, question, fork).Scan(&past)
	})
	return past, err
}

// source is the server whose history this one has: the end of the chain of upstreams.
func (s *Server) source() *Server {
	for s.relay != nil && !s.under(promoted) {
		s = s.upstream()
	}
	return s
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
	const here = "SELECT count(*) > 0 FROM pg_stat_wal_receiver WHERE status = 'streaming'"
	const there = "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND application_name = $1"
	state := "it does not receive from " + s.upstream().name
	look := func(ctx context.Context, replica, upstream *pgx.Conn) error {
		return poll(ctx, 10*time.Millisecond, func() (bool, string, error) {
			if s.cannotStream() {
				return true, "", nil
			}
			var receives, sends bool
			if err := replica.QueryRow(ctx, here).Scan(&receives); err != nil || !receives {
				return false, state, err
			}
			err := upstream.QueryRow(ctx, there, s.name).Scan(&sends)
			return sends, state, err
		})
	}
	return poll(ctx, 10*time.Millisecond, func() (bool, string, error) {
		if s.cannotStream() {
			return true, "", nil
		}
		// One that freezes now would hold up the question, and by that end the wait.
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		err := s.query(attempt, func(ctx context.Context, replica *pgx.Conn) error {
			return s.upstream().query(ctx, func(ctx context.Context, upstream *pgx.Conn) error {
				return look(ctx, replica, upstream)
			})
		})
		if err != nil { // one of them may be starting over just now
			return false, state + ": " + err.Error(), nil
		}
		return true, "", nil
	})
}

// cannotStream says that a fault in force keeps the replica from receiving.
func (s *Server) cannotStream() bool {
	return s.under(cut, promoted, paused, delayed) || !s.up.Load() || !s.upstream().up.Load()
}
