// Command regions measures an application in a region far from its primary, on real
// servers behind relays that delay every byte, and writes the tables and the plot of
// docs/regions.md.
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
	flag.DurationVar(&o.away, "away", 50*time.Millisecond, "how long a byte takes between the regions, each way")
	flag.DurationVar(&o.behind, "behind", 300*time.Millisecond, "how far the replica of the region is behind")
	flag.DurationVar(&o.length, "for", 30*time.Second, "how long each form is measured")
	flag.IntVar(&o.users, "users", 24, "users who write and read")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.StringVar(&o.page, "page", "", "write the tables into this page, between its marks, and the plot beside it")
	flag.StringVar(&o.only, "only", "", "measure this form alone: readsplit, plain, \"a window of 5s\", \"a window of 200ms\"")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "regions:", err)
		os.Exit(1)
	}
}

type options struct {
	away, behind, length time.Duration
	users                int
	version, page, only  string
}
