package orderlab

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Command runs a lab until it ends or is interrupted; a second interrupt ends it at once.
// It returns the exit status: 0 when all is as it has to be, 1 when something is not, and
// 2 when the arguments are wrong, which whoever parsed them has said.
func Command(parsed error, run func(ctx context.Context) error) (status int) {
	switch {
	case errors.Is(parsed, flag.ErrHelp):
		return 0
	case parsed != nil:
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
