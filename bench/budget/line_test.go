package budget

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/bench/side"
)

func TestLine(t *testing.T) {
	for want, l := range map[string]Line{
		"budget: a measured=1 limit=1 ok":          {Name: "a", Measured: 1.0004, Limit: 1},
		"budget: a measured=1.001 limit=1 over":    {Name: "a", Measured: 1.0006, Limit: 1},
		"budget: a measured=161 limit=160 over":    {Name: "a", Measured: 160.6, Limit: 160},
		"budget: a measured=0.97 limit=0.97 ok":    {Name: "a", Measured: 0.9701, Limit: 0.97, Bound: AtLeast},
		"budget: a measured=0.969 limit=0.97 over": {Name: "a", Measured: 0.969, Limit: 0.97, Bound: AtLeast},
		"budget: a measured=1 limit=1 over":        {Name: "a", Measured: 1, Limit: 1, Bound: Below},
		"budget: a measured=0.999 limit=1 ok":      {Name: "a", Measured: 0.999, Limit: 1, Bound: Below},
		"budget: a measured=-0.02 limit=0.5 ok":    {Name: "a", Measured: -0.02, Limit: 0.5},
		"budget: a measured=NaN limit=1 over":      {Name: "a", Measured: math.NaN(), Limit: 1},
		"budget: a measured=NaN limit=0.97 over":   {Name: "a", Measured: math.NaN(), Limit: 0.97, Bound: AtLeast},
		"budget: a measured=12345 limit=20000 ok":  {Name: "a", Measured: 12345.4, Limit: 20000},
		"budget: a measured=0 limit=0 ok":          {Name: "a"},
		"budget: a_b measured=2.5 limit=2 over":    {Name: "a_b", Measured: 2.5, Limit: 2},
		"budget: a_b measured=99.9 limit=100 ok":   {Name: "a_b", Measured: 99.9, Limit: 100},
		"budget: a_b measured=100 limit=100 ok":    {Name: "a_b", Measured: 100.4, Limit: 100},
		"budget: a_b measured=101 limit=100 over":  {Name: "a_b", Measured: 100.5, Limit: 100},
	} {
		assert.Equal(t, want, l.String())
	}
}

// What is far from its limit is decided at once, what is near is measured for longer.
func TestUntil(t *testing.T) {
	rounds := func(far bool) (n int) {
		var values []float64
		_, err := until(time.Hour, 1, func() error {
			n++
			v := 1 + 0.1*float64(n%3-1) // around the limit
			if far || n > 40 {
				v += 0.2
			}
			values = append(values, v)
			return nil
		}, func() side.Spread { return side.SpreadOf(values) })
		require.NoError(t, err)
		return n
	}
	assert.Equal(t, leastRounds, rounds(true))
	assert.Greater(t, rounds(false), 40)
}
