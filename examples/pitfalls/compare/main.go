// Command compare runs what applications do once over gorm.io/plugin/dbresolver and once
// over readsplit, on a real PostgreSQL primary with two replicas, and says what became of
// it: a line for each behaviour, and a table. It fails if readsplit does not do what it
// promises, and also if dbresolver does not show what the page says of it, since then the
// comparison proves nothing.
//
//	go run ./compare               # all of them, about a minute
//	go run ./compare -only preload # one of them: the name of its file
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/internal/chart"
)

// patience is how long all of it may take on a busy machine.
const patience = 10 * time.Minute

func main() {
	o := options{size: size{orders: 1000, reads: 200, idle: 5 * time.Second}}
	flag.StringVar(&o.version, "pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	flag.StringVar(&o.only, "only", "", "show the behaviour of this `name` alone")
	flag.DurationVar(&o.size.pause, "pause", 20*time.Second, "how long replay stands still for those who only read; at least 3 s")
	flag.StringVar(&o.page, "page", "", "also write what was seen into the `page`, between its marks")
	flag.StringVar(&o.readme, "readme", "", "also write the table into this `page`, between its marks")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page, o.readme = "", ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type options struct {
	version, only string
	size          size
	page, readme  string
}

// errNotOK is the end of a run in which something was not as the page says.
var errNotOK = errors.New("compare: not all is as it has to be, see above")

func run(ctx context.Context, o options, out io.Writer) (err error) {
	if o.only != "" && !slices.ContainsFunc(all(), func(b behaviour) bool { return b.name == o.only }) {
		return fmt.Errorf("compare: -only %s is none of them: it is the name of a file here, without .go", o.only)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cluster, err := stage.NewCluster(ctx, o.version)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Close(context.WithoutCancel(ctx))) }()
	seen, ok := map[string]pair{}, true
	for _, b := range all() {
		if o.only != "" && o.only != b.name {
			continue
		}
		p, err := b.run(ctx, cluster, o.size)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, b.line(p))
		seen[b.name] = p
		ok = ok && p.dbresolver.holds && p.readsplit.holds
	}
	fmt.Fprintf(out, "\n%s", table(append(slices.Clone(behaviours), fair...), seen))
	if !ok {
		return errNotOK
	}
	if o.page != "" {
		if err := chart.Write(o.page, "compared", page(cluster.Version(), seen), nil); err != nil {
			return err
		}
	}
	if o.readme != "" {
		return chart.Write(o.readme, "compared", table(behaviours, seen), nil)
	}
	return nil
}
