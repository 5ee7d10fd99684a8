package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/readsplit/readsplit/bench/budget"
)

// budgets prints a line for each budget, and above it how it was measured.
func budgets(ctx context.Context, w io.Writer, s *servers, o budget.Options) (all []budget.Line, err error) {
	err = budget.Run(ctx, s.cluster, s.catalog, o, func(l budget.Line) {
		all = append(all, l)
		_, _ = fmt.Fprintf(w, "note: %s: %s\n%s\n", l.Name, l.Note, l)
	})
	if err != nil {
		return nil, err
	}
	var over []string
	for _, l := range all {
		if !l.OK() {
			over = append(over, l.Name)
		}
	}
	if over != nil {
		return all, fmt.Errorf("%w: %s", errOver, strings.Join(over, ", "))
	}
	return all, nil
}
