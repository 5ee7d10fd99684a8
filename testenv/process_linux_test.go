package testenv

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	p, ok := parseStat(7, []byte("7 (post) gres: (x) T 5 7 7 0 -1 4194560"))
	require.True(t, ok)
	assert.Equal(t, process{pid: 7, parent: 5, name: "post) gres: (x", state: 'T'}, p)
	for _, bad := range []string{"", "7 )postgres(", "7 (postgres", "7 (postgres)", "7 (postgres) T", "7 (postgres) T x"} {
		_, ok := parseStat(7, []byte(bad))
		assert.False(t, ok, bad)
	}
}

func TestProcessesSeesThisOne(t *testing.T) {
	all, err := processes()
	require.NoError(t, err)
	assert.Contains(t, parents(all), os.Getpid())
	assert.Equal(t, os.Getppid(), parents(all)[os.Getpid()])
	dir, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, dir, workingDir(os.Getpid()))
}

func parents(all []process) map[int]int {
	m := map[int]int{}
	for _, p := range all {
		m[p.pid] = p.parent
	}
	return m
}

// A number that belongs to somebody else by now must not lead to somebody else's family.
func TestFamilyIgnoresAStrangersNumber(t *testing.T) {
	for _, pid := range []int{0, 1, os.Getpid()} {
		members, err := family(pid, "/no/such/folder")
		require.NoError(t, err)
		assert.Empty(t, members, pid)
	}
	require.Error(t, signal(1, sigStop))
	require.Error(t, signal(0, sigStop))
	require.Error(t, signal(-1, sigStop))
}
