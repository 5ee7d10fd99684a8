package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/readsplit/readsplit/verify/mutants"
)

// trialsOf is how often a mutant is tried, each time with another seed: whether a
// mistake comes to light depends on moments too.
const trialsOf = 4

// convict builds and runs every mutant, and returns the exit status.
func convict(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("verify mutants", flag.ContinueOnError)
	root := flags.String("root", ".", "the `folder` of the root module")
	only := flags.String("only", "", "the `names` of the mutants to try, with commas (default all)")
	seed := flags.Uint64("seed", 1, "the seed of the first trial")
	pg := flags.String("pg", "", "major `version` of PostgreSQL")
	length := flags.Duration("duration", 12*time.Second, "how long one trial is")
	control := flags.Bool("control", false, "run the code as it is with the arguments of each mutant: nothing may be found")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitFine
	} else if err != nil {
		return exitTroubled
	}
	t := &trials{root: *root, pg: *pg, seed: *seed, length: *length, out: out}
	injected, convicted, innocent := 0, 0, 0
	for i := range mutants.All {
		m := &mutants.All[i]
		if *only != "" && !strings.Contains(","+*only+",", ","+m.Name+",") {
			continue
		}
		if *control {
			m = &mutants.Mutant{Name: m.Name, Mistake: "none: the code as it is", Args: m.Args}
		}
		injected++
		found, err := t.try(ctx, m, *control)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return exitTroubled
		}
		if found {
			convicted++
		} else {
			innocent++
		}
	}
	if *control {
		fmt.Fprintf(out, "mutants: control=%d accused=%d\n", injected, convicted)
		return status(convicted == 0 && injected > 0)
	}
	fmt.Fprintf(out, "mutants: injected=%d convicted=%d\n", injected, convicted)
	return status(innocent == 0 && injected > 0)
}

func status(fine bool) int {
	if fine {
		return exitFine
	}
	return exitBroken
}

// trials tries mutants.
type trials struct {
	root, pg string
	seed     uint64
	length   time.Duration
	out      io.Writer
}

var broken = regexp.MustCompile(`\] ([a-z-]+) was broken (\d+) times`)

// try reports whether a mutant was convicted. The first seed that does so ends it.
func (t *trials) try(ctx context.Context, m *mutants.Mutant, once bool) (found bool, err error) {
	dir, err := os.MkdirTemp("", "verify-mutant-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	overlay, err := m.Overlay(t.root, dir)
	if err != nil {
		return false, err
	}
	binary := filepath.Join(dir, "verify")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-overlay", overlay, "-o", binary, "./verify")
	build.Dir = t.root
	if text, err := build.CombinedOutput(); err != nil {
		return false, fmt.Errorf("verify: build mutant %s: %w\n%s", m.Name, err, text)
	}
	for n := range uint64(trialsOf) {
		args := append([]string{"-only", "replicas"}, strings.Fields(m.Args)...)
		args = append(args, "-duration", t.length.String(), "-episode", t.length.String(), "-seed", fmt.Sprint(t.seed+n), "-page", "", "-pause", "2ms")
		if t.pg != "" {
			args = append(args, "-pg", t.pg)
		}
		var text bytes.Buffer
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &text, &text
		err := cmd.Run()
		switch code := cmd.ProcessState.ExitCode(); {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case code == exitBroken:
			var rules []string
			for _, r := range broken.FindAllStringSubmatch(text.String(), -1) {
				rules = append(rules, r[1]+" x"+r[2])
			}
			fmt.Fprintf(t.out, "%-38s convicted by %s (seed %d): %s\n", m.Name, strings.Join(rules, ", "), t.seed+n, m.Mistake)
			return true, nil
		case code != exitFine && code != exitNothing:
			return false, fmt.Errorf("verify: mutant %s: %w\n%s", m.Name, err, text.String())
		}
		if once {
			break
		}
	}
	fmt.Fprintf(t.out, "%-38s NOT convicted: %s\n", m.Name, m.Mistake)
	return false, nil
}
