package explaintest

import (
	"context"
	"testing"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/explain"
	"github.com/readsplit/readsplit/policy"
)

// MayUseReplica fails t unless each statement of run may be served by a replica: by
// what it is, what ctx asks for, and the state of the servers. Right after a write of
// its session that depends on an answer which nobody has asked for yet; that is no
// failure.
func MayUseReplica(t testing.TB, ctx context.Context, db *gorm.DB, run func(tx *gorm.DB) *gorm.DB) *explain.Report {
	t.Helper()
	report := explained(t, ctx, db, run)
	for i := range report.Statements {
		s := &report.Statements[i]
		if s.Err != nil || s.Primary() {
			t.Fatalf("no replica may serve statement %d of %d:\n%v", i+1, len(report.Statements), report)
		}
	}
	return report
}

// UsesPrimary fails t unless each statement of run goes to the primary for this
// reason.
func UsesPrimary(t testing.TB, ctx context.Context, db *gorm.DB, why policy.Reason, run func(tx *gorm.DB) *gorm.DB) *explain.Report {
	t.Helper()
	report := explained(t, ctx, db, run)
	for i := range report.Statements {
		s := &report.Statements[i]
		if s.Err != nil || !s.Primary() || s.Reason != why {
			t.Fatalf("statement %d of %d does not go to the primary for the reason %v:\n%v", i+1, len(report.Statements), why, report)
		}
	}
	return report
}

// explained fails t where nothing can be explained: an assertion about no statement
// would hold whatever the code does.
func explained(t testing.TB, ctx context.Context, db *gorm.DB, run func(tx *gorm.DB) *gorm.DB) *explain.Report {
	t.Helper()
	report, err := readsplit.Explain(ctx, db, run)
	if err != nil {
		t.Fatalf("%v\n%v", err, report)
	}
	if len(report.Statements) == 0 {
		t.Fatalf("nothing was explained: does the function use the handle that it is given?\n%v", report)
	}
	return report
}
