package jobs_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/readsplit/readsplit/session/jobs"
)

type outboxRow struct{ ID, OrderID int64 }

func (outboxRow) TableName() string { return "outbox" }

type message struct {
	orderID int64
	token   string
}

// relay takes what is in the outbox and publishes it, in one transaction on the
// primary, as relays do. It captures once for all messages, after it has read them.
func (l *lab) relay(t testing.TB, publish func(message), capture func(context.Context) string) {
	t.Helper()
	ctx := visitor()
	require.NoError(t, l.producer.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var rows []outboxRow
		if err := tx.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).Order("id").Find(&rows).Error; err != nil || len(rows) == 0 {
			return err
		}
		token := capture(ctx)
		for _, row := range rows {
			publish(message{row.OrderID, token})
		}
		return tx.Delete(&rows).Error
	}))
}

// R14: whoever takes a message from an outbox captures after taking it. The writer
// of the message cannot: its transaction has not committed yet.
func TestR14Outbox(t *testing.T) {
	l := newLab(t)
	l.pause(t)
	for _, c := range []struct {
		name string
		// tokenAt says when the relay takes its token.
		after bool
		want  string
	}{
		{"captured before the message was taken", false, "replica1"},
		{"captured after the message was taken", true, "primary"},
	} {
		early := jobs.Capture(t.Context())
		var order struct{ ID int64 }
		require.NoError(t, l.producer.WithContext(visitor()).Transaction(func(tx *gorm.DB) error {
			if err := tx.Raw("INSERT INTO orders (title) VALUES ('a book') RETURNING id").Scan(&order).Error; err != nil {
				return err
			}
			return tx.Create(&outboxRow{OrderID: order.ID}).Error
		}))
		var published []message
		l.relay(t, func(m message) { published = append(published, m) }, func(ctx context.Context) string {
			if !c.after {
				return early
			}
			return jobs.Capture(ctx)
		})
		require.Len(t, published, 1, c.name)
		require.Equal(t, order.ID, published[0].orderID, c.name)

		ctx, _ := jobs.Begin(t.Context(), published[0].token, jobs.Sticky())
		var found struct {
			Orders int
			Server string
		}
		require.NoError(t, l.worker.WithContext(ctx).Raw("SELECT count(*) AS orders, current_setting('cluster_name') AS server FROM orders WHERE id = ?", published[0].orderID).Scan(&found).Error)
		assert.Equal(t, c.want, found.Server, c.name)
		assert.Equal(t, c.after, found.Orders == 1, "%s: the order is there or not", c.name)
	}
}
