package side

import (
	"fmt"
	"math"
	"slices"
)

// Spread is the middle of many numbers, between which numbers half of them lie, and
// between which the middle itself lies with 95 % probability.
type Spread struct {
	Median    float64
	Low, High float64 // quartiles
	From, To  float64 // of the median, by order statistics
	N         int

	least, most float64 // the same with 99.7 %
}

// Ratios compares two rows of numbers round by round: a round that was disturbed in the
// middle spoils one ratio and moves no median.
func Ratios(a, b []float64) Spread {
	return each(a, b, func(a, b float64) float64 { return a / b })
}

// Differences is Ratios of what is subtracted.
func Differences(a, b []float64) Spread {
	return each(a, b, func(a, b float64) float64 { return a - b })
}

func each(a, b []float64, of func(a, b float64) float64) Spread {
	var values []float64
	for i := range min(len(a), len(b)) {
		if v := of(a[i], b[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return SpreadOf(values)
}

// SpreadOf sorts a copy of values.
func SpreadOf(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{Median: math.NaN(), Low: math.NaN(), High: math.NaN(), From: math.Inf(-1), To: math.Inf(1), least: math.Inf(-1), most: math.Inf(1)}
	}
	sorted := slices.Sorted(slices.Values(values))
	s := Spread{Median: quantile(sorted, 0.5), Low: quantile(sorted, 0.25), High: quantile(sorted, 0.75), N: n}
	s.From, s.To = between(sorted, 0.98)
	s.least, s.most = between(sorted, 1.5)
	return s
}

// between is where the median of a sample lies, by so many times the root of its size
// (half of how many standard deviations): how many are below the median is binomial.
func between(sorted []float64, roots float64) (from, to float64) {
	n := len(sorted)
	if k := int(math.Floor(float64(n)/2 - roots*math.Sqrt(float64(n)))); k >= 1 {
		return sorted[k-1], sorted[n-k]
	}
	return math.Inf(-1), math.Inf(1)
}

// Interval is From and To for people.
func (s Spread) Interval() string {
	if math.IsInf(s.From, 0) || math.IsInf(s.To, 0) {
		return "too few rounds"
	}
	return fmt.Sprintf("%.2f to %.2f", s.From, s.To)
}

// Decided says whether the median is known to be on one side of a limit. It is sure of it:
// whoever looks again and again until something is decided is wrong more often.
func (s Spread) Decided(limit float64) bool { return s.most <= limit || s.least > limit }

func (s Spread) String() string {
	return fmt.Sprintf("median %.4g, quartiles %.4g to %.4g, 95%% of the median %.4g to %.4g, of %d", s.Median, s.Low, s.High, s.From, s.To, s.N)
}

// Fast is the number below which a tenth of them lie: what a form takes while nobody is in
// its way.
func Fast(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.1)
}

// Median returns the middle of values; it sorts a copy.
func Median(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}

func quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	at := q * float64(n-1)
	i := int(at)
	if i+1 == n {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
