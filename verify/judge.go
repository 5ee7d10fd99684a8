package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
)

// rejudge judges kept histories again.
func rejudge(files []string, out io.Writer) int {
	if len(files) == 0 {
		fmt.Fprintln(os.Stderr, "verify: judge needs the files of histories, see -keep")
		return exitTroubled
	}
	r := newRun(options{page: "verify-violations.html"}, out)
	for _, name := range files {
		h, err := load(name)
		if errors.Is(err, history.ErrCut) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		} else if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			return exitTroubled
		}
		r.seed = h.Header.Seed
		r.add(check.Judge(h), &h.Header)
	}
	return r.end()
}

func load(name string) (*history.History, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return history.Load(f)
}
