package testenv

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// process is one row of the system's process table.
type process struct {
	pid, parent int
	name        string // of its program, at most 15 letters; empty where it is unknown
	state       byte   // as ps prints it: R, S, D, T (stopped), Z (dead, not yet reaped)
}

func (p process) dead() bool    { return p.state == 'Z' || p.state == 'X' }
func (p process) stopped() bool { return p.state == 'T' || p.state == 't' }

// family lists the living processes of a server, the postmaster first: it and all its
// descendants, and whoever else works in its data folder. Children of PostgreSQL lead sessions of
// their own, so no process group holds them; the folder finds those whose postmaster has died.
// Postmaster is 0 when it has ended.
func family(postmaster int, dataDir string) ([]process, error) {
	if dir := workingDir(postmaster); postmaster == 1 || dir != "" && dir != dataDir {
		postmaster = 0 // it ended just now, and its number belongs to somebody else
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	var members []process
	seen := map[int]bool{}
	add := func(p process) {
		if !seen[p.pid] && !p.dead() {
			seen[p.pid] = true
			members = append(members, p)
		}
	}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
		if p.pid == postmaster {
			add(p)
		}
	}
	if postmaster != 0 { // process 0 is the parent of the system itself
		for queue := []int{postmaster}; len(queue) > 0; queue = queue[1:] {
			for _, p := range children[queue[0]] {
				add(p)
				queue = append(queue, p.pid)
			}
		}
	}
	for _, p := range all {
		if !seen[p.pid] && p.name == "postgres" && workingDir(p.pid) == dataDir {
			add(p)
		}
	}
	return members, nil
}

// signalUntil sends sig to every process of the family for which reached is false, again and
// again, until it is true for all: a process may fork between the listing and the signal.
func signalUntil(ctx context.Context, postmaster int, dataDir string, sig syscall.Signal, reached func(process) bool) error {
	return poll(ctx, 4*time.Millisecond, func() (bool, string, error) {
		members, err := family(postmaster, dataDir)
		if err != nil {
			return false, "", err
		}
		all := true
		for _, p := range members {
			if reached(p) {
				continue
			}
			all = false
			if err := signal(p.pid, sig); err != nil {
				return false, "", err
			}
		}
		return all, "waiting for its processes to take " + sig.String(), nil
	})
}

// removeSharedMemory removes the System V segment by which a postmaster claims its data folder:
// SIGKILL leaves it behind, and the system has room for a few thousand only. It runs as the
// segment's owner, since root of a container may not touch it. That ipcrm finds no such segment
// is what we want.
func removeSharedMemory(a account, id string) error {
	var refused *exec.ExitError
	if err := a.command("/", "ipcrm", "-m", id).Run(); err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("remove shared memory segment %s: %w", id, err)
	}
	return nil
}
