package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// pitfall is one way of splitting reads that goes wrong, and what shows it.
type pitfall struct {
	name    string // of its file, without .go
	title   string
	done    string // what is done to the servers and the application
	instead string // what readsplit does, and what remains for the application
	show    func(ctx context.Context, s *stage) ([]finding, error)
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
