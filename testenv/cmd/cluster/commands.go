package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

const help = `pause NAME          replay stops; clients read an old state
delay NAME TIME     every commit is applied so much later, as in "delay replica1 2s"
cut NAME            no connection to its upstream; clients still reach it
lag NAME TIME       the network to its upstream is so much slower
follow NAME OTHER   it receives from another server than the primary
promote NAME        it becomes a primary of its own
freeze NAME         its processes stop where they are
stop NAME           it is shut down
kill NAME           all its processes die at once
crash NAME          one of its backends dies, and it starts over
undo                the newest of these ends
undo all            all of them end
status              what each server says
quit                close, as Ctrl-C does
`

// desk takes orders for a cluster, one line at a time.
type desk struct {
	cluster *testenv.Cluster
	out     io.Writer
	undos   []testenv.Undo
}

// obey carries out one line, prints what came of it, and says whether to quit.
func (d *desk) obey(ctx context.Context, line string) (quit bool) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "quit", "exit":
		return true
	case "help", "?":
		fmt.Fprint(d.out, help)
		return false
	case "status":
		d.status(ctx)
		return false
	}
	at := time.Now()
	var err error
	if words[0] == "undo" {
		err = d.undo(words[1:])
	} else {
		err = d.harm(ctx, words)
	}
	if err != nil {
		fmt.Fprintln(d.out, err)
		return false
	}
	fmt.Fprintf(d.out, "ok, %s\n", time.Since(at).Round(time.Millisecond))
	return false
}

func (d *desk) undo(words []string) error {
	if len(words) == 1 && words[0] == "all" {
		if err := d.cluster.UndoAll(); err != nil {
			return err
		}
		d.undos = nil
		return nil
	}
	if len(words) > 0 {
		return fmt.Errorf("readsplit: undo takes nothing or the word all, not %q", words[0])
	}
	if len(d.undos) == 0 {
		return fmt.Errorf("readsplit: there is nothing to undo")
	}
	last := len(d.undos) - 1
	if err := d.undos[last](); err != nil {
		return err // it stays the next to be undone
	}
	d.undos = d.undos[:last]
	return nil
}

func (d *desk) harm(ctx context.Context, words []string) error {
	fault, args := words[0], words[1:]
	plain := map[string]func(*testenv.Server, context.Context) (testenv.Undo, error){
		"pause": (*testenv.Server).PauseReplay, "cut": (*testenv.Server).Cut, "promote": (*testenv.Server).Promote,
		"freeze": (*testenv.Server).Freeze, "stop": (*testenv.Server).Stop, "kill": (*testenv.Server).Kill,
		"crash": (*testenv.Server).CrashBackend,
	}
	timed := map[string]func(*testenv.Server, context.Context, time.Duration) (testenv.Undo, error){
		"delay": (*testenv.Server).Delay, "lag": (*testenv.Server).LagNetwork,
	}
	want := 1
	if _, known := plain[fault]; !known {
		if _, known := timed[fault]; !known && fault != "follow" {
			return fmt.Errorf("readsplit: no such order: %q; type help", fault)
		}
		want = 2
	}
	if len(args) != want {
		return fmt.Errorf("readsplit: %s takes %d word(s) after it, and got %d; type help", fault, want, len(args))
	}
	server, err := d.server(args[0])
	if err != nil {
		return err
	}
	var undo testenv.Undo
	switch {
	case plain[fault] != nil:
		undo, err = plain[fault](server, ctx)
	case timed[fault] != nil:
		var amount time.Duration
		if amount, err = time.ParseDuration(args[1]); err == nil {
			undo, err = timed[fault](server, ctx, amount)
		}
	default:
		var upstream *testenv.Server
		if upstream, err = d.server(args[1]); err == nil {
			undo, err = server.Follow(ctx, upstream)
		}
	}
	if err != nil {
		return err
	}
	d.undos = append(d.undos, undo)
	return nil
}

func (d *desk) server(name string) (*testenv.Server, error) {
	if s := d.cluster.Server(name); s != nil {
		return s, nil
	}
	var names []string
	for _, s := range d.cluster.Servers() {
		names = append(names, s.Name())
	}
	return nil, fmt.Errorf("readsplit: no server is called %q; there are %s", name, strings.Join(names, ", "))
}

// status asks every server, and does not wait for one that cannot answer.
func (d *desk) status(ctx context.Context) {
	for _, s := range d.cluster.Servers() {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		var role, position string
		err := s.DB().QueryRowContext(attempt, `SELECT CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END,
			CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn()::text, '-') ELSE pg_current_wal_flush_lsn()::text END`).Scan(&role, &position)
		cancel()
		if err != nil {
			role, position = "no answer", "-"
		}
		fmt.Fprintf(d.out, "%-9s %-9s %-12s %s\n", s.Name(), role, position, strings.Join(s.Faults(), ", "))
	}
}
