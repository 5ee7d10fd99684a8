// Command page opens the status page of a running application in a real browser, while a
// replica is healthy, paused, cut off, killed, taken out of service by the page's own
// button and promoted. It looks at what the page says, in words, colours and plots, at
// the width of a desk and of a phone, in light and dark, with a keyboard, and as a
// screen reader does; that nothing but its own application is asked for anything; and
// keeps pictures.
//
//	go run ./page -pictures ../../docs/status
//
// It needs a Chromium or Chrome on the machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

func main() {
	version := flag.String("pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	pictures := flag.String("pictures", "", "`folder` for the pictures; none are kept without")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *version, *pictures, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "page: %v\n", err)
		os.Exit(1)
	}
}

// limit is how long all of it may take.
const limit = 5 * time.Minute

func run(ctx context.Context, version, pictures string, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c, err := testenv.New(ctx, testenv.Config{Version: version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	a, err := startApplication(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(context.WithoutCancel(ctx))) }()
	t, leave, err := openTab(ctx, a.url)
	if err != nil {
		return err
	}
	defer leave()
	d := &demonstration{
		cluster: c, tab: t,
		said: func(format string, args ...any) { fmt.Fprintf(out, "page: "+format+"\n", args...) },
		keep: func(name string, png []byte) error {
			if pictures == "" {
				return nil
			}
			return os.WriteFile(filepath.Join(pictures, name+".png"), png, 0o644)
		},
	}
	for _, s := range scenes {
		if err := s.run(ctx, d); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		d.said("%s: ok", s.name)
	}
	return t.complaints(a.url)
}
