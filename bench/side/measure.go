package side

import (
	"runtime"
	"slices"
	"time"
)

// Form is one way to do what is measured.
type Form struct {
	Name string
	Op   func(n int) // does it n times
}

// Result is what one form took.
type Result struct {
	Form   string
	Ops    int       // of each round
	Ns     []float64 // of each round, for one operation
	Allocs float64   // for one operation, the median of the rounds
	Bytes  float64
}

// Measure runs rounds of all forms; a batch takes about the given time. It is to be
// called from a goroutine that has the process to itself.
func Measure(forms []Form, rounds int, batch time.Duration) []Result {
	results := make([]Result, len(forms))
	allocs, bytes := make([][]float64, len(forms)), make([][]float64, len(forms))
	for i, f := range forms {
		results[i] = Result{Form: f.Name, Ops: calibrate(f.Op, batch)}
	}
	for round := range rounds {
		for k := range forms {
			i := (round + k) % len(forms)
			r := &results[i]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			forms[i].Op(r.Ops)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			n := float64(r.Ops)
			r.Ns = append(r.Ns, float64(took.Nanoseconds())/n)
			allocs[i] = append(allocs[i], float64(after.Mallocs-before.Mallocs)/n)
			bytes[i] = append(bytes[i], float64(after.TotalAlloc-before.TotalAlloc)/n)
		}
	}
	for i := range results {
		results[i].Allocs, results[i].Bytes = Median(allocs[i]), Median(bytes[i])
	}
	return results
}

// calibrate returns how many operations take about as long as a batch is to.
func calibrate(op func(int), batch time.Duration) int {
	n := 1
	for {
		began := time.Now()
		op(n)
		took := time.Since(began)
		switch {
		case took >= batch/2:
			return n
		case took < batch/20:
			n *= 10
		default:
			n *= 2
		}
	}
}

// Ratio returns the median of the rounds' ratios of a to b, and their quartiles: a
// round that was disturbed in the middle spoils one ratio and moves no median.
func Ratio(a, b Result) (median, low, high float64) {
	ratios := make([]float64, min(len(a.Ns), len(b.Ns)))
	for i := range ratios {
		ratios[i] = a.Ns[i] / b.Ns[i]
	}
	slices.Sort(ratios)
	return quantile(ratios, 0.5), quantile(ratios, 0.25), quantile(ratios, 0.75)
}

// Median returns the middle of values; it sorts a copy.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return quantile(sorted, 0.5)
}

func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
