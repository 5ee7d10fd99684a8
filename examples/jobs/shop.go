package main

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/session/jobs"
)

// Place places an order and enqueues its confirmation, after the commit: the message carries
// what the job must see. A process that dies between the two loses the message.
func (p *process) Place(ctx context.Context, q *Queue, o *Order) error {
	if err := p.db.WithContext(ctx).Create(o).Error; err != nil {
		return err
	}
	m := Message{Headers: map[string]string{}, OrderID: o.ID}
	if err := jobs.Put(ctx, m.Headers); err != nil {
		return err
	}
	q.Send(m)
	return nil
}

// PlaceWithOutbox loses nothing: the message is a row of the same transaction.
func (p *process) PlaceWithOutbox(ctx context.Context, o *Order) error {
	return p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Create(o).Error; err != nil {
			return err
		}
		return tx.Create(&Outbox{OrderID: o.ID}).Error
	})
}

// Relay publishes what is in the outbox, and returns how much that was. Any number of relays
// may run. A relay that dies before it commits publishes again: jobs must stand that.
func (p *process) Relay(ctx context.Context, q *Queue) (sent int, err error) {
	err = p.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []Outbox
		err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).
			Where("sent_at IS NULL").Order("id").Limit(100).Find(&rows).Error
		if err != nil || len(rows) == 0 {
			return err
		}
		// After they were taken, once for all of them: whatever wrote them is committed.
		token := jobs.Capture(ctx)
		ids := make([]int64, 0, len(rows))
		for _, row := range rows {
			q.Send(Message{Headers: map[string]string{jobs.Header: token}, OrderID: row.OrderID})
			ids = append(ids, row.ID)
		}
		sent = len(rows)
		return tx.Model(&Outbox{}).Where("id IN ?", ids).Update("sent_at", time.Now()).Error
	})
	return sent, err
}
