package readonlyguard_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program that writes through a Reader does not compile, and each of its writes is an error of its own; one that
// reads compiles.
func TestWritesDoNotCompile(t *testing.T) {
	out, err := build(t, "./testdata/reads")
	require.NoError(t, err, out)

	out, err = build(t, "./testdata/writes")
	require.Error(t, err)
	source, err := os.ReadFile("testdata/writes/main.go")
	require.NoError(t, err)
	var want []int
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "// wrong") {
			want = append(want, i+1)
		}
	}
	require.Greater(t, len(want), 30)
	var got []int
	for _, match := range regexp.MustCompile(`main\.go:(\d+):\d+: `).FindAllStringSubmatch(out, -1) {
		line, err := strconv.Atoi(match[1])
		require.NoError(t, err)
		got = append(got, line)
	}
	assert.Equal(t, want, got, out)
}

// build compiles a program, with all of its errors, and keeps nothing.
func build(t *testing.T, dir string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", os.DevNull, dir)
	// In addition to the flags with which everything that it imports is compiled already.
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -gcflags=-e")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
