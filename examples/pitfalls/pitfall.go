package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/readsplit/readsplit/examples/pitfalls/stage"
	"github.com/readsplit/readsplit/testenv"
)

// pitfall is one way of splitting reads that goes wrong, and what shows it.
type pitfall struct {
	name    string // of its file, without .go
	title   string
	done    string // what is done to the servers and the application
	instead string // what readsplit does, and what remains for the application
	show    func(ctx context.Context, s *stage.Stage) ([]finding, error)
}

// finding is a number that servers or callers have told.
type finding struct {
	who  string // who routed: dbresolver, by hand, readsplit
	what string
	n    int
	of   int
}

// pitfalls are all of them, in the order in which applications meet them.
var pitfalls = []pitfall{alwaysReplica, everyQuery, databaseProblem, twoServers, hiddenWrite, lagSeconds, intent}

// run shows a pitfall in a database of its own, and leaves the servers as they were.
func (p pitfall) run(ctx context.Context, cluster *testenv.Cluster) (seen []finding, err error) {
	err = stage.Play(ctx, cluster, p.name, func(ctx context.Context, s *stage.Stage) (err error) {
		seen, err = p.show(ctx, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pitfalls: %s: %w", p.name, err)
	}
	return seen, nil
}

// print tells a person what was done, and what was seen.
func (p pitfall) print(w io.Writer, seen []finding) {
	fmt.Fprintf(w, "\n%s\n\n  %s\n\n", p.title, plain(p.done))
	for _, f := range seen {
		fmt.Fprintf(w, "  %-11s %-84s %4d of %d\n", f.who, plain(f.what), f.n, f.of)
	}
	fmt.Fprintf(w, "\n  %s\n", plain(p.instead))
}

// marks are what a page has in a sentence, and a terminal does not show.
var marks = regexp.MustCompile("`|\\[|\\]\\([^)]*\\)")

// plain takes the marks of a page off a sentence.
func plain(s string) string { return marks.ReplaceAllString(s, "") }

// section is the same for the page.
func (p pitfall) section(seen []finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s\n\n| | | |\n|---|---|--:|\n", p.title, p.done)
	for _, f := range seen {
		fmt.Fprintf(&b, "| %s | %s | **%d** of %d |\n", f.who, f.what, f.n, f.of)
	}
	fmt.Fprintf(&b, "\n%s [The code](../examples/pitfalls/%s.go).\n", p.instead, p.name)
	return b.String()
}
