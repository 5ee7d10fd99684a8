package testenv

import (
	"slices"
	"strconv"
	"strings"
)

const (
	sharedMemoryDir = "/dev/shm"

	// roomNeeded is what must be free for data folders to lie in memory. A cluster takes 150 MB
	// when it starts, and three times what is written to it; several start at the same time.
	roomNeeded = 4 << 30
	// limitNeeded is the least memory that a container may be allowed for that. Its limit and
	// not what it has left: what it takes includes files that the system would drop at once.
	limitNeeded = 2 * roomNeeded
)

// availableMemory is what /proc/meminfo says that programs can still take, in bytes; 0 when it
// does not say.
func availableMemory(meminfo string) uint64 {
	for line := range strings.Lines(meminfo) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kilobytes, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 54)
			if err != nil {
				return 0
			}
			return kilobytes << 10
		}
	}
	return 0
}

// memoryLimits are the files that may bound the memory of a process in the control groups of its
// /proc/self/cgroup, innermost first: files of a tmpfs count.
func memoryLimits(cgroup string) (files []string) {
	for line := range strings.Lines(cgroup) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case part[0] == "0" && part[1] == "": // version 2
		case slices.Contains(strings.Split(part[1], ","), "memory"):
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for path := strings.TrimSuffix(part[2], "/"); ; path = path[:strings.LastIndexByte(path, '/')] {
			files = append(files, root+path+"/"+file)
			if !strings.Contains(path, "/") {
				break
			}
		}
	}
	return files
}

// generous says whether the content of such a file allows enough. Where the file is not there,
// because the group lies outside this container or is the outermost, nothing is bounded by it.
func generous(limit string) bool {
	bytes, err := strconv.ParseUint(strings.TrimSpace(limit), 10, 64)
	return err != nil || bytes >= limitNeeded // or "max"
}
