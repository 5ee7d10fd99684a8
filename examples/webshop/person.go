package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/readsplit/readsplit/examples/webshop/stage"
)

// open puts the shop up for a person, until ctx ends.
func open(ctx context.Context, o options, out, errOut io.Writer) (err error) {
	s, err := stage.Start(ctx, stage.Options{Version: o.version, Plugin: o.plugin, NoSessions: !o.sessions, Listen: o.listen, Errors: errOut})
	if err != nil {
		return err
	}
	defer func() {
		_, closed := s.Close(context.WithoutCancel(ctx))
		err = errors.Join(err, closed)
	}()
	state := "as close behind as they can be"
	if o.behind > 0 {
		if err := stage.NewWeather(s.Cluster, 1).Stay(ctx, o.behind); err != nil {
			return err
		}
		state = fmt.Sprintf("%v behind", o.behind)
	}
	fmt.Fprintf(out, "The tea shop is open: %s\n\n", s.URL)
	fmt.Fprintf(out, "PostgreSQL %s with two replicas, %s; two processes of the application, in turn; plugin %s.\n", s.Cluster.Version(), state, o.plugin)
	fmt.Fprintf(out, "The foot of each page says which process made it, and who answered its reads. Ctrl-C ends.\n")
	<-ctx.Done()
	return nil
}
