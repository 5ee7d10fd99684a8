package readsplit_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit"
)

// Order is the table of the examples.
type Order struct {
	ID              int64
	Customer, Title string
}

// A program with a primary and a replica. The plugin is made, installed by db.Use, and
// closed; nothing else in it knows of replicas.
func Example() {
	primaryDSN, replicaDSN := exampleServers()

	db, err := gorm.Open(postgres.Open(primaryDSN), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	plugin := readsplit.New(readsplit.Config{Replicas: []readsplit.Replica{
		{Name: "pg2", Dialector: postgres.Open(replicaDSN)},
	}})
	if err := db.Use(plugin); err != nil {
		fmt.Println(err)
		return
	}
	defer plugin.Close(context.Background())

	db.Create(&Order{Customer: "carol", Title: "a book"})

	var orders []Order
	db.Where("customer = ?", "carol").Find(&orders) // on pg2 once that has it, else on the primary
	fmt.Println(len(orders), orders[0].Title)
	// Output: 1 a book
}

// db.Use reports every mistake of a Config at once, and asks no server before it is
// right.
func ExampleNew() {
	primaryDSN, replicaDSN := exampleServers()
	db, err := gorm.Open(postgres.Open(primaryDSN), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = db.Use(readsplit.New(readsplit.Config{
		MaxLag: -2 * time.Second, // what Off is for
		Replicas: []readsplit.Replica{
			{Name: "pg2", Dialector: postgres.Open(replicaDSN)},
			{Name: "pg2", Dialector: postgres.Open(replicaDSN)},
		},
	}))
	fmt.Println(err)
	// Output:
	// readsplit: Config.Replicas[1].Name is "pg2", as Config.Replicas[0].Name is: names must differ; rename one
	// readsplit: Config.MaxLag is -2s: it must be positive, or readsplit.Off
}

// Examples use one database of the shared cluster, with a table of orders. Each has
// customers of its own.
var examples struct {
	once             sync.Once
	primary, replica string
	err              error
}

// exampleServers are the DSNs of the primary and of a replica.
func exampleServers() (primary, replica string) {
	const database = "examples"
	ctx := context.Background()
	examples.once.Do(func() {
		c, err := calm.started()
		if err != nil {
			examples.err = err
			return
		}
		if examples.err = c.CreateDatabase(ctx, database); examples.err != nil {
			return
		}
		examples.primary, examples.replica = c.Primary().DSNFor(database), c.Replica(0).DSNFor(database)
		db, err := gorm.Open(postgres.Open(examples.primary), &gorm.Config{})
		if err != nil {
			examples.err = err
			return
		}
		examples.err = db.Exec("CREATE TABLE orders (id bigserial PRIMARY KEY, customer text NOT NULL, title text NOT NULL)").Error
		if pool, err := db.DB(); err == nil {
			_ = pool.Close()
		}
		if examples.err == nil {
			examples.err = c.WaitCaughtUp(ctx)
		}
	})
	if examples.err != nil {
		panic(examples.err)
	}
	return examples.primary, examples.replica
}

// exampleDB is gorm.Open, db.Use(readsplit.New(config)) with the replica pg2 where the
// configuration has none, and what ends both.
func exampleDB(config readsplit.Config) (db *gorm.DB, plugin *readsplit.Plugin, done func()) {
	primary, replica := exampleServers()
	if config.Replicas == nil {
		config.Replicas = []readsplit.Replica{{Name: "pg2"}}
	}
	for i := range config.Replicas {
		if config.Replicas[i].Dialector == nil {
			config.Replicas[i].Dialector = postgres.Open(replica)
		}
	}
	undisturbed(&config) // what is printed does not depend on how busy the machine is
	config.MaxWait = longNewsAge
	db, err := gorm.Open(postgres.Open(primary), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		panic(err)
	}
	plugin = readsplit.New(config)
	if err := db.Use(plugin); err != nil {
		panic(err)
	}
	awaitLag(plugin)
	return db, plugin, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := plugin.Close(ctx); err != nil {
			panic(err)
		}
		if pool, err := db.DB(); err == nil {
			_ = pool.Close()
		}
	}
}

// awaitLag waits until of every replica a bound on its lag is proven: what was written a
// moment before the plugin asked for the first time may not have arrived then.
func awaitLag(plugin *readsplit.Plugin) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-tick.C {
		known := true
		for _, s := range append(plugin.Status().Resolvers, plugin.Status()) {
			for _, r := range s.Replicas {
				known = known && r.Up && r.LagKnown
			}
		}
		if known {
			return
		}
	}
	panic("no bound on the lag of the replicas within 30 s")
}
