package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
	"github.com/readsplit/readsplit/verify/nemesis"
	"github.com/readsplit/readsplit/verify/page"
)

// Exit statuses.
const (
	exitFine     = 0
	exitBroken   = 1 // a promise was broken
	exitNothing  = 2 // the run proved nothing
	exitTroubled = 3 // the run itself failed
)

// run is all episodes of a run.
type run struct {
	options
	out   io.Writer
	began time.Time
	total check.Report
	found []page.Finding
}

func newRun(o options, out io.Writer) *run { return &run{options: o, out: out, began: time.Now()} }

func (r *run) print(format string, args ...any) {
	fmt.Fprintf(r.out, "[%5.1fs] "+format+"\n", append([]any{time.Since(r.began).Seconds()}, args...)...)
}

// shortestTakeover leaves time before it and after it.
const shortestTakeover = 6 * time.Second

// run returns the exit status.
func (r *run) run(ctx context.Context) int {
	left := r.duration
	kinds := r.kinds()
	if len(kinds) == 0 {
		fmt.Fprintln(os.Stderr, "verify: no episode has what was asked for: -only, -follow, -mass and -faults contradict each other")
		return exitTroubled
	}
	for n := 0; left >= 2*time.Second && ctx.Err() == nil; n++ {
		kind := kinds[n%len(kinds)]
		e := &episode{options: r.options, kind: kind, seed: r.seed + uint64(n)*1_000_003, length: min(r.episode, left), log: r.print}
		switch {
		case kind.mass: // as long as such a delete takes
			e.length = min(kind.most, left)
		case kind.most > 0:
			e.length = min(kind.most, max(r.episode, shortestTakeover), left)
		}
		if kind.takeover != nil && e.length < shortestTakeover {
			break
		}
		e.faults = nemesis.Names(kind.lanes...)
		if len(kind.lanes) == 0 {
			e.faults = nil
		}
		if len(r.faults) > 0 {
			e.faults = r.faults
		}
		left -= e.length
		h, err := e.run(ctx)
		if err != nil {
			fmt.Fprintf(os.Stderr, "verify: episode %d (%s): %v\n", n, kind.name, err)
			return exitTroubled
		}
		if err := r.keepIt(n, h); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitTroubled
		}
		t := check.Judge(h)
		r.print("episode %d %s: operations=%d faults=%d reads=%d on_replicas=%d own_on_replicas=%d held_on_replicas=%d went_backwards=%d excused=%d lost_as_allowed=%d said_unknown=%d overcautious=%d unknown=%d violations=%d",
			n, kind.name, t.Operations, t.Faults, t.Reads, t.OnReplica, t.OwnOnReplica, t.Monotonic, t.WentBackwards, t.Excused, t.LostExcused, t.SaidUnknown, t.Overcautious, t.Unknown, len(t.Violations))
		r.add(t, &h.Header)
	}
	return r.end()
}

func (r *run) add(report *check.Report, h *history.Header) {
	t := &r.total
	t.Operations += report.Operations
	t.Faults += report.Faults
	t.Unknown += report.Unknown
	t.OwnOnReplica += report.OwnOnReplica
	t.Violations = append(t.Violations, report.Violations...)
	for _, v := range report.Violations {
		r.found = append(r.found, page.Finding{Header: *h, Violation: v})
	}
}

// mostPrinted bounds how many timelines are printed: of a plugin that promises
// nothing there are thousands.
const mostPrinted = 3

// end prints what was found and returns the exit status.
func (r *run) end() int {
	byRule := map[check.Rule]int{}
	for _, f := range r.found {
		if byRule[f.Violation.Rule]++; byRule[f.Violation.Rule] <= mostPrinted {
			fmt.Fprintln(r.out)
			_ = page.Text(r.out, f)
		}
	}
	for rule, n := range byRule {
		r.print("%s was broken %d times", rule, n)
	}
	if len(r.found) > 0 && r.page != "" {
		if err := r.write(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		} else {
			r.print("timelines: %s", r.page)
		}
	}
	t := &r.total
	fmt.Fprintf(r.out, "verify: operations=%d faults=%d violations=%d unknown=%d seed=%d\n", t.Operations, t.Faults, len(t.Violations), t.Unknown, r.seed)
	switch {
	case len(t.Violations) > 0:
		return exitBroken
	case t.Faults == 0 || t.OwnOnReplica == 0:
		fmt.Fprintf(os.Stderr, "verify: nothing is proven: %d faults, %d reads of own writes on replicas\n", t.Faults, t.OwnOnReplica)
		return exitNothing
	}
	return exitFine
}

func (r *run) write() error {
	f, err := os.Create(r.page)
	if err != nil {
		return fmt.Errorf("verify: write the timelines: %w", err)
	}
	err = page.HTML(f, r.found)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

func (r *run) keepIt(n int, h *history.History) error {
	if r.keep == "" {
		return nil
	}
	if err := os.MkdirAll(r.keep, 0o755); err != nil {
		return fmt.Errorf("verify: keep the history: %w", err)
	}
	f, err := os.Create(filepath.Join(r.keep, fmt.Sprintf("%s-%d-%03d-%s.jsonl", r.plugin, r.seed, n, h.Header.Episode)))
	if err != nil {
		return fmt.Errorf("verify: keep the history: %w", err)
	}
	err = history.Save(f, h)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}
