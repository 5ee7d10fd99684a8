package testenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a running primary with its replicas. It ends with [Cluster.Close], or when this
// process ends, however that happens. Its methods may be called from several goroutines.
type Cluster struct {
	cfg        Config
	install    installation
	account    account
	root       string // the folder that everything lies in
	password   string
	servers    []*Server // the primary first
	extensions map[string]bool
	watchdog   *watchdog
	goroutines sync.WaitGroup // one for each postmaster, and one for its log where it is copied

	life   context.Context // ends when Close begins
	finish context.CancelFunc

	faultsMu sync.Mutex
	faults   []*fault // those in force on all servers, the oldest first

	closing  sync.Once
	closeErr error
}

// Primary is the server that the cluster began with as its primary, whatever was promoted since.
func (c *Cluster) Primary() *Server { return c.servers[0] }

// Replicas are the servers that began as replicas, in the order of their names.
func (c *Cluster) Replicas() []*Server { return slices.Clone(c.servers[1:]) }

// Replica is the i-th replica, counted from 0: Replica(0) is "replica1". It panics when there is
// no such replica, as an index out of range does.
func (c *Cluster) Replica(i int) *Server { return c.servers[1:][i] }

// Servers are the primary and the replicas.
func (c *Cluster) Servers() []*Server { return slices.Clone(c.servers) }

// Server is the server with this name, or nil: it takes what SHOW cluster_name answers.
func (c *Cluster) Server(name string) *Server {
	for _, s := range c.servers {
		if s.name == name {
			return s
		}
	}
	return nil
}

// Version is the full version of the servers, such as "15.18" or "18.4".
func (c *Cluster) Version() string { return c.install.version }

// Major is the major version of the servers, such as 15.
func (c *Cluster) Major() int { return c.install.major }

// HasExtension says whether CREATE EXTENSION name can work: whether these binaries come with it.
// Some also need Setting("shared_preload_libraries", name).
func (c *Cluster) HasExtension(name string) bool { return c.extensions[name] }

func (c *Cluster) loadExtensions(ctx context.Context) error {
	c.extensions = map[string]bool{}
	return c.Primary().query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, "SELECT name::text FROM pg_available_extensions")
		if err != nil {
			return fmt.Errorf("list the extensions: %w", err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("list the extensions: %w", err)
		}
		for _, name := range names {
			c.extensions[name] = true
		}
		return nil
	})
}

// CreateDatabase makes a database and returns when every replica has it that no fault holds back.
// A database costs a tenth of a cluster, and isolates tests that share one.
func (c *Cluster) CreateDatabase(ctx context.Context, name string) error {
	if c.life.Err() != nil {
		return public(fmt.Errorf("create database %q: %w", name, errClosed))
	}
	ctx, cancel := c.while(ctx)
	defer cancel()
	err := c.Primary().query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		// A copy of the files costs half of what the default does, which writes them to the WAL,
		// where a replica that is cut off would soon find 7 MB of each instead of its own place.
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" STRATEGY file_copy")
		return err
	})
	if err != nil {
		return public(fmt.Errorf("create database %q: %w", name, err))
	}
	free := slices.DeleteFunc(c.Replicas(), func(s *Server) bool { return len(s.Faults()) > 0 })
	return public(c.waitCaughtUp(ctx, free))
}

// WaitCaughtUp returns when every replica has replayed what the primary has flushed now. It waits
// for a minute when ctx has no deadline, and names the replicas that are behind, their positions
// and their faults when it gives up.
func (c *Cluster) WaitCaughtUp(ctx context.Context) error {
	if c.life.Err() != nil {
		return public(fmt.Errorf("wait for the replicas: %w", errClosed))
	}
	ctx, cancel := c.while(ctx)
	defer cancel()
	return public(c.waitCaughtUp(ctx, c.Replicas()))
}

func (c *Cluster) waitCaughtUp(ctx context.Context, replicas []*Server) error {
	if len(replicas) == 0 {
		return nil
	}
	var target string
	if err := c.Primary().ask(ctx, "SELECT pg_current_wal_flush_lsn()::text", &target); err != nil {
		return err
	}
	waits := make(chan error, len(replicas))
	for _, s := range replicas {
		go func() { waits <- s.waitReplayed(ctx, target) }()
	}
	var errs []error
	for range replicas {
		errs = append(errs, <-waits)
	}
	return errors.Join(errs...)
}

// waitReplayed returns when this replica has replayed position target, an LSN as text.
func (s *Server) waitReplayed(ctx context.Context, target string) error {
	nudge := time.Now().Add(50 * time.Millisecond)
	position := "unknown"
	err := poll(ctx, 2*time.Millisecond, func() (bool, string, error) {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		reached := false
		err := s.query(attempt, func(ctx context.Context, conn *pgx.Conn) error {
			const question = "SELECT pg_last_wal_replay_lsn()::text, coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)"
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for {
				var now *string
				if err := conn.QueryRow(ctx, question, target).Scan(&now, &reached); err != nil {
					return err
				}
				if now != nil {
					position = *now
				}
				if reached {
					return nil
				}
				if time.Now().After(nudge) {
					nudge = time.Now().Add(500 * time.Millisecond)
					if err := s.cluster.nudge(ctx); err != nil {
						return err
					}
				}
				select {
				case <-tick.C:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
		state := fmt.Sprintf("it has replayed %s of %s", position, target)
		if err != nil && attempt.Err() == nil {
			state += ": " + err.Error()
		}
		return reached, state, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not caught up: %w", s, err)
	}
	return nil
}

// nudge commits a little: a flushed position can rest inside the record of an open transaction,
// which a replica cannot replay before its rest is flushed, and on a quiet primary that takes
// seconds.
func (c *Cluster) nudge(ctx context.Context) error {
	return c.Primary().query(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "SELECT pg_logical_emit_message(true, 'readsplit-testenv', '')")
		return err
	})
}

// UndoAll ends all faults in force, the newest first: for a cluster that several tests share.
func (c *Cluster) UndoAll() error {
	c.faultsMu.Lock()
	faults := slices.Clone(c.faults)
	c.faultsMu.Unlock()
	var errs []error
	for _, f := range slices.Backward(faults) {
		errs = append(errs, f.undo())
	}
	return errors.Join(errs...)
}

func (c *Cluster) remember(f *fault) {
	c.faultsMu.Lock()
	defer c.faultsMu.Unlock()
	c.faults = append(c.faults, f)
}

func (c *Cluster) forget(f *fault) {
	c.faultsMu.Lock()
	defer c.faultsMu.Unlock()
	c.faults = slices.DeleteFunc(c.faults, func(x *fault) bool { return x == f })
}

// while bounds ctx by the life of the cluster, and by a minute if it has no deadline.
func (c *Cluster) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(errClosed) })
	ctx, end := bounded(ctx, patience)
	return ctx, func() {
		stop()
		end()
		cancel(nil)
	}
}
