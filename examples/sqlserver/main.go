// Command sqlserver is a small shop over an availability group of SQL Server.
//
//	go run .                        # on a double that stands for SQL Server
//	go run . -primary 'sqlserver://app:..@ag-listener?database=shop' \
//	    -replica 'sql2=sqlserver://app:..@sql2?database=shop&ApplicationIntent=ReadOnly' \
//	    -replica 'sql3=sqlserver://app:..@sql3?database=shop&ApplicationIntent=ReadOnly'
//
// The environment names the servers, too, as for `readsplit doctor`: READSPLIT_PRIMARY is
// a DSN, and READSPLIT_REPLICAS has lines of name=DSN.
//
// Replicas are known in package database and in open below, sessions in one line of
// handler (web.go), which also says what the report and the stock ask for. Package shop
// is code as any application has it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/examples/sqlserver/database"
	"github.com/readsplit/readsplit/examples/sqlserver/shop"
	"github.com/readsplit/readsplit/status"
	"github.com/readsplit/readsplit/testenv/tdsenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	switch err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "sqlserver:", err)
		os.Exit(1)
	}
}

// run serves the shop until ctx ends.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) (err error) {
	var servers database.Servers
	flags := flag.NewFlagSet("sqlserver", flag.ContinueOnError)
	servers.Flags(flags)
	listen := flags.String("listen", "127.0.0.1:0", "`address` of the shop; port 0 is any free one")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is no argument: servers are named by -primary and -replica", flags.Arg(0))
	}
	if err := servers.Fill(ctx, getenv, tdsenv.Config{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, servers.Close(context.WithoutCancel(ctx))) }()
	_, _ = fmt.Fprintln(out, servers.Banner())

	db, plugin, err := open(ctx, &servers)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		err = errors.Join(err, plugin.Close(closing), database.ClosePool(db))
	}()
	page, err := status.New(plugin, status.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "The shop is open: http://%s/ says what there is. Ctrl-C ends.\n", listener.Addr())
	if servers.Double != nil {
		_, _ = fmt.Fprintln(out, servers.Export())
	}
	server := &http.Server{Handler: handler(shop.New(db), page), ReadHeaderTimeout: patience}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		return server.Shutdown(closing)
	case err := <-served:
		return err
	}
}

// patience bounds how long the end of something may take.
const patience = 10 * time.Second

// open opens the shop's database: the primary as without the plugin, and beside it the
// secondaries.
func open(ctx context.Context, servers *database.Servers) (*gorm.DB, *readsplit.Plugin, error) {
	db, err := database.Open(servers.Primary, &gorm.Config{})
	if err != nil {
		return nil, nil, err
	}
	if err := shop.Create(ctx, db, shop.Stock{Books: 10, Customers: 10}); err != nil {
		return nil, nil, errors.Join(err, database.ClosePool(db))
	}
	plugin := readsplit.New(servers.Config())
	if err := db.Use(plugin); err != nil {
		return nil, nil, errors.Join(err, database.ClosePool(db))
	}
	return db, plugin, nil
}
