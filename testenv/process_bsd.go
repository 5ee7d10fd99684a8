//go:build unix && !linux

package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// processes asks ps: macOS and the BSDs have no /proc.
func processes() ([]process, error) {
	out, err := exec.Command("ps", "-axo", "pid=,ppid=,stat=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 {
			continue
		}
		pid, err1 := strconv.Atoi(fields[0])
		parent, err2 := strconv.Atoi(fields[1])
		if err1 == nil && err2 == nil {
			all = append(all, process{pid: pid, parent: parent, state: fields[2][0]})
		}
	}
	return all, nil
}

// workingDir is unknown here; family then goes by descent alone.
func workingDir(int) string { return "" }
