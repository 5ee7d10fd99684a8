package check_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/verify/check"
	"github.com/readsplit/readsplit/verify/history"
)

// A standby may show a commit before the primary does: until it was acknowledged, or
// seen on the primary, a read there does not break the promise by not showing it.
func TestMonotonicReadsOnThePrimary(t *testing.T) {
	for name, c := range map[string]struct {
		acknowledged int64
		read         history.Event
		want         int
	}{
		"before the acknowledgement":           {7, read(5, 6, on("primary"), shows("r1", 0, ""), lists("l1")), 0},
		"after it":                             {5, read(5, 6, on("primary"), shows("r1", 0, "")), 1},
		"a list, after it":                     {5, read(5, 6, on("primary"), lists("l1")), 1},
		"before it, on another standby":        {7, read(5, 6, on("replica2"), shows("r1", 0, "")), 1},
		"before it, and of a list there":       {7, read(5, 6, on("replica2"), lists("l1")), 1},
		"before it, of what the primary shows": {7, read(5, 6, on("primary"), shows("r1", 1, "a"), lists("l1", "b")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{Header: history.Header{Primary: "primary", Monotonic: []int{1}}, Events: []history.Event{
				write(1, c.acknowledged, by("t"), put("r1", "a")), write(1, c.acknowledged, by("u"), put("l1", "b")),
				read(3, 4, shows("r1", 1, "a"), lists("l1", "b")), c.read, final("r1", "a"), final("l1", "b"),
			}}
			backwards := 0
			for _, v := range check.Judge(h).Violations {
				if v.Rule == check.Backwards {
					backwards++
				}
			}
			assert.Equal(t, c.want, backwards)
		})
	}
}
