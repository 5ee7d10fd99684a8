package readsplit

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

var _ policy.LatencyLoad = (*router)(nil)

// sinceStart is the moment now, as latencies and runs count it.
func sinceStart() time.Duration { return time.Since(processStart) }

// pace is how a run of a read went, for the estimate of its server's latency.
type pace struct {
	inFlight int64         // with it, when it began
	took     time.Duration // until its first row; 0: unknown
}

// Latency implements policy.LatencyLoad.
func (rt *router) Latency(replica int, now time.Time) time.Duration {
	rt.comparesLatencies()
	return rt.replicas()[replica].meter.Latency(now.Sub(processStart))
}

// comparesLatencies says that a balancer compares latencies: each read is measured from now
// on. For people, who look at them in the status, one read in a millisecond is enough of
// each server: to measure takes a tenth of all that a read takes here.
func (rt *router) comparesLatencies() {
	if !rt.compared.Load() {
		rt.compared.Store(true)
	}
}

// timeFailed tells the estimate of s of a run that failed. How long the failure took
// says nothing: the broken server would be the fastest of all. Nor does a statement
// that is wrong, or in the way of replay.
func (s *server) timeFailed(ctx context.Context, v retry.Verdict, run lastRun, of *class) {
	now, took := sinceStart(), run.pace.took
	switch {
	case retry.Ended(ctx) || run.late:
		// Who asked did not wait for the end: it takes that long at least.
		if took > 0 {
			s.meterFor(of).Abandoned(now, took, run.pace.inFlight)
		}
	case v.Strikes():
		s.meterFor(of).Failed(now, took)
	}
}
