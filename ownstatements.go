package readsplit

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/retry"
)

// preparer says how the connections of a replica's pools prepare the statements that run
// on them, where gorm.Config.PrepareStmt says so for all.
//
// Each connection keeps its own, by their texts. By a *sql.Stmt, database/sql would look
// for the connection among those that it was prepared on, and note that rows depend on it,
// under the lock of the pool: that takes as long as the read's decision.
type preparer struct {
	plans  *plans
	max    int           // how many a connection keeps; 0: any number
	ttl    time.Duration // how long it keeps one; 0: for ever
	pooled *atomic.Bool  // behind a pooler the next server has not prepared it
	seen   atomic.Uint32 // what the driver's statements are like
}

// What the driver's statements are like. Where they say by themselves what is to be made of
// arguments, they have to be database/sql's, which asks them before it asks for anything
// else. Until one was seen nobody knows.
const (
	unseenStatements uint32 = iota
	plainStatements
	checkingStatements
)

// saw looks at a statement of the driver.
func (p *preparer) saw(stmt driver.Stmt) {
	like := plainStatements
	switch stmt.(type) {
	case driver.NamedValueChecker, driver.ColumnConverter: //nolint:staticcheck // drivers may have it
		like = checkingStatements
	}
	if p.seen.Load() != like {
		p.seen.Store(like)
	}
}

// inUse reports whether connections prepare statements by themselves.
func (p *preparer) inUse() bool { return p != nil && p.seen.Load() == plainStatements }

// preparingFor returns nil where connections do not prepare by themselves.
func preparingFor(s *server, c *gorm.Config, settings bool) *preparer {
	if !c.PrepareStmt || settings {
		return nil // Config.Settings changes what names mean
	}
	return &preparer{plans: &s.prepared.plans, max: max(c.PrepareStmtMaxSize, 0), ttl: max(c.PrepareStmtTTL, 0), pooled: &s.pooled}
}

// ownStatements are the prepared statements of one connection. Whoever has the connection
// has them.
type ownStatements struct {
	of     *preparer
	byText map[string]*ownStatement
	plan   uint64        // see plans; all of byText belong to it
	gone   []driver.Stmt // that are to be closed
	turn   uint64
}

type ownStatement struct {
	heldStmt
	query  driver.StmtQueryContext // of heldStmt; nil: the driver has an older way
	inputs int                     // how many arguments it takes; negative: the driver does not say
	made   time.Time
	used   uint64 // turn of the last use
}

// prepares reports whether statements on h are prepared.
func (h *heldConn) prepares() bool {
	return h.own != nil && h.own.of.inUse() && !h.own.of.pooled.Load()
}

// send runs a query on the driver's connection.
func (h *heldConn) send(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !h.prepares() {
		return h.query.QueryContext(ctx, query, args)
	}
	st, err := h.own.take(ctx, h, query, len(args))
	if err != nil {
		return nil, err
	}
	rows, err := st.run(ctx, args)
	if err != nil {
		h.own.failed(query, st, err)
	}
	return rows, err
}

// run runs a statement that is a query.
func (st *ownStatement) run(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if st.query != nil {
		return st.query.QueryContext(ctx, args)
	}
	return st.queried(ctx, args)
}

// sendExec is send of what returns no rows.
func (h *heldConn) sendExec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !h.prepares() {
		result, err := h.exec.ExecContext(ctx, query, args)
		return result, h.acknowledged(err)
	}
	st, err := h.own.take(ctx, h, query, len(args))
	if err != nil {
		return nil, err
	}
	result, err := st.executed(ctx, args)
	if err != nil {
		h.own.failed(query, st, err)
	}
	return result, err
}

// take returns the statement of a text, which is prepared if it was not.
func (o *ownStatements) take(ctx context.Context, h *heldConn, query string, args int) (*ownStatement, error) {
	if n := o.of.plans.n.Load(); n != o.plan {
		for text, st := range o.byText {
			o.drop(text, st)
		}
		o.plan = n
	}
	st := o.byText[query]
	if st != nil && o.of.ttl > 0 && time.Since(st.made) > o.of.ttl {
		o.drop(query, st)
		st = nil
	}
	if st == nil {
		var err error
		if st, err = o.prepare(ctx, h, query); err != nil {
			return nil, err
		}
	}
	if st.inputs >= 0 && st.inputs != args {
		return nil, fmt.Errorf("sql: expected %d arguments, got %d", st.inputs, args) // as database/sql says it
	}
	o.turn++
	st.used = o.turn
	return st, nil
}

// closeEach is how many statements are closed for each that is prepared. To close one may
// take a round trip, and after a change of the schema all of them have to be.
const closeEach = 2

func (o *ownStatements) prepare(ctx context.Context, h *heldConn, query string) (*ownStatement, error) {
	if o.of.max > 0 && len(o.byText) >= o.of.max {
		o.evict()
	}
	for range min(closeEach, len(o.gone)) {
		last := len(o.gone) - 1
		_ = o.gone[last].Close()
		o.gone[last] = nil
		o.gone = o.gone[:last]
	}
	text := query
	if o.plan > 0 {
		text = planned(query, o.plan)
	}
	stmt, err := h.prepared(ctx, text)
	if err != nil {
		return nil, err
	}
	st := &ownStatement{heldStmt: heldStmt{stmt, h}, inputs: stmt.NumInput()}
	st.query, _ = stmt.(driver.StmtQueryContext)
	if o.of.ttl > 0 {
		st.made = time.Now()
	}
	o.byText[query] = st
	return st, nil
}

// failed takes in that a statement has failed: of a plan from before a change of the
// schema, all that are prepared are.
func (o *ownStatements) failed(query string, st *ownStatement, err error) {
	if retry.OfRead(err).Cause == retry.CauseStalePlan {
		o.of.plans.stale(o.plan)
		o.drop(query, st)
	}
}

// evict drops the statement that was used least recently.
func (o *ownStatements) evict() {
	var oldest string
	var st *ownStatement
	for text, have := range o.byText {
		if st == nil || have.used < st.used {
			oldest, st = text, have
		}
	}
	if st != nil {
		o.drop(oldest, st)
	}
}

func (o *ownStatements) drop(query string, st *ownStatement) {
	delete(o.byText, query)
	o.gone = append(o.gone, st.Stmt)
}
