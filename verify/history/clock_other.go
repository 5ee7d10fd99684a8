//go:build !linux

package history

import "time"

// begun has the wall clock of the start and runs on monotonically from there.
var begun = time.Now()

// Now is a clock that all processes of a machine share, in nanoseconds, as long as
// nobody sets the wall clock between the starts of two of them.
func Now() int64 { return begun.UnixNano() + int64(time.Since(begun)) }
