package history

import (
	"syscall"
	"time"
	"unsafe"
)

// Now reads the clock that all processes of a machine share and that nobody can
// set, in nanoseconds since some moment in the past. time.Now would do within one
// process; between two, it is the wall clock, and a step of that would turn the
// order of two events around.
func Now() int64 {
	const monotonic = 1
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, monotonic, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return time.Now().UnixNano()
	}
	return t.Nano()
}
