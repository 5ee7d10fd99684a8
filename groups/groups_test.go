package groups_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/groups"
)

func TestEstimateReaches(t *testing.T) {
	takes := groups.Estimate{Takes: 30 * time.Second}
	rows := groups.Estimate{Rows: 1000}
	both := groups.Estimate{Takes: 30 * time.Second, Rows: 1000}
	for _, c := range []struct {
		e, from groups.Estimate
		want    bool
	}{
		{groups.Estimate{}, groups.Estimate{}, false},
		{both, groups.Estimate{}, false},
		{takes, takes, true},
		{takes, rows, false},
		{takes, both, true},
		{rows, both, true},
		{groups.Estimate{Takes: 30*time.Second - 1, Rows: 999}, both, false},
		{groups.Estimate{}, both, false},
	} {
		assert.Equal(t, c.want, c.e.Reaches(c.from), "%v reaches %v", c.e, c.from)
	}
}

// Covers is what Reaches says of every estimate.
func TestEstimateCovers(t *testing.T) {
	var all []groups.Estimate
	for _, takes := range []time.Duration{0, 1, 2, 3} {
		for _, rows := range []int64{0, 1, 2, 3} {
			all = append(all, groups.Estimate{Takes: takes, Rows: rows})
		}
	}
	for _, e := range all {
		for _, other := range all {
			want := other != groups.Estimate{}
			for _, x := range all {
				want = want && (!x.Reaches(other) || x.Reaches(e))
			}
			assert.Equal(t, want, e.Covers(other), "%v covers %v", e, other)
		}
	}
}

func TestNames(t *testing.T) {
	assert.Equal(t, []string{"primary", "any_replica", "refuse", "invalid"},
		[]string{groups.Primary.String(), groups.AnyReplica.String(), groups.Refuse.String(), groups.Otherwise(9).String()})
	assert.Equal(t, "nothing", groups.Estimate{}.String())
	assert.Equal(t, "1s, 5 rows", groups.Estimate{Takes: time.Second, Rows: 5}.String())
	assert.NoError(t, groups.Group{Name: "reports"}.Validate())
	assert.Error(t, groups.Group{}.Validate())
}

func ExampleWithEstimate() {
	ctx := groups.WithEstimate(context.Background(), groups.Estimate{Takes: 30 * time.Second})
	heavy := groups.Group{Name: "reports", From: groups.Estimate{Takes: 10 * time.Second}, Otherwise: groups.Refuse}
	fmt.Println(groups.EstimateOf(ctx).Reaches(heavy.From))
	// Output: true
}
