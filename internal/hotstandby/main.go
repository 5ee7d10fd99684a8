// Command hotstandby measures what a report on a replica costs while the primary changes
// and vacuums what it reads: the report, the replica's lag, or the primary's dead rows. It
// writes the table and the plot of docs/conflicts.md.
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
	flag.DurationVar(&o.length, "report", 15*time.Second, "how long the report takes where nobody disturbs it")
	flag.DurationVar(&o.patience, "delay", 3*time.Second, "max_standby_streaming_delay, where a form does not say -1")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.StringVar(&o.page, "page", "", "write the table into this page, between its marks, and the plot beside it")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "hotstandby:", err)
		os.Exit(1)
	}
}

type options struct {
	length, patience time.Duration
	version, page    string
}

// When the primary changes and vacuums the table, in fifteenths of the report: soon, and
// when a report that had to begin again is under way again.
const first, second, whole = 1, 12, 15

func run(ctx context.Context, o options) error {
	l, err := newLab(ctx, o)
	if err != nil {
		return err
	}
	var results []*result
	for _, f := range forms(o) {
		r, err := l.measure(ctx, f)
		if err != nil {
			_ = l.close()
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Println(r)
		results = append(results, r)
	}
	if err := l.close(); err != nil {
		return err
	}
	fmt.Printf("\n%s", table(results))
	if o.page == "" {
		return nil
	}
	fmt.Println("\nwritten:", o.page)
	return chart.Write(o.page, "conflicts", table(results), plot(results[:3])) // the others are as the third and the second
}
