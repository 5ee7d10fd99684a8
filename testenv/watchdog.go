package testenv

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

//go:embed watchdog.sh
var watchdogScript string

//go:embed sweeper.sh
var sweeperScript string

// watchdog is two shells that outlive this process if they must. Each reads from a pipe that this
// process can write to, and when that ends without a word the first, which runs as the servers'
// account, ends the servers, and then the second, which runs as we do, removes their folder: the
// account may not in every folder, and not before it owns it.
//
// The pipes are closed on exec, so no server keeps them open, and the kernel closes our ends
// however we die.
type watchdog struct{ killer, sweeper guard }

// guard is one of the shells, and our end of its pipe.
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// startWatchdog starts both before the folder root exists, so that no moment is unguarded.
func startWatchdog(a account, root string) (*watchdog, error) {
	own := account{uid: os.Geteuid(), gid: os.Getegid()}
	sweeper, err := startGuard(own, sweeperScript, root)
	if err != nil {
		return nil, err
	}
	killer, err := startGuard(a, watchdogScript, root, sweeper.pipe)
	if err != nil {
		return nil, errors.Join(err, sweeper.end(true))
	}
	return &watchdog{killer: killer, sweeper: sweeper}, nil
}

func startGuard(a account, script, root string, inherited ...*os.File) (guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return guard{}, fmt.Errorf("start the watchdog: %w", err)
	}
	defer r.Close()
	cmd := a.command("/", "/bin/sh", "-c", script, "readsplit-testenv-watchdog", root)
	cmd.Stdin = r // stdout and stderr are /dev/null: go test would wait for whoever holds its own
	cmd.ExtraFiles = inherited
	if err := cmd.Start(); err != nil {
		return guard{}, fmt.Errorf("start the watchdog: %w", errors.Join(err, w.Close()))
	}
	return guard{cmd: cmd, pipe: w}, nil
}

// end dismisses the shells, or lets them clean up first, and waits for them.
func (w *watchdog) end(clean bool) error {
	return errors.Join(w.killer.end(clean), w.sweeper.end(clean))
}

func (g guard) end(clean bool) error {
	var errs []error
	if clean {
		_, err := g.pipe.WriteString("done\n")
		errs = append(errs, err)
	}
	errs = append(errs, g.pipe.Close(), g.cmd.Wait())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("dismiss the watchdog: %w", err)
	}
	return nil
}
