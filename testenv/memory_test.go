package testenv

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemTotal:       24684084 kB\nMemFree:        17700684 kB\nMemAvailable:   23750464 kB\nBuffers:          423740 kB\n"
	assert.Equal(t, uint64(23750464)<<10, availableMemory(meminfo))
	for _, other := range []string{"", "MemFree: 17700684 kB\n", "MemAvailable: -1 kB\n", "MemAvailable: lots\n", "MemAvailable:\n", "MemAvailable: 99999999999999999999 kB\n"} {
		assert.Zero(t, availableMemory(other), other)
	}
}

func TestMemoryLimits(t *testing.T) {
	for cgroup, files := range map[string][]string{
		"0::/\n": {"/sys/fs/cgroup/memory.max"},
		"0::/user.slice/a b\n": {
			"/sys/fs/cgroup/user.slice/a b/memory.max", "/sys/fs/cgroup/user.slice/memory.max", "/sys/fs/cgroup/memory.max",
		},
		"9:name=systemd:/\n4:cpu,memory:/docker/1\n3:cpuset:/\n": {
			"/sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes",
		},
		"1:cpu:/\n": nil,
		"what\n\n":  nil,
		"":          nil,
	} {
		assert.Equal(t, files, memoryLimits(cgroup), cgroup)
	}
	for _, limit := range []string{"max\n", "9223372036854771712\n", "8589934592\n", ""} {
		assert.True(t, generous(limit), limit)
	}
	for _, limit := range []string{"8589934591\n", "536870912\n", "0\n"} {
		assert.False(t, generous(limit), limit)
	}
}

// Where a cluster lies that nobody has found a place for.
func TestFolderOfACluster(t *testing.T) {
	where := func(cfg Config) string {
		t.Helper()
		cfg.Replicas = -1
		c, err := New(limit(t), cfg)
		require.NoError(t, err)
		require.NoError(t, c.Close(limit(t)))
		return filepath.Dir(c.root)
	}
	temporary, named := openDir(t), openDir(t)
	t.Setenv("TMPDIR", temporary)
	t.Setenv(envDir, "")
	memory := func(bool) string { return named }
	none := func(bool) string { return "" }
	assert.Equal(t, named, where(Config{memoryDir: memory}))
	assert.Equal(t, temporary, where(Config{memoryDir: none}))
	assert.Equal(t, temporary, where(Config{Dir: temporary, memoryDir: memory}))

	t.Setenv(envDir, temporary)
	assert.Equal(t, temporary, where(Config{memoryDir: memory}))
	assert.Equal(t, named, where(Config{Dir: named, memoryDir: none}))
	t.Setenv(envDir, "/no/such/folder")
	_, err := New(limit(t), Config{})
	require.ErrorContains(t, err, "readsplit: testenv: $READSPLIT_PG_DIR: ")

	if runtime.GOOS != "linux" {
		assert.Empty(t, memoryDir(false))
	} else if dir := memoryDir(false); dir != "" { // not every machine has the room
		t.Setenv(envDir, "")
		assert.Equal(t, sharedMemoryDir, where(Config{}))
	}
}
