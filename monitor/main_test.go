package monitor_test

import (
	"os"
	"runtime"
	"testing"
)

// TestMain runs the tests on one processor. In a bubble of synctest two goroutines that
// look at timers which are due at the same time share the race detector's state of all
// timers there: Go 1.26 dies of a segmentation fault in runtime.(*timer).maybeRunChan,
// about once in a hundred runs on two processors. The detector finds races by what
// happens before what, on one processor as on many.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	os.Exit(m.Run())
}
