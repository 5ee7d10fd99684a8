package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/readsplit/readsplit/testenv"
)

// tick is the unit of times in /proc, USER_HZ: 100 on every Linux that Go knows.
const tick = 10 * time.Millisecond

// postmaster is the process that all processes of a server are children of.
func postmaster(ctx context.Context, s *testenv.Server) (pid int, err error) {
	var backend int
	if err := s.DB().QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0, err
	}
	fields, err := stat(backend)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(fields[1])
}

// spent is the processor time of a server since its start, of processes that have ended
// too.
func spent(postmaster int) (time.Duration, error) {
	own, err := stat(postmaster)
	if err != nil {
		return 0, err
	}
	total := ticks(own, 11, 12, 13, 14)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	for _, path := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		fields, err := stat(pid)
		if err != nil {
			continue // it has ended meanwhile
		}
		if fields[1] == strconv.Itoa(postmaster) {
			total += ticks(fields, 11, 12)
		}
	}
	return total, nil
}

// stat is /proc/PID/stat from the state on: what comes before is a name, in which
// anything may stand.
func stat(pid int) ([]string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return nil, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	return fields, nil
}

func ticks(fields []string, at ...int) (d time.Duration) {
	for _, i := range at {
		n, _ := strconv.ParseInt(fields[i], 10, 64)
		d += time.Duration(n) * tick
	}
	return d
}
