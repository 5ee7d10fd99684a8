package testenv_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing"

	"github.com/readsplit/readsplit/testenv"
)

// A replica whose replay is paused receives what is written, and does not show it.
func ExampleNew() {
	ctx := context.Background()
	cluster, err := testenv.New(ctx, testenv.Config{Replicas: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close(ctx)

	primary, replica := cluster.Primary().DB(), cluster.Replica(0).DB()
	write := func(statement string) {
		if _, err := primary.ExecContext(ctx, statement); err != nil {
			log.Fatal(err)
		}
	}
	read := func() (n int) {
		if err := replica.QueryRowContext(ctx, "SELECT count(*) FROM orders").Scan(&n); err != nil {
			log.Fatal(err)
		}
		return n
	}

	write("CREATE TABLE orders (title text)")
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		log.Fatal(err)
	}
	undo, err := cluster.Replica(0).PauseReplay(ctx)
	if err != nil {
		log.Fatal(err)
	}
	write("INSERT INTO orders VALUES ('a book')")
	fmt.Println("paused:", read())

	if err := undo(); err != nil {
		log.Fatal(err)
	}
	if err := cluster.WaitCaughtUp(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("caught up:", read())
	// Output:
	// paused: 0
	// caught up: 1
}

// In a test: it ends with the test, and its logs are kept where that failed.
func ExampleStart() {
	var t *testing.T // of the test function
	_ = func() {
		cluster := testenv.Start(t,
			testenv.Replicas(3),
			testenv.Version("15"), // else $READSPLIT_PG, else the newest that is found
			testenv.Setting("work_mem", "8MB"),
			testenv.LogTo(os.Stderr),
		)
		_ = cluster.Replica(2).DSN()
	}
}
