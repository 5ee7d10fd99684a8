package readsplit

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/sqlclass"
)

// begin opens the transaction on the replica that is right for its first read,
// or on the primary.
func (t *readOnlyTx) begin(ctx context.Context) (gorm.Tx, error) {
	var tx *sql.Tx
	r := &route{router: t.router, wish: t.wish, begins: true}
	err := r.read(ctx, "", func(s *server) error {
		if s == nil {
			_, err := t.moveToPrimary(0)
			return err
		}
		var err error
		t.taken = time.Now()
		// On the context of Begin, as database/sql promises: when that ends, the
		// transaction is rolled back.
		tx, err = s.poolFor(r.pooled()).BeginTx(r.checking(t.ctx, s), t.router.optionsFor(&t.opts))
		if err == nil {
			err = t.router.learnIsolation(ctx, s, tx)
		}
		if err != nil && tx != nil {
			_ = tx.Rollback()
		}
		return err
	}, func() { _ = tx.Rollback() })
	t.server, t.generation, t.reason = r.at, r.generation, r.reason
	t.class, t.aside, t.lifted = r.class, r.past().aside, r.past().lifted
	if c := r.past().check; c != nil && c.server == r.at {
		t.shows = c.facts
	}
	r.keepTx(t.primary)
	switch {
	case err != nil:
		return nil, err
	case t.primary != nil:
		return t.primary, nil
	case t.isolation() == "serializable":
		_ = tx.Rollback()
		return t.moveToPrimary(policy.ReasonReadOnlyTransaction)
	}
	t.replica = tx
	return tx, nil
}

// learnIsolation asks once what a transaction without an isolation level gets
// from this server. SHOW takes no snapshot, which a transaction that is
// REPEATABLE READ by default would keep.
func (rt *router) learnIsolation(ctx context.Context, s *server, tx *sql.Tx) error {
	if s.isolation.Load() != nil || rt.dialect == sqlclass.SQLServer {
		return nil
	}
	var level string
	err := tx.QueryRowContext(ctx, "SHOW default_transaction_isolation").Scan(&level)
	if err == nil {
		s.isolation.Store(&level)
	}
	return err
}

// isolation returns the level that the transaction runs at, in PostgreSQL's
// words.
func (t *readOnlyTx) isolation() string {
	switch t.opts.Isolation {
	case sql.LevelDefault:
		if t.server != nil {
			if level := t.server.isolation.Load(); level != nil {
				return *level
			}
		}
		return "read committed"
	case sql.LevelRepeatableRead, sql.LevelSnapshot:
		return "repeatable read"
	default:
		return "read committed"
	}
}

// stillRight checks the session's position again. A READ COMMITTED statement
// sees what was committed before it, so it must see what the session wrote since
// the transaction began; the snapshot of a REPEATABLE READ transaction is fixed.
//
// Where the answer is no, r has the place that the transaction needs on the primary;
// the error says that there is none.
func (t *readOnlyTx) stillRight(ctx context.Context) (r *route, reason policy.Reason, ok bool, err error) {
	if r = t.again(); r == nil {
		return nil, 0, true, nil
	}
	s, _, reason, err := r.choose(ctx, marksOf(ctx), "", 0)
	// Asked after the decision, which finds out about writes whose end nobody has seen.
	if err == nil && s != nil && t.read && t.router.keepsSnapshot() && t.router.owesSince(ctx, t.taken) {
		return r, policy.ReasonBehindSession, false, nil
	}
	if refusedByGroup(err) {
		r.unserved(ctx, reason, err)
		return r, reason, false, err
	}
	if err != nil {
		return r, reason, false, nil //nolint:nilerr // the primary may have it, or its own error
	}
	if c := r.past().check; s == t.server && c != nil && c.server == s {
		if why := t.stillShows(ctx, c); why != policy.ReasonNone {
			s, reason = nil, why
			if err := r.refusal(why); err != nil {
				r.unserved(ctx, policy.ReasonGroupRefused, err)
				return r, reason, false, err
			}
		}
	}
	if s == nil {
		if s, _, reason, err = r.admit(ctx, "", reason); err == nil && s == t.server {
			t.reason = reason
		}
	}
	return r, reason, err == nil && s == t.server, err
}

// again returns the route of the question whether the replica is still right for a
// read; nil: its snapshot is fixed.
func (t *readOnlyTx) again() *route {
	if t.read && t.isolation() != "read committed" && t.isolation() != "read uncommitted" {
		return nil
	}
	parent := &route{router: t.router, at: t.server, generation: t.generation, ran: true}
	parent.goesAs(t.class, t.aside, t.lifted)
	return &route{router: t.router, wish: t.wish, parent: parent}
}

// moveToPrimary begins on the primary. What ran on the replica so far were
// statements of their own that each saw a state of their own, so nothing is lost;
// the replica's transaction stays open until the end for rows that are still
// being read.
func (t *readOnlyTx) moveToPrimary(reason policy.Reason) (gorm.Tx, error) {
	if reason != 0 { // else the route has told
		t.router.tellBegin(t.ctx, true, reason)
	}
	tx, err := t.router.beginTracked(t.ctx, &t.opts)
	if err != nil {
		return nil, err
	}
	for _, s := range t.state {
		if _, err := tx.ExecContext(t.ctx, s.query, s.args...); err != nil {
			return nil, errors.Join(err, tx.Rollback())
		}
	}
	t.primary, t.server, t.reason = tx, nil, reason
	return tx, nil
}
