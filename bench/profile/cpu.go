package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/readsplit/readsplit/bench/side"
)

// CPU runs form for a while, leaves its profile in a directory, and tells the functions of
// readsplit in which it was, with those that they call, the most first.
func CPU(ctx context.Context, dir, name string, form side.Form, d time.Duration, top int) (string, error) {
	file := filepath.Join(dir, name+".cpu.pprof")
	if err := record(file, form, d); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-cum", "-nodecount=100000", file).Output()
	if err != nil {
		return "", fmt.Errorf("profile: go tool pprof: %w", err)
	}
	var b strings.Builder
	for _, line := range strings.Split(string(out), "\n") {
		m := row.FindStringSubmatch(line)
		if m == nil || strings.Contains(m[3], "readsplit/bench") {
			continue
		}
		fmt.Fprintf(&b, "%7s %7s  %s\n", m[1], m[2], short(m[3]))
		if top--; top == 0 {
			break
		}
	}
	return b.String(), nil
}

// row is flat, flat%, sum%, cum, cum% and the function.
var row = regexp.MustCompile(`^\s*\S+\s+(\S+%)\s+\S+%\s+\S+\s+(\S+%)\s+(github\.com/readsplit/\S.*)$`)

func record(file string, form side.Form, d time.Duration) (err error) {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	for end := side.Processor() + d; side.Processor() < end; {
		form.Op(1000)
	}
	return nil
}
