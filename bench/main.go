// Command bench measures readsplit beside plain GORM and dbresolver, side by side.
//
//	bench                 # everything; with -page it writes docs/benchmarks.md
//	bench -part overhead  # over a driver that answers at once: what stands above a driver
//	bench -part parts     # policies, balancers, classification, tokens, sessions, each alone
//	bench -part profile   # where a statement allocates, and where it takes its time
//	bench -part load      # over a real primary and two replicas: throughput and latencies
//	bench -part budget    # what may be spent, against limits; exit status 1 if any is over
//	bench -part ratios -only First -for 15s   # one statement beside the others, for whoever works on it
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
)

var errOver = errors.New("bench: a budget is over")

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
