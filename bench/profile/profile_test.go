package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/bench/side"
)

var kept *[64]byte

func sixtyFour() { kept = new([64]byte) }

func TestAllocationsAreTold(t *testing.T) {
	nothing := side.Form{Name: "nothing", Op: func(int) {}}
	some := side.Form{Name: "some", Op: func(n int) {
		for range n {
			sixtyFour()
		}
	}}
	all := added(allocations(nothing.Op, 1000), allocations(some.Op, 1000))
	assert.Empty(t, all, "what measures is left out")

	bytes, allocs := 0.0, 0.0
	for name, s := range allocations(some.Op, 1000) {
		if name == "github.com/readsplit/readsplit/bench/profile.sixtyFour" {
			bytes, allocs = s.bytes, s.allocs
		}
	}
	assert.InDelta(t, 64.0, bytes, 1e-9)
	assert.InDelta(t, 1.0, allocs, 1e-9)
	assert.Equal(t, []site{{"a", 8, 1}, {"c", -16, -1}}, added(map[string]site{"b": {"b", 8, 1}, "c": {"c", 16, 1}}, map[string]site{"a": {"a", 8, 1}, "b": {"b", 8.2, 1.1}}))
}

func TestRowsOfPprof(t *testing.T) {
	m := row.FindStringSubmatch("     0.02s  4.00% 42.00%      0.11s 22.00%  github.com/readsplit/readsplit.(*route).read")
	assert.Equal(t, []string{"4.00%", "22.00%", "github.com/readsplit/readsplit.(*route).read"}, m[1:])
	m = row.FindStringSubmatch("         0     0% 42.00%      0.11s 22.00%  github.com/readsplit/readsplit.(*route).QueryContext.func1 (inline)")
	assert.Equal(t, []string{"0%", "22.00%", "github.com/readsplit/readsplit.(*route).QueryContext.func1 (inline)"}, m[1:])
	assert.Nil(t, row.FindStringSubmatch("     0.02s  4.00% 42.00%      0.11s 22.00%  gorm.io/gorm.(*DB).First"))
}
