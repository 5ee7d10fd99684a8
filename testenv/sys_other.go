//go:build !unix

package testenv

import (
	"errors"
	"os/exec"
	"syscall"
)

// Faults are signals, which only Unix has. The package compiles elsewhere so that a project whose
// tests import it still builds there; New says that it cannot run.
const supported = false

const (
	sigFastStop = syscall.SIGINT
	sigNow      = syscall.SIGQUIT
	sigReload   = syscall.SIGHUP
	sigKill     = syscall.SIGKILL
	sigStop     = syscall.Signal(0x13)
	sigContinue = syscall.Signal(0x12)
)

func (a account) detach(*exec.Cmd) {}

func signal(int, syscall.Signal) error { return errors.ErrUnsupported }

func processes() ([]process, error) { return nil, errors.ErrUnsupported }

func workingDir(int) string { return "" }
