// Command quickstart is the least that a program needs to write to a primary and to read
// from a replica. Without DSNs it starts both servers for itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/testenv"
)

func main() {
	if err := run(context.Background(), os.Getenv("PRIMARY"), os.Getenv("REPLICA"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, primary, replica string, out io.Writer) (err error) {
	pause := func() error { return nil } // a server that is not ours stays as it is
	if primary == "" || replica == "" {
		fmt.Fprintln(out, "starting a primary and a replica (PRIMARY and REPLICA are not set)")
		cluster, err := testenv.New(ctx, testenv.Config{Replicas: 1})
		if err != nil {
			return err
		}
		defer func() { _ = cluster.Close(context.Background()) }()
		primary, replica = cluster.Primary().DSN(), cluster.Replica(0).DSN()
		pause = func() error {
			_, err := cluster.Replica(0).PauseReplay(ctx)
			return err
		}
	}
	db, plugin, err := Open(primary, replica)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plugin.Close(context.Background()), closePool(db)) }()
	if err := db.AutoMigrate(&Note{}); err != nil {
		return err
	}
	for _, text := range []string{"milk", "bread", "tea"} {
		if text == "tea" {
			if err := pause(); err != nil {
				return err
			}
			fmt.Fprintln(out, "the replica stops replaying, if it is one that was started here")
		}
		notes, by, err := Remember(ctx, db, text)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "wrote %q, read %d from the %s (%s)\n", text, len(notes), by.Server, by.Reason)
		if notes[len(notes)-1].Text != text {
			return fmt.Errorf("%q is missing", text)
		}
	}
	return nil
}

func closePool(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
