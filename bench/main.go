// Command bench measures readsplit beside plain GORM and dbresolver, side by side.
//
//	go run . overhead   # over a driver that answers at once: what stands above it
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
	"github.com/readsplit/readsplit/testenv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	version := flags.String("pg", "", "major `version` of PostgreSQL")
	rounds := flags.Int("rounds", 20, "how many `rounds` of everything")
	batch := flags.Duration("batch", 20*time.Millisecond, "how long one of them takes for each form")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cluster, err := testenv.New(context.Background(), testenv.Config{Version: *version, Replicas: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.Background())) }()
	real, err := sql.Open("pgx", cluster.Primary().DSN())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, real.Close()) }()
	return overhead.Run(os.Stdout, nullpg.Recorded(real), overhead.Options{Rounds: *rounds, Batch: *batch})
}
