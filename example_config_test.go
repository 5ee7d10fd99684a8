package readsplit_test

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/discover"
	"github.com/readsplit/readsplit/groups"
	"github.com/readsplit/readsplit/overload"
	"github.com/readsplit/readsplit/policy"
)

// Some tables have replicas of their own.
func ExampleConfig_resolvers() {
	_, replicaDSN := exampleServers()
	db, _, done := exampleDB(readsplit.Config{ // gorm.Open and db.Use(readsplit.New(config))
		Resolvers: []readsplit.Resolver{{
			Tables:   []any{&Order{}}, // or "orders"
			Replicas: []readsplit.Replica{{Name: "orders-replica", Dialector: postgres.Open(replicaDSN)}},
		}},
	})
	defer done()

	d, _ := readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Resolver, d.Server)
	// Output: orders orders-replica
}

// Row-level security: the tenant of a context is set on whichever connection its
// statements run.
func ExampleConfig_settings() {
	type tenantKey struct{}
	db, _, done := exampleDB(readsplit.Config{
		Settings: func(ctx context.Context) (map[string]string, error) {
			tenant, ok := ctx.Value(tenantKey{}).(string)
			if !ok {
				return nil, nil
			}
			return map[string]string{"app.tenant": tenant}, nil
		},
	})
	defer done()

	ctx := context.WithValue(context.Background(), tenantKey{}, "acme")
	var tenant string
	tx := db.WithContext(ctx).Raw("SELECT current_setting('app.tenant')").Scan(&tenant)
	d, _ := readsplit.DecisionOf(tx)
	fmt.Println(tenant, d.Server)
	// Output: acme pg2
}

// A rule of the application's own beside those that always hold: who has written reads
// the rest of its request on the primary.
func ExampleConfig_policies() {
	db, _, done := exampleDB(readsplit.Config{Policies: []policy.Policy{policy.RestOfRequest()}})
	defer done()

	ctx := readsplit.WithSession(context.Background(), readsplit.NewSession()) // a request begins
	db.WithContext(ctx).Create(&Order{Customer: "pia", Title: "a pan"})
	d, _ := readsplit.DecisionOf(db.WithContext(ctx).Find(&[]Order{}))
	fmt.Println(d.Server, d.Reason)
	// Output: primary rest_of_request
}

// Reports by the name of their table; without a replica of the group they fail instead
// of falling on the primary.
func ExampleConfig_groups() {
	db, plugin, done := exampleDB(readsplit.Config{
		Replicas: []readsplit.Replica{{Name: "pg2"}, {Name: "pg3", Groups: []string{"reporting"}, Reserved: true}},
		Groups:   []groups.Group{{Name: "reporting", Tables: []any{&Order{}}, Otherwise: groups.Refuse}},
	})
	defer done()

	d, _ := readsplit.DecisionOf(db.Find(&[]Order{}))
	fmt.Println(d.Server)

	if err := plugin.Drain(context.Background(), "pg3"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(errors.Is(db.Find(&[]Order{}).Error, groups.ErrRefused))
	// Output:
	// pg3
	// true
}

// When all replicas are out of service, one read at a time may take their place on the
// primary, and the others fail at once.
func ExampleConfig_primaryBudget() {
	db, plugin, done := exampleDB(readsplit.Config{
		PrimaryBudget: overload.Budget{Reads: 1, Beyond: overload.Fail},
	})
	defer done()
	if err := plugin.Drain(context.Background(), "pg2"); err != nil {
		fmt.Println(err)
		return
	}

	rows, err := db.Model(&Order{}).Rows() // has the only place until it is closed
	if err != nil {
		fmt.Println(err)
		return
	}
	err = db.Find(&[]Order{}).Error
	fmt.Println(errors.Is(err, overload.ErrPrimaryBusy))

	_ = rows.Close()
	fmt.Println(db.Find(&[]Order{}).Error)
	// Output:
	// true
	// <nil>
}

// Replicas that are found while the application runs: here the hosts of a DSN; DNS, SRV
// records, pg_stat_replication and functions are others.
func ExampleConfig_discover() {
	_, replicaDSN := exampleServers()
	_, plugin, done := exampleDB(readsplit.Config{
		Replicas: []readsplit.Replica{},
		Discover: discover.Config{Source: discover.Hosts(replicaDSN)},
		Discovered: readsplit.Replica{ // what those that are found are like
			Dialector: postgres.Open(replicaDSN),
			Zone:      "eu-1a",
		},
	})
	defer done()

	for _, r := range plugin.Status().Replicas {
		fmt.Println(r.Discovered, r.Role)
	}
	// Output: true standby
}
