// Command share measures how many reads replicas serve, on real servers: by how much the
// process writes, by how far replicas are behind, and by who must see the writes (the whole
// process, or each user their own). It writes the tables and the plots of docs/share.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
)

// options are what the flags say.
type options struct {
	version, page string
	length        time.Duration // of one cell
	reads         int           // a second, through the plugin; as many go past it
	users         int
	rates         []int           // writes a second
	delays        []time.Duration // of the stream to the replicas; 0: as it comes
}

func defaults() options {
	return options{
		length: 4 * time.Second, reads: 250, users: 1000,
		rates:  []int{1, 5, 20, 100, 500, 2000, 5000},
		delays: []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond},
	}
}

func main() {
	o := defaults()
	short := flag.Bool("short", false, "fewer rates and delays, and less of each: ten seconds")
	flag.StringVar(&o.version, "pg", "", "the PostgreSQL to use")
	flag.StringVar(&o.page, "page", "", "write the tables into this page, between its marks, and the plots beside it")
	flag.DurationVar(&o.length, "for", o.length, "how long each line of the tables is measured")
	flag.IntVar(&o.reads, "reads", o.reads, "reads a second through the plugin; as many are plain GORM's, in between")
	flag.IntVar(&o.users, "users", o.users, "users, each with a session where there are sessions")
	flag.Func("writes", "measure this many writes a second alone", o.oneRate)
	flag.Func("behind", "measure replicas that are this far behind alone", o.oneDelay)
	flag.Parse()
	if *short {
		o.shorten()
	}
	if o.page != "" && chart.Other(flag.CommandLine) {
		fmt.Printf("%s stays as it is: it says what the defaults measure\n\n", o.page)
		o.page = ""
	}
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "share:", err)
		os.Exit(1)
	}
}

func (o *options) shorten() {
	o.length = 500 * time.Millisecond
	o.rates, o.delays = []int{20, 500}, []time.Duration{0, 2 * time.Millisecond, 200 * time.Millisecond}
}

func (o *options) oneRate(text string) error {
	var n int
	if _, err := fmt.Sscan(text, &n); err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of writes a second, 1 or more", text)
	}
	o.rates = []int{n}
	return nil
}

func (o *options) oneDelay(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a delay, as 2ms; 0 is as it comes", text)
	}
	o.delays = []time.Duration{d}
	return nil
}
