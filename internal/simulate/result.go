package simulate

import (
	"slices"
	"time"
)

// Window is the width of one step of a plot.
const Window = 500 * time.Millisecond

// Result is what became of the reads of one run. Reports are not among the times.
type Result struct {
	Reads         int
	P50, P99, Max time.Duration
	Mean          time.Duration
	// Share of the reads that each server has served; the last is the primary.
	Share []float64
	// Queue is the longest queue of each server.
	Queue []int
	// Retries is how many runs of a read have failed.
	Retries int

	servers int
	times   []time.Duration
	windows [][]time.Duration // by arrival
}

func (r *Result) add(arrived, took time.Duration) {
	r.times = append(r.times, took)
	if i := int(arrived / Window); i < len(r.windows) {
		r.windows[i] = append(r.windows[i], took)
	}
}

func (r *Result) finish(servers []*server) {
	total := 0
	for _, s := range servers {
		total += s.served
	}
	for _, s := range servers {
		r.Share = append(r.Share, float64(s.served)/float64(max(total, 1)))
		r.Queue = append(r.Queue, s.longest)
	}
	r.Reads = total
	sum := 0.0
	for _, t := range r.times {
		sum += float64(t)
	}
	r.Mean = time.Duration(sum / float64(max(len(r.times), 1)))
	slices.Sort(r.times)
	r.P50, r.P99, r.Max = quantile(r.times, 0.5), quantile(r.times, 0.99), quantile(r.times, 1)
	for _, w := range r.windows {
		slices.Sort(w)
	}
}

// P99In is the 99th percentile of the reads that arrived in a window; 0: none did.
func (r *Result) P99In(window int) time.Duration { return quantile(r.windows[window], 0.99) }

// P99Between is the 99th percentile of the reads that arrived from one moment to
// another, both multiples of Window.
func (r *Result) P99Between(from, to time.Duration) time.Duration {
	var all []time.Duration
	for i := int(from / Window); i < int(to/Window); i++ {
		all = append(all, r.windows[i]...)
	}
	slices.Sort(all)
	return quantile(all, 0.99)
}

// quantile of sorted times.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
