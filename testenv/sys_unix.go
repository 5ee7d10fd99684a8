//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
)

const (
	sigFastStop = syscall.SIGINT
	sigNow      = syscall.SIGQUIT
	sigReload   = syscall.SIGHUP
	sigKill     = syscall.SIGKILL
	sigStop     = syscall.SIGSTOP
	sigContinue = syscall.SIGCONT
)

// detach puts the program into a session of its own, as the account: Ctrl-C in a terminal goes
// to the whole foreground group, and would shut the servers down under a test that handles it.
func (a account) detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if a.drop {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
}

// signal sends sig to a process; one that is gone already is no error.
func signal(pid int, sig syscall.Signal) error {
	if pid <= 1 {
		return fmt.Errorf("refuse to send %s to process %d", sig, pid)
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %s to process %d: %w", sig, pid, err)
	}
	return nil
}

const supported = true
