package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/readsplit/readsplit/bench/budget"
)

func run(ctx context.Context, w io.Writer, args []string) (err error) {
	s, err := start(ctx, "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	flags := flag.NewFlagSet("x", flag.ExitOnError)
	_, err = budgets(ctx, w, s, budget.Defaults())
	fmt.Println(flags.NArg())
	return err
}
