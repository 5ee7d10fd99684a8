package main

import (
	"context"
	"fmt"

	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/jobs"
)

// Ran is what became of a message.
type Ran struct {
	Back bool // it was put back
	// By is who served the job's read.
	By    readsplit.Decision
	Begun jobs.Begun
}

// Work runs one message. It sees the order, on whatever process it runs and however far the
// replicas are behind; from where it reads is what the policy says.
func (p *process) Work(ctx context.Context, q *Queue, m Message, policy jobs.Policy) (r Ran, err error) {
	ctx, r.Begun = jobs.Begin(ctx, jobs.Take(m.Headers), policy)
	if r.Begun.InVain && m.Attempt == 1 {
		q.Later(m) // no replica has it yet: another time, and the primary is spared
		r.Back = true
		return r, nil
	}
	var o Order
	read := p.db.WithContext(ctx).First(&o, m.OrderID)
	if r.By, _ = readsplit.DecisionOf(read); read.Error != nil {
		return r, fmt.Errorf("order %d: %w", m.OrderID, read.Error)
	}
	// A message may come twice.
	return r, p.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).
		Create(&Confirmation{OrderID: o.ID, Customer: o.Customer, Cents: o.Cents}).Error
}
