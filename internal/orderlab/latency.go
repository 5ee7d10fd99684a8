package orderlab

import (
	"slices"
	"time"
)

// percentile returns the smallest of the durations that is not exceeded by p of
// them (0 < p <= 1); 0 where there are none. It sorts d.
func percentile(d []time.Duration, p float64) time.Duration {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	n := int(p * float64(len(d)))
	if float64(n) < p*float64(len(d)) {
		n++ // the next whole number: the rank counts from 1
	}
	return d[min(max(n, 1), len(d))-1]
}
