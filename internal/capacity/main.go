// Command capacity measures how much processor time a statement costs a primary and each
// of its replicas, computes from it what replicas add, and writes the tables of
// docs/capacity.md. It reads /proc, and so runs on Linux alone.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/readsplit/readsplit/internal/chart"
)

func main() {
	var o options
	flag.IntVar(&o.statements, "statements", 40_000, "how often each statement is run, in four rounds")
	flag.IntVar(&o.clients, "clients", 4, "how many clients run them")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.StringVar(&o.page, "page", "", "write the tables into this page, between its marks")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "capacity:", err)
		os.Exit(1)
	}
}

type options struct {
	statements, clients int
	version, page       string
}
