package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/testenv"
)

// desk is where a person breaks things, to see what becomes visible of it.
type desk struct {
	cluster *testenv.Cluster
	plugin  *readsplit.Plugin
	out     io.Writer
}

const usage = `
  pause replica1    replay stops: it falls behind (also: cut, kill, freeze)
  switch            every read on the primary, and back
  undo              everything is well again
`

// listen obeys lines until ctx ends. The goroutine that reads ends with its input or with
// the program: a read of a terminal cannot be broken off.
func (d *desk) listen(ctx context.Context, in io.Reader) {
	lines := make(chan string)
	go func() {
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-lines:
			if said, err := d.obey(ctx, strings.Fields(line)); err != nil {
				fmt.Fprintln(d.out, err)
			} else {
				fmt.Fprintln(d.out, said)
			}
		}
	}
}

// obey does what a line says, and returns what has become of it.
func (d *desk) obey(ctx context.Context, words []string) (said string, err error) {
	switch {
	case len(words) == 0:
		return "", nil
	case len(words) == 1 && words[0] == "undo":
		if err := d.cluster.UndoAll(); err != nil {
			return "", err
		}
		return "all is well again", d.plugin.SetTraffic(policy.Traffic{})
	case len(words) == 1 && words[0] == "switch":
		t := d.plugin.Status().Traffic
		t.KillSwitch = !t.KillSwitch
		return fmt.Sprint("kill switch: ", t.KillSwitch), d.plugin.SetTraffic(t)
	case len(words) == 2:
		s := d.cluster.Server(words[1])
		faults := map[string]func(context.Context) (testenv.Undo, error){}
		if s != nil {
			faults = map[string]func(context.Context) (testenv.Undo, error){"kill": s.Kill, "freeze": s.Freeze}
			if slices.Contains(d.cluster.Replicas(), s) {
				faults["pause"], faults["cut"] = s.PauseReplay, s.Cut
			}
		}
		if inject := faults[words[0]]; inject != nil {
			_, err := inject(ctx)
			return strings.Join(words, " ") + ": done", err
		}
	}
	return "", fmt.Errorf("observed: %q is nothing that can be done here; there are:%s", strings.Join(words, " "), usage)
}
