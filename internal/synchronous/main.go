// Command synchronous measures what it costs to have PostgreSQL itself make replicas
// current (synchronous replication, remote_apply), beside asynchronous replication with
// readsplit, and writes the table of docs/synchronous-replication.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

func main() {
	var o options
	flag.IntVar(&o.writes, "writes", 300, "orders that are placed and looked for, one after the other")
	flag.IntVar(&o.held, "held", 10, "orders that are placed while replay of one replica is paused")
	flag.DurationVar(&o.patience, "patience", time.Second, "how long a commit is waited for then")
	flag.DurationVar(&o.network, "network", 2*time.Millisecond, "how much slower the network between the servers is in the second half")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.StringVar(&o.page, "page", "", "write the table into this page, between its marks")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "synchronous:", err)
		os.Exit(1)
	}
}

type options struct {
	writes, held      int
	patience, network time.Duration
	version, page     string
}
