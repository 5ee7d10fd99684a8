package testenv

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// envChild makes the test binary a program that starts a cluster in the folder it names, says
// what it has started, and waits to be killed.
const envChild = "READSPLIT_TESTENV_CHILD"

type childReport struct {
	Root string
	PIDs []int
	Shm  []string
}

func child(dir string) {
	fmt.Println("starting")
	c, err := New(context.Background(), Config{Dir: dir, Replicas: 1})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var report childReport
	report.Root = c.root
	for _, s := range c.servers {
		members, err := family(s.postmaster.pid, s.dataDir)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		for _, p := range members {
			report.PIDs = append(report.PIDs, p.pid)
		}
		report.Shm = append(report.Shm, strings.Fields(s.lockFile()[6])[1])
	}
	if _, err := c.Replica(0).Freeze(context.Background()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	line, err := json.Marshal(report)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	if os.Getenv(envChildPanics) != "" {
		panic("as told")
	}
	select {}
}

const envChildPanics = "READSPLIT_TESTENV_CHILD_PANICS"

func startChild(t *testing.T, dir string, env ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), envChild+"="+dir), env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // for a test that failed before
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	require.Equal(t, "starting", lines.Text())
	return cmd, lines
}

func TestNothingOutlivesAProcessThatDies(t *testing.T) {
	for _, death := range []string{"SIGKILL", "panic"} {
		t.Run(death, func(t *testing.T) {
			dir := openDir(t)
			var env []string
			if death == "panic" {
				env = append(env, envChildPanics+"=yes")
			}
			cmd, lines := startChild(t, dir, env...)
			require.True(t, lines.Scan())
			var report childReport
			require.NoError(t, json.Unmarshal(lines.Bytes(), &report), lines.Text())
			require.Greater(t, len(report.PIDs), 10, "two servers with all their processes")
			require.Len(t, report.Shm, 2)
			if death == "SIGKILL" {
				require.Greater(t, len(alive(t, report.PIDs)), 10)
				for _, id := range report.Shm {
					require.True(t, segmentExists(t, id))
				}
				require.NoError(t, cmd.Process.Kill())
			}
			require.Error(t, cmd.Wait())
			nothingLeft(t, dir, report)
		})
	}
}

// A process may also die while it still starts: its folder shows how far it has come.
func TestNothingOutlivesAStartThatDies(t *testing.T) {
	for _, stage := range []struct{ name, appears string }{
		{"the folder", "*"},
		{"initdb", "*/primary/data/base"},
		{"the copy", "*/replica1/data/base"},
		{"the primary", "*/primary/data/postmaster.pid"},
		{"the replica", "*/replica1/data/postmaster.pid"},
		{"the replica's log", "*/replica1/server.log"},
	} {
		t.Run(stage.name, func(t *testing.T) {
			dir := openDir(t)
			cmd, _ := startChild(t, dir)
			require.NoError(t, poll(limit(t), time.Millisecond, func() (bool, string, error) {
				found, err := filepath.Glob(filepath.Join(dir, stage.appears))
				return len(found) > 0, stage.appears, err
			}))
			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			nothingLeft(t, dir, childReport{Root: dir})
		})
	}
}

func nothingLeft(t *testing.T, dir string, report childReport) {
	t.Helper()
	var left []int
	eventually(t, "every process of the servers is gone", func() bool {
		left = alive(t, report.PIDs)
		return len(left) == 0 && len(workingIn(t, dir)) == 0
	})
	eventually(t, "the cluster's folder is removed", func() bool {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		return len(entries) == 0
	})
	for _, id := range report.Shm {
		assert.False(t, segmentExists(t, id), "shared memory segment %s", id)
	}
}

func alive(t *testing.T, pids []int) []int {
	t.Helper()
	all, err := processes()
	require.NoError(t, err)
	state := map[int]process{}
	for _, p := range all {
		state[p.pid] = p
	}
	var found []int
	for _, pid := range pids {
		if p, ok := state[pid]; ok && !p.dead() {
			found = append(found, pid)
		}
	}
	return found
}

// workingIn lists the processes whose working folder lies in dir.
func workingIn(t *testing.T, dir string) []int {
	t.Helper()
	all, err := processes()
	require.NoError(t, err)
	var found []int
	for _, p := range all {
		if !p.dead() && strings.HasPrefix(workingDir(p.pid), dir+"/") {
			found = append(found, p.pid)
		}
	}
	return found
}

// segmentExists asks ipcs, which Linux and macOS both have.
func segmentExists(t *testing.T, id string) bool {
	t.Helper()
	out, err := exec.Command("ipcs", "-m").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[1] == id {
			return true
		}
	}
	return false
}
