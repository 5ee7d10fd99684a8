// Command scale measures what grows with the number of replicas, sessions and readers,
// and writes the tables and plots of docs/scale.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

type options struct {
	page, version string
	length        time.Duration
}

// part is one table of the page, with its plot.
type part struct {
	name string
	run  func(o options) (table string, c *chart.Chart, err error)
}

var parts = []part{{"decide", decide}, {"monitor", watching}, {"sessions", sessions}, {"readers", readers}, {"throughput", throughput}}

func main() {
	var o options
	only := flag.String("part", "", "decide, monitor, sessions, readers or throughput; all without it")
	flag.StringVar(&o.page, "page", "", "write the tables into this page, between its marks, and the plots beside it")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.DurationVar(&o.length, "for", 10*time.Second, "how long each number of monitor, readers and throughput is measured")
	flag.Parse()
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	known := slices.ContainsFunc(parts, func(p part) bool { return p.name == *only })
	if *only != "" && !known {
		fmt.Fprintln(os.Stderr, "scale: there is no part", *only)
		os.Exit(2)
	}
	for _, p := range parts {
		if *only != "" && p.name != *only {
			continue
		}
		if err := p.write(o); err != nil {
			fmt.Fprintf(os.Stderr, "scale: %s: %v\n", p.name, err)
			os.Exit(1)
		}
	}
}

func (p part) write(o options) error {
	table, c, err := p.run(o)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n%s\n", p.name, table)
	if o.page == "" {
		return nil
	}
	fmt.Println("written:", o.page)
	return chart.Write(o.page, p.name, table, c)
}

// rows makes a table of Markdown; all columns but the first are numbers.
func rows(head []string, lines [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("--:|", len(head)-1))
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(l, " | "))
	}
	return b.String()
}
