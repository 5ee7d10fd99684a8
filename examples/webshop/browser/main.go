// Command browser goes shopping in the tea shop with a real browser: it signs in, puts
// a tea into the cart, orders it, and looks whether the order is among its orders at
// once. The replicas are five seconds behind. It does so with readsplit, where all has
// to be there, and with GORM's own dbresolver, where it is not, and keeps pictures of
// both.
//
//	go run ./browser -pictures ../../docs/webshop
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

	"github.com/readsplit/readsplit/examples/webshop/app"
	"github.com/readsplit/readsplit/examples/webshop/stage"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == stage.Serve {
		os.Exit(serve())
	}
	version := flag.String("pg", "", "major `version` of PostgreSQL (default $READSPLIT_PG, else the newest found)")
	pictures := flag.String("pictures", "", "`folder` for the pictures; none are kept without")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := false
	for _, plugin := range []string{"readsplit", "dbresolver"} {
		if err := shopping(ctx, plugin, *version, *pictures, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "browser: %s: %v\n", plugin, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// serve is one process of the application.
func serve() int {
	signal.Ignore(os.Interrupt) // whoever started this process ends it
	cfg, err := app.FromEnvironment()
	if err == nil {
		err = app.Serve(stage.Life(os.Stdin), cfg, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// limit is how long one shopping may take.
const limit = 2 * time.Minute

// shopping puts the shop up with a plugin, and goes there.
func shopping(ctx context.Context, plugin, version, pictures string, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s, err := stage.Start(ctx, stage.Options{Version: version, Plugin: plugin, Errors: os.Stderr})
	if err != nil {
		return err
	}
	defer func() {
		_, closed := s.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, closed)
	}()
	seen := make(map[string]bool)
	look := func(s sight) error {
		seen[s.name] = s.there
		found := "there"
		if !s.there {
			found = "MISSING"
		}
		fmt.Fprintf(out, "browser: plugin=%s %s=%s\n", plugin, s.name, found)
		if pictures == "" {
			return nil
		}
		return os.WriteFile(filepath.Join(pictures, plugin+"-"+s.name+".png"), s.picture, 0o644)
	}
	behind := func(ctx context.Context) error { return stage.NewWeather(s.Cluster, 1).Stay(ctx, 5*time.Second) }
	if err := visit(ctx, s.URL, behind, look); err != nil {
		return err
	}
	wanted := plugin == "readsplit"
	for _, name := range []string{"cart", "orders"} {
		if seen[name] != wanted {
			return fmt.Errorf("what was written a moment ago is on the page %s: %t, and should be %t", name, seen[name], wanted)
		}
	}
	return nil
}
