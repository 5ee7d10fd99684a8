package testenv

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
)

//go:embed watchdog.sh
var watchdogScript string

// watchdog is a shell that outlives this process if it must: it reads from a pipe that only this
// process can write to, and when that ends without a word it cleans up (watchdog.sh). The pipe is
// closed on exec, so no server keeps it open, and the kernel closes our end however we die.
type watchdog struct {
	cmd  *exec.Cmd
	pipe *os.File
}

func startWatchdog(a account, root string) (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("readsplit: testenv: start the watchdog: %w", err)
	}
	defer r.Close()
	cmd := a.command("/", "/bin/sh", "-c", watchdogScript, "readsplit-testenv-watchdog", root)
	cmd.Stdin = r // stdout and stderr are /dev/null: go test would wait for whoever holds its own
	if err := cmd.Start(); err != nil {
		_ = w.Close() // the start's error says what is wrong
		return nil, fmt.Errorf("readsplit: testenv: start the watchdog: %w", err)
	}
	return &watchdog{cmd: cmd, pipe: w}, nil
}

// end dismisses the watchdog, or lets it clean up first, and waits for it.
func (w *watchdog) end(clean bool) error {
	if clean {
		if _, err := w.pipe.WriteString("done\n"); err != nil {
			return fmt.Errorf("readsplit: testenv: dismiss the watchdog: %w", err)
		}
	}
	if err := w.pipe.Close(); err != nil {
		return fmt.Errorf("readsplit: testenv: dismiss the watchdog: %w", err)
	}
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("readsplit: testenv: the watchdog failed: %w", err)
	}
	return nil
}
