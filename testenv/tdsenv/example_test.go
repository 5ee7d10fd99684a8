package tdsenv_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/readsplit/readsplit/testenv/tdsenv"
)

// A group of two, whose secondary takes over.
func ExampleNew() {
	ctx := context.Background()
	group, err := tdsenv.New(ctx, tdsenv.Config{Nodes: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer group.Close(ctx)

	fmt.Println("primary:", group.Primary())
	if err := group.Failover(ctx, group.Replica(0)); err != nil {
		log.Fatal(err)
	}
	fmt.Println("primary:", group.Primary())
	// Output:
	// primary: SQL1
	// primary: SQL2
}

// In a test: it ends with the test.
func ExampleStart() {
	var t *testing.T // of the test function
	_ = func() {
		group := tdsenv.Start(t, tdsenv.Config{Nodes: 2})
		_, _ = group.Primary().DSN(), group.Replica(0).ReadOnlyDSN()
	}
}
