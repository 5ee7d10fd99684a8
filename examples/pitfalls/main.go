// Command pitfalls shows what goes wrong when reads are split in the ways that suggest
// themselves, on a real PostgreSQL primary with two replicas (and on a TDS protocol
// double, for SQL Server), and what readsplit does instead.
//
//	go run .                      # all of them, some seconds
//	go run . -only hidden_write   # one of them: the name of its file
//
// Each pitfall is a file: what is done, who is asked, and the counts that come of it.
// The counts are the same on any machine, and pitfalls_test.go says what they are.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/testenv"
)

// patience is how long all of it may take on a busy machine.
const patience = 5 * time.Minute

func main() {
	version := flag.String("pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	only := flag.String("only", "", "show the pitfall of this `name` alone")
	page := flag.String("page", "", "also write what was seen into the `page`, between its marks")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *version, *only, *page); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newCluster starts the servers that all pitfalls share.
func newCluster(ctx context.Context, version string) (*testenv.Cluster, error) {
	return stage.NewCluster(ctx, version)
}

func run(ctx context.Context, version, only, page string) (err error) {
	if only != "" && !slices.ContainsFunc(pitfalls, func(p pitfall) bool { return p.name == only }) {
		return fmt.Errorf("pitfalls: -only %s is none of them: it is the name of a file here, without .go", only)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := newCluster(ctx, version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	var sections []string
	for _, p := range pitfalls {
		if only != "" && only != p.name {
			continue
		}
		seen, err := p.run(ctx, cluster)
		if err != nil {
			return err
		}
		p.print(os.Stdout, seen)
		sections = append(sections, p.section(seen))
	}
	if page == "" || only != "" {
		return nil
	}
	return chart.Write(page, "pitfalls", strings.Join(sections, "\n"), nil)
}
