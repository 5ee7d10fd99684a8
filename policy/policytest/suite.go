package policytest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"

	"github.com/readsplit/readsplit/policy"
)

const (
	rounds  = 1000 // random inputs per suite
	callers = 8    // goroutines that ask at once
	most    = 5    // problems that are reported before a suite gives up
)

// findings are the breaches of a contract that a suite has found. One broken
// implementation fails thousands of inputs; the first few are enough.
type findings struct {
	mu   sync.Mutex
	list []string
}

func (f *findings) add(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text := fmt.Sprintf(format, args...); len(f.list) < most {
		f.list = append(f.list, text)
	}
}

func (f *findings) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list) >= most
}

// caught runs ask and returns what it panicked with.
func caught(ask func()) (panicked any) {
	defer func() { panicked = recover() }()
	ask()
	return nil
}

func inputs(n int, seed uint64) []*Case {
	r := rand.New(rand.NewPCG(seed, 2))
	cases := make([]*Case, n)
	for i := range cases {
		cases[i] = Random(r)
	}
	return cases
}

func (f *findings) checkName(name func() string) {
	switch first, second := name(), name(); {
	case first == "" || strings.ContainsAny(first, " \t\n\""):
		f.add("Name() = %q: want a word without blanks, it is used in logs and traces", first)
	case first != second:
		f.add("Name() = %q, then %q: want always the same", first, second)
	}
}

func (f *findings) checkUnchanged(before, after *Case) {
	if !reflect.DeepEqual(before, after) {
		f.add("changed its arguments: %+v became %+v", before, after)
	}
}

// checkDecision decides c with everything that is being tested and compares the
// outcome with the oracle.
func (f *findings) checkDecision(d *policy.Decider, c *Case) policy.Decision {
	got := d.Decide(&c.Query, &c.Snapshot, c.Load, c.Now)
	if got.Target != policy.ToReplica {
		return got
	}
	switch {
	case got.Replica < 0 || got.Replica >= len(c.Snapshot.Replicas):
		f.add("a decision names replica %d of %d", got.Replica, len(c.Snapshot.Replicas))
	case got.Check != Checked(&c.Query, &c.Snapshot, got.Replica):
		f.add("a decision (%s) says %v of whether %s is to be asked on the connection: %+v", got.Reason, got.Check, c.Snapshot.Replicas[got.Replica].Name, c)
	case !MayServe(c.Limits, &c.Query, &c.Snapshot, got.Replica, c.Now):
		f.add("a decision (%s) names %s, which the core excludes: %+v", got.Reason, c.Snapshot.Replicas[got.Replica].Name, c)
	}
	return got
}

// together calls ask for every input from several goroutines at once, each in
// an order of its own.
func together(n int, ask func(i int)) {
	var all sync.WaitGroup
	for g := range callers {
		all.Go(func() {
			for _, i := range rand.New(rand.NewPCG(uint64(g), 3)).Perm(n) {
				ask(i)
			}
		})
	}
	all.Wait()
}
