// Command readsplit examines a primary and its replicas from outside:
//
//	readsplit doctor -primary DSN -replica name=DSN ...
//	readsplit help
//	readsplit version
//
// Run it without installing it:
//
//	go run github.com/readsplit/readsplit/cmd/readsplit@latest doctor -h
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

const usage = `readsplit looks at a primary and its replicas from outside.

  readsplit doctor    examine them and a running application (doctor -h for more)
  readsplit version   the version of this program
  readsplit help      this text
`

// exitUsage is when nothing was done, as doctor.ExitNotExamined is.
const exitUsage = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program, for tests too.
func run(ctx context.Context, args, environ []string, out, errs io.Writer) int {
	if len(args) == 0 {
		fmt.Fprint(errs, usage)
		return exitUsage
	}
	switch args[0] {
	case "doctor":
		return runDoctor(ctx, args[1:], environ, out, errs)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(out, usage)
	case "version", "-version", "--version":
		fmt.Fprintln(out, "readsplit", version())
	default:
		fmt.Fprintf(errs, "readsplit: there is no command %q\n\n%s", args[0], usage)
		return exitUsage
	}
	return 0
}

func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
