package testenv

import (
	"os"
	"syscall"
)

const (
	tmpfsMagic  = 0x01021994
	mountNoExec = 0x8
)

// memoryDir is a folder in memory that has room for clusters, or "". A third of what a short test
// costs is otherwise the file system's: a cluster is 3000 files, and a database 900.
// executable says that programs must run from there too, which many containers do not allow.
func memoryDir(executable bool) string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(sharedMemoryDir, &fs); err != nil || fs.Type != tmpfsMagic {
		return ""
	}
	if executable && fs.Flags&mountNoExec != 0 || fs.Bavail*uint64(fs.Bsize) < roomNeeded {
		return ""
	}
	read := func(path string) string {
		content, _ := os.ReadFile(path) // what cannot be read says nothing
		return string(content)
	}
	if availableMemory(read("/proc/meminfo")) < roomNeeded {
		return ""
	}
	for _, file := range memoryLimits(read("/proc/self/cgroup")) {
		if !generous(read(file)) {
			return ""
		}
	}
	probe, err := os.MkdirTemp(sharedMemoryDir, "readsplit-testenv-")
	if err != nil || os.Remove(probe) != nil {
		return ""
	}
	return sharedMemoryDir
}
