package main

import (
	"context"
	"database/sql"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/groups"
)

// Order is what reports are about.
type Order struct {
	ID        int64
	Customer  string `gorm:"index"`
	Cents     int64
	CreatedAt time.Time
}

// heavy is the context of a report: on the replica for reports, however far that is behind,
// for as long as limit at most, and without a write.
func heavy(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx = readsplit.ReadOnly(readsplit.Stale(readsplit.Group(ctx, "reports")))
	return context.WithTimeout(ctx, limit)
}

// Day is one line of the sales report.
type Day struct {
	Day    time.Time
	Orders int64
	Cents  int64
}

// Sales adds up all orders, by day. Where it is read with Find, and not row by row, replay
// that cancels it costs another run and no error.
func (o *office) Sales(ctx context.Context) (days []Day, by readsplit.Decision, err error) {
	ctx, cancel := heavy(ctx, 5*time.Minute)
	defer cancel()
	read := o.db.WithContext(ctx).
		Raw("SELECT date_trunc('day', created_at) AS day, count(*) AS orders, sum(cents)::bigint AS cents FROM orders GROUP BY 1 ORDER BY 1").Find(&days)
	by, _ = readsplit.DecisionOf(read)
	return days, by, read.Error
}

// Export hands out all orders in batches, as they were at one moment: a read-only transaction
// stays on the server, and in the snapshot, of its first statement.
func (o *office) Export(ctx context.Context, each func(batch []Order) error) error {
	ctx, cancel := heavy(ctx, time.Hour)
	defer cancel()
	return o.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var batch []Order
		return tx.FindInBatches(&batch, 500, func(*gorm.DB, int) error { return each(batch) }).Error
	}, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
}

// Dashboard is a number on a screen in the hall: any replica will do, and two seconds are the
// longest that it may be waited for.
func (o *office) Dashboard(ctx context.Context) (orders int64, by readsplit.Decision, err error) {
	ctx, cancel := context.WithTimeout(readsplit.AnyReplica(ctx), 2*time.Second)
	defer cancel()
	read := o.db.WithContext(ctx).Model(&Order{}).Count(&orders)
	by, _ = readsplit.DecisionOf(read)
	return orders, by, read.Error
}

// Statement is what a customer has ordered. They have just ordered something, perhaps: a
// replica serves it where it has that, and the primary else.
func (o *office) Statement(ctx context.Context, customer string) (orders []Order, by readsplit.Decision, err error) {
	read := o.db.WithContext(readsplit.UseReplica(ctx)).Where("customer = ?", customer).Order("id").Find(&orders)
	by, _ = readsplit.DecisionOf(read)
	return orders, by, read.Error
}

// Best finds the customers of the last days. Whoever calls it knows about how many orders
// those are, and that decides: a week is read on the primary or the site's replica, years
// with the reports.
func (o *office) Best(ctx context.Context, days int, rows int64) (customers []string, by readsplit.Decision, err error) {
	ctx = groups.WithEstimate(readsplit.UseReplica(ctx), groups.Estimate{Rows: rows})
	read := o.db.WithContext(ctx).Model(&Order{}).Where("created_at > ?", time.Now().AddDate(0, 0, -days)).
		Group("customer").Order("sum(cents) DESC, customer").Limit(3).Pluck("customer", &customers)
	by, _ = readsplit.DecisionOf(read)
	return customers, by, read.Error
}

// Order places one: nothing of all this concerns it.
func (o *office) Order(ctx context.Context, customer string, cents int64) error {
	return o.db.WithContext(ctx).Create(&Order{Customer: customer, Cents: cents}).Error
}
