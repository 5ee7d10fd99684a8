package orderlab

import (
	"context"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
)

// claim is what the router says of one read.
type claim struct {
	made     bool
	decision readsplit.Decision
}

type claimKey struct{}

// withClaim returns a context whose next read leaves in the claim what the router
// says of it.
func withClaim(ctx context.Context) (context.Context, *claim) {
	c := new(claim)
	return context.WithValue(ctx, claimKey{}, c), c
}

// RecordDecisions takes down the decision of every query that asks for it, in a
// callback behind all others. An application would feed its metrics here, and
// needs no handle that its service code keeps to itself.
func RecordDecisions(db *gorm.DB) error {
	return db.Callback().Query().After("*").Register("orderlab:decision", func(tx *gorm.DB) {
		c, ok := tx.Statement.Context.Value(claimKey{}).(*claim)
		if !ok {
			return
		}
		c.decision, c.made = readsplit.DecisionOf(tx)
	})
}
