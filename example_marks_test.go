package readsplit_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/readonlyguard"
)

// What must be current is read on the primary: a balance before a payment.
func ExampleFresh() {
	db, _, done := exampleDB(readsplit.Config{}) // gorm.Open and db.Use(readsplit.New(config))
	defer done()

	ctx := readsplit.Fresh(context.Background())
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)
	// Output: primary fresh
}

// An application that begins with all reads on the primary, and lets one endpoint after
// the other use the replicas.
func ExampleUseReplica() {
	db, _, done := exampleDB(readsplit.Config{Default: readsplit.PreferPrimary})
	defer done()

	ctx := context.Background()
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)

	ctx = readsplit.UseReplica(ctx)
	d, _ = readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server)
	// Output:
	// primary prefer_primary
	// pg2
}

// A feed may be older than Config.MaxLag, and shows its reader's own posts all the same.
func ExampleStale() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())
	db.WithContext(ctx).Create(&Order{Customer: "stella", Title: "a post"})

	var own []Order
	d, _ := readsplit.DecisionOf(db.WithContext(readsplit.Stale(ctx)).Where("customer = ?", "stella").Find(&own))
	fmt.Println(len(own), d.Replica)
	// Output: 1 true
}

// A health page or a nightly export, for which it matters only that the primary is left
// alone.
func ExampleAnyReplica() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	ctx := readsplit.AnyReplica(context.Background())
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)
	// Output: pg2 any_replica
}

// A search that may be five seconds old, whatever Config.MaxLag is. Zero is Fresh.
func ExampleAtMost() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	ctx := readsplit.AtMost(context.Background(), 5*time.Second)
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server)

	ctx = readsplit.AtMost(context.Background(), 0)
	d, _ = readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)
	// Output:
	// pg2
	// primary fresh
}

// Reports have replicas of their own. A name that no replica has is an error of the
// read, and not the primary's load.
func ExampleGroup() {
	db, _, done := exampleDB(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "pg2"},
		{Name: "pg3", Groups: []string{"reporting"}},
	}})
	defer done()
	ctx := context.Background()

	d, _ := readsplit.DecisionOf(db.WithContext(readsplit.Group(ctx, "reporting")).Find(&[]Order{}))
	fmt.Println(d.Server)

	err := db.WithContext(readsplit.Group(ctx, "reprting")).Find(&[]Order{}).Error
	fmt.Println(errors.Is(err, readsplit.ErrUnknownGroup))
	// Output:
	// pg3
	// true
}

// Another service has written the row and sent its id, without a token: what the replica
// does not have is looked for on the primary, once.
func ExampleRecheck() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	ctx := readsplit.Recheck(context.Background())
	tx := db.WithContext(ctx).First(&Order{}, "title = ?", "not there")
	d, _ := readsplit.DecisionOf(tx)
	fmt.Println(errors.Is(tx.Error, gorm.ErrRecordNotFound), d.Server, d.Reason)
	// Output: true primary not_found_recheck
}

// A GET handler must not write. Nothing is sent; with Config.GuardErrors the write is an
// error instead of a panic.
func ExampleReadOnly() {
	db, _, done := exampleDB(readsplit.Config{GuardErrors: true})
	defer done()

	ctx := readsplit.ReadOnly(context.Background())
	err := db.WithContext(ctx).Create(&Order{Customer: "rose"}).Error
	fmt.Println(errors.Is(err, readonlyguard.ErrReadOnly))
	// Output: true
}

// A statement on the *sql.DB passes the plugin by: it is told of the write.
func ExampleMarkWrite() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()
	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession())

	pool, _ := db.DB()
	_, err := pool.ExecContext(ctx, "INSERT INTO orders (customer, title) VALUES ('mark', 'a map')")
	readsplit.MarkWrite(ctx) // after the commit

	var n int64
	db.WithContext(ctx).Model(&Order{}).Where("customer = ?", "mark").Count(&n)
	fmt.Println(n, err)
	// Output: 1 <nil>
}
