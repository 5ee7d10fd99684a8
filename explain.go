package readsplit

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/explain"
)

// Explain tells where the statements of run would go, and why, policy by policy. It
// runs none of them:
//
//	report, err := readsplit.Explain(ctx, db, func(tx *gorm.DB) *gorm.DB {
//		return tx.Where("user_id = ?", id).Find(&orders)
//	})
//	fmt.Print(report)
//
// run is given a handle that decides as db would in ctx (nil: db's own context), by
// the same code, and sends nothing to any server: no statement, no question for a
// position. Nothing changes by it: no session, no counter, no budget, no balancer, and
// no observer is told. run must use the handle that it is given, or one derived from
// it: what it does with others is really done. A handle that is kept beyond Explain
// fails with whatever it is asked for. *gorm.DB methods behave as in GORM's
// dry runs: each query finds no row, and hooks are not called. An UPDATE is shown
// without the automatic times that GORM sets where hooks run.
//
// The balancer is not asked: where several replicas may serve a read, all are named.
// What depends on an answer that nobody has (the position of a write that was made a
// moment ago, a replica that needs a few milliseconds more) is said in
// explain.Statement.Before, and every outcome is among its Servers.
//
// A statement that would fail instead of being sent, or that GORM cannot build, is part
// of the report. The error says that db has no readsplit plugin, or what the handle
// that run returns has ended with where no statement of the report says it.
func Explain(ctx context.Context, db *gorm.DB, run func(tx *gorm.DB) *gorm.DB) (*explain.Report, error) {
	report := &explain.Report{}
	if db == nil || run == nil {
		return report, errors.New("readsplit: Explain needs a *gorm.DB and a function that uses the one it is given; one of them is nil")
	}
	p, ok := db.Plugins[pluginName].(*Plugin)
	if !ok || !p.initialized.Load() {
		return report, errors.New("readsplit: Explain was given a *gorm.DB that readsplit is not in use on: call db.Use(readsplit.New(...)) first")
	}
	if ctx == nil {
		ctx = db.Statement.Context
	}
	h := newRehearsal(p, report)
	defer h.end()
	tx := db.Session(&gorm.Session{DryRun: true, SkipHooks: true, Logger: logger.Discard, Context: ctx})
	outer, _ := unwrap(db.Statement.ConnPool)
	tx.Statement.ConnPool = h.root(ctx, outer)
	// What gorm.Session{PrepareStmt: true} wraps.
	configured, _ := unwrap(db.Config.ConnPool)
	tx.Config.ConnPool = h.root(ctx, configured)
	result := run(tx)
	if result == nil || result.Error == nil || errors.Is(result.Error, gorm.ErrDryRunModeUnsupported) || h.found(result.Error) {
		return report, nil
	}
	return report, fmt.Errorf("readsplit: Explain: %w", result.Error)
}
