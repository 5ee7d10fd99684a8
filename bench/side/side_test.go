package side

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpread(t *testing.T) {
	var values []float64
	for i := range 101 {
		values = append(values, float64(100-i))
	}
	s := SpreadOf(values)
	// Of 101 numbers the 41st and the 61st: the binomial of 101 halves is below 41 with 2.3 %.
	assert.Equal(t, Spread{Median: 50, Low: 25, High: 75, From: 39, To: 61, N: 101, least: 34, most: 66}, s)
	assert.True(t, s.Decided(66) && s.Decided(33))
	assert.False(t, s.Decided(65) || s.Decided(34))
	assert.Equal(t, "39.00 to 61.00", s.Interval())

	few := SpreadOf([]float64{2, 1, 4})
	assert.InDelta(t, 2.0, few.Median, 1e-9)
	assert.False(t, few.Decided(1e9), "of three nobody knows")
	assert.Equal(t, "too few rounds", few.Interval())
	assert.True(t, math.IsNaN(SpreadOf(nil).Median))
	assert.InDelta(t, 2.5, Median([]float64{4, 1, 2, 3}), 1e-9)
}

func TestRatiosAreOfRounds(t *testing.T) {
	// The machine was three times as slow from the third round on: the ratio stays.
	a, b := []float64{2, 2, 6, 6, 6}, []float64{1, 1, 3, 3, 3}
	assert.InDelta(t, 2.0, Ratios(a, b).Median, 1e-9)
	assert.InDelta(t, 2.0, Ratios(a, b).High, 1e-9)
	assert.InDelta(t, 3.0, Differences(a, b).Median, 1e-9)
	assert.Equal(t, 2, Ratios([]float64{1, 1, 1}, []float64{0, 2, 2}).N, "a slice in which nothing ended")
}

func TestMeterTakesTurns(t *testing.T) {
	var order strings.Builder
	var forms []Form
	for _, name := range []string{"a", "b", "c"} {
		forms = append(forms, Form{name, func(n int) {
			assert.Equal(t, 4, n)
			order.WriteString(name)
		}})
	}
	m := Fixed(forms, 4)
	m.Rounds(6)
	assert.Equal(t, "abc"+"cba"+"bca"+"acb"+"cab"+"bac", order.String())
	for _, r := range m.Results() {
		assert.Len(t, r.CPU, 6)
		assert.Len(t, r.Bytes, 6)
	}
}

var kept []byte

func TestMeterCounts(t *testing.T) {
	r := Measure([]Form{{"a kilobyte", func(n int) {
		for range n {
			kept = make([]byte, 1024)
		}
	}}}, 5, time.Millisecond)[0]
	require.Positive(t, r.Ops)
	allocs, bytes := More(Result{}, r)
	assert.InDelta(t, 1.0, allocs, 1e-9)
	assert.InDelta(t, 1024.0, bytes, 1e-9)
	assert.Positive(t, Median(r.CPU))
	alone := MeasureAlone(func(n int) {
		for range n {
			kept = make([]byte, 64)
		}
	}, 3, time.Millisecond)
	assert.InDelta(t, 1, alone.Allocs, 0.1)
	assert.LessOrEqual(t, alone.CPU, alone.Median)
}

func TestBenchstatLines(t *testing.T) {
	var b strings.Builder
	require.NoError(t, Benchstat(&b, "First/prepare=true", []Result{{Form: "plain", Ops: 5, CPU: []float64{7}, Wall: []float64{9}, Allocs: []float64{3}, Bytes: []float64{48}}}))
	assert.Regexp(t, `^BenchmarkFirst/prepare=true/by=plain-\d+\t5\t9\.0 ns/op\t7\.0 cpu-ns/op\t48 B/op\t3 allocs/op\n$`, b.String())
}
