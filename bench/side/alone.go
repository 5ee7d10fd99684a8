package side

import (
	"math"
	"runtime"
	"time"
)

// Alone is what one operation takes by itself, where there is nothing to be compared with.
type Alone struct {
	CPU    float64 // ns; the least of all slices
	Median float64
	Allocs float64
}

// MeasureAlone measures op in many short slices and takes the least of them: a number of
// nanoseconds can only be made longer by others on the machine.
func MeasureAlone(op func(n int), slices int, slice time.Duration) Alone {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ops := calibrate(op, slice)
	a := Alone{CPU: math.Inf(1), Allocs: math.Inf(1)}
	var all []float64
	for range slices {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		used := Processor()
		op(ops)
		took := float64(Processor()-used) / float64(ops)
		runtime.ReadMemStats(&after)
		all = append(all, took)
		a.CPU, a.Allocs = min(a.CPU, took), min(a.Allocs, float64(after.Mallocs-before.Mallocs)/float64(ops))
	}
	a.Median = Median(all)
	return a
}
