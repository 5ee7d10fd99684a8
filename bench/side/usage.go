package side

import (
	"syscall"
	"time"
)

// Processor is the processor time of this process. Wall time would measure whoever else
// uses the machine.
func Processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
