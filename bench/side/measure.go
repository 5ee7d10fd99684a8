package side

import (
	"math"
	"runtime"
	"runtime/debug"
	"time"
)

// Form is one way to do what is measured.
type Form struct {
	Name string
	Op   func(n int) // does it n times
}

// Result is what one form took, a number for each round: of one operation.
type Result struct {
	Form          string
	Ops           int       // of a round
	CPU           []float64 // ns of processor time of the process
	Wall          []float64 // ns
	Allocs, Bytes []float64

	// LeastAllocs and LeastBytes are of the round with the least: the process samples
	// servers beside what is measured, which can only add.
	LeastAllocs, LeastBytes float64
}

// Meter measures forms side by side. It is to be used from one goroutine, which has the
// process to itself.
type Meter struct {
	forms   []Form
	results []Result
	round   int
}

// New returns a meter whose batches take about the given time each.
func New(forms []Form, batch time.Duration) *Meter {
	m := Fixed(forms, 0)
	for i, f := range forms {
		m.results[i].Ops = calibrate(f.Op, batch)
	}
	return m
}

// Fixed returns a meter whose batches are of so many operations.
func Fixed(forms []Form, ops int) *Meter {
	m := &Meter{forms: forms, results: make([]Result, len(forms))}
	for i, f := range forms {
		m.results[i] = Result{Form: f.Name, Ops: ops, LeastAllocs: math.Inf(1), LeastBytes: math.Inf(1)}
	}
	return m
}

// Measure runs rounds of all forms; a batch takes about the given time.
func Measure(forms []Form, rounds int, batch time.Duration) []Result {
	m := New(forms, batch)
	m.Rounds(rounds)
	m.Count(50)
	return m.Results()
}

// Results is what was measured until now.
func (m *Meter) Results() []Result { return m.results }

// seldom is how far memory may grow before it is collected, in percent. A small process
// collects every few milliseconds, as long as a batch takes: some batches would have a
// collection and others none, in step with the turns of the forms, and what is compared
// would be whose turn it was. What forms allocate is counted, and compared by itself.
const seldom = 3000

// Rounds measures n more rounds. Each begins with another form, and every other one goes
// through them backwards: what grows slower or faster meanwhile does so for all.
func (m *Meter) Rounds(n int) {
	defer debug.SetGCPercent(debug.SetGCPercent(seldom))
	for range n {
		for k := range m.forms {
			if m.round%2 == 1 {
				k = len(m.forms) - 1 - k
			}
			m.batch((m.round/2 + k) % len(m.forms))
		}
		m.round++
	}
}

func (m *Meter) batch(i int) {
	r := &m.results[i]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, used := time.Now(), Processor()
	m.forms[i].Op(r.Ops)
	cpu, took := Processor()-used, time.Since(began)
	runtime.ReadMemStats(&after)
	n := float64(r.Ops)
	r.CPU, r.Wall = append(r.CPU, float64(cpu.Nanoseconds())/n), append(r.Wall, float64(took.Nanoseconds())/n)
	allocs, bytes := float64(after.Mallocs-before.Mallocs)/n, float64(after.TotalAlloc-before.TotalAlloc)/n
	r.Allocs, r.Bytes = append(r.Allocs, allocs), append(r.Bytes, bytes)
	r.LeastAllocs, r.LeastBytes = min(r.LeastAllocs, allocs), min(r.LeastBytes, bytes)
}

// countOps are few enough that of many rounds some are undisturbed.
const countOps = 40

// Count runs short rounds for LeastAllocs and LeastBytes alone.
func (m *Meter) Count(rounds int) {
	for range rounds {
		for i, f := range m.forms {
			r := &m.results[i]
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			f.Op(countOps)
			runtime.ReadMemStats(&after)
			r.LeastAllocs = min(r.LeastAllocs, float64(after.Mallocs-before.Mallocs)/countOps)
			r.LeastBytes = min(r.LeastBytes, float64(after.TotalAlloc-before.TotalAlloc)/countOps)
		}
	}
}

// calibrate returns how many operations take about as long as a batch is to.
func calibrate(op func(int), batch time.Duration) int {
	n := 1
	for {
		began := Processor()
		op(n)
		switch took := Processor() - began; {
		case took >= batch/2:
			return n
		case took < batch/20:
			n *= 10
		default:
			n *= 2
		}
	}
}

// More is what one form allocates more than another for one operation.
func More(other, form Result) (allocs, bytes float64) {
	return math.Round(form.LeastAllocs-other.LeastAllocs) + 0, math.Round(form.LeastBytes-other.LeastBytes) + 0 // no -0
}
