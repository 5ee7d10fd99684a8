package side

import (
	"math"
	"runtime"
	"slices"
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
	CPU           []float64 // ns of processor time of the process, its collector included
	Wall          []float64 // ns
	Allocs, Bytes []float64
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
	m := &Meter{forms: forms, results: make([]Result, len(forms))}
	for i, f := range forms {
		m.results[i] = Result{Form: f.Name, Ops: calibrate(f.Op, batch)}
	}
	return m
}

// Fixed returns a meter whose batches are of so many operations.
func Fixed(forms []Form, ops int) *Meter {
	m := &Meter{forms: forms, results: make([]Result, len(forms))}
	for i, f := range forms {
		m.results[i] = Result{Form: f.Name, Ops: ops}
	}
	return m
}

// Measure runs rounds of all forms; a batch takes about the given time.
func Measure(forms []Form, rounds int, batch time.Duration) []Result {
	m := New(forms, batch)
	m.Rounds(rounds)
	return m.Results()
}

// Results is what was measured until now.
func (m *Meter) Results() []Result { return m.results }

// Rounds measures n more rounds. Each begins with another form, and every other one goes
// through them backwards: what grows slower or faster meanwhile does so for all.
func (m *Meter) Rounds(n int) {
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
	r.Allocs = append(r.Allocs, float64(after.Mallocs-before.Mallocs)/n)
	r.Bytes = append(r.Bytes, float64(after.TotalAlloc-before.TotalAlloc)/n)
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

// More is what one form allocates more than another for one operation. Beside what is
// measured, the process samples servers: the least of the rounds has least of that.
func More(other, form Result) (allocs, bytes float64) {
	more := func(a, b []float64) float64 { return math.Round(Least(b)-Least(a)) + 0 } // no -0
	return more(other.Allocs, form.Allocs), more(other.Bytes, form.Bytes)
}

// Least is the least of values: of allocations that is what an operation has, since what
// else the process does meanwhile can only add to it.
func Least(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return slices.Min(values)
}
