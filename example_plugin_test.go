package readsplit_test

import (
	"context"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
)

// Where a read was served, and why; the reason is one of a closed list.
func ExampleDecisionOf() {
	db, _, done := exampleDB(readsplit.Config{}) // gorm.Open and db.Use(readsplit.New(config))
	defer done()

	var orders []Order
	tx := db.Where("customer = ?", "dora").Find(&orders)
	if d, ok := readsplit.DecisionOf(tx); ok {
		fmt.Println(d.Server, d.Replica, d.Attempts)
	}

	tx = db.Raw("SELECT id FROM orders WHERE customer = 'dora' FOR UPDATE").Scan(&orders)
	d, _ := readsplit.DecisionOf(tx)
	fmt.Println(d)
	fmt.Println(d.Reason.Sentence())
	// Output:
	// pg2 true 1
	// primary, locking_read
	// The statement takes locks, which only the primary can give.
}

// Where statements would go, without running them: for a person, or in a test.
func ExampleExplain() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	report, err := readsplit.Explain(context.Background(), db, func(tx *gorm.DB) *gorm.DB {
		tx.Where("customer = ?", "eve").Find(&[]Order{})
		return tx.Where("customer = ?", "eve").Delete(&Order{})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range report.Statements { // fmt.Print(report) has every rule
		fmt.Println(s.Verb, s.Class, s.Servers)
	}
	// Output:
	// select read [pg2]
	// delete write [primary]
}

// The *sql.Tx of a transaction, for a library that wants one.
func ExampleSQLTx() {
	db, _, done := exampleDB(readsplit.Config{})
	defer done()

	err := db.Transaction(func(tx *gorm.DB) error {
		sqlTx, ok := readsplit.SQLTx(tx)
		if !ok {
			return gorm.ErrInvalidTransaction
		}
		_, err := sqlTx.Exec("INSERT INTO orders (customer, title) VALUES ('sam', 'a saw')")
		return err
	})
	var n int64
	db.Model(&Order{}).Where("customer = ?", "sam").Count(&n)
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// What the plugin knows and has done, for a page, a metric or a test. It asks no server.
func ExamplePlugin_Status() {
	db, plugin, done := exampleDB(readsplit.Config{})
	defer done()

	db.Find(&[]Order{})
	status := plugin.Status()
	for _, r := range status.Replicas {
		fmt.Println(r.Name, r.Role, r.Up, r.Reads)
	}
	fmt.Println(status.ReplicaReads, status.PrimaryReads)
	// Output:
	// pg2 standby true 1
	// 1 0
}

// The kill switch: all reads on the primary, at once, while the application runs.
func ExamplePlugin_SetTraffic() {
	db, plugin, done := exampleDB(readsplit.Config{})
	defer done()

	if err := plugin.SetTraffic(policy.Traffic{KillSwitch: true}); err != nil {
		fmt.Println(err)
		return
	}
	d, _ := readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)

	if err := plugin.SetTraffic(policy.Traffic{Percent: 100}); err != nil {
		fmt.Println(err)
		return
	}
	d, _ = readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Server)
	// Output:
	// primary kill_switch
	// pg2
}

// A replica out of service, for a restart: Drain returns when nothing runs there any
// more.
func ExamplePlugin_Drain() {
	db, plugin, done := exampleDB(readsplit.Config{})
	defer done()

	if err := plugin.Drain(context.Background(), "pg2"); err != nil {
		fmt.Println(err)
		return
	}
	d, _ := readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)

	if err := plugin.Resume("pg2"); err != nil {
		fmt.Println(err)
		return
	}
	d, _ = readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Server)
	// Output:
	// primary drained
	// pg2
}

// A replica that is added and removed while the application runs. Discovery does the
// same by itself, see Config.Discover.
func ExamplePlugin_AddReplica() {
	_, replicaDSN := exampleServers()
	db, plugin, done := exampleDB(readsplit.Config{Replicas: []readsplit.Replica{}})
	defer done()

	err := plugin.AddReplica("", readsplit.Replica{Name: "pg3", Dialector: postgres.Open(replicaDSN)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := readsplit.AnyReplica(context.Background())
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server)

	if err := plugin.RemoveReplica(ctx, "pg3"); err != nil {
		fmt.Println(err)
		return
	}
	d, _ = readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)
	// Output:
	// pg3
	// primary no_replicas
}
