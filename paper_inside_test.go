package readsplit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// on runs c over replicas that are so far behind.
func (c crowd) on(t *testing.T, behind time.Duration) (p *paper) {
	synctest.Test(t, func(*testing.T) {
		p = newPaper(behind)
		p.run(c, paperLength)
		p.rt.monitor.Close()
	})
	require.Zero(t, p.missing.Load(), "reads that did not show what was acknowledged before")
	return p
}

const paperLength = 4 * time.Second

// The process-wide session stays useful as long as replicas are quicker than MaxWait,
// however much is written.
func TestProcessReadsStayOnReplicas(t *testing.T) {
	for _, behind := range []time.Duration{200 * time.Microsecond, time.Millisecond, 2 * time.Millisecond} {
		for _, writes := range []float64{20, 500, 5000} {
			p := crowd{writes: writes, reads: 250}.on(t, behind)
			assert.Greater(t, p.share(), 0.98, "%v behind, %v writes/s: %v", behind, writes, p)
			assert.Less(t, p.captures.Load(), int64(paperLength/time.Second)*300, "captures are the readers', not the writers'")
		}
	}
}

// A replica 200 ms behind has nothing of what the process keeps writing: its reads go to
// the primary, wait for nothing, and ask next to nothing of anybody.
func TestNoReadWaitsForWhatNoReplicaCanHave(t *testing.T) {
	for _, writes := range []float64{100, 500, 5000} {
		p := crowd{writes: writes, reads: 250}.on(t, 200*time.Millisecond)
		assert.Zero(t, p.reads[1].Load(), "%v", p)
		assert.Zero(t, p.waited[0].Load(), "%v writes/s: reads that waited and went to the primary all the same: %v", writes, p)
		seconds := int64(paperLength / time.Second)
		assert.Less(t, p.captures.Load(), 50*seconds, "%v writes/s: captures", writes)
		assert.Less(t, p.asked.Load(), 2*60*seconds, "%v writes/s: questions to two replicas", writes)
	}
}

// Between the writes a replica serves as soon as it has the last one, which is known
// although nobody waited for it.
func TestReplicaServesBetweenWrites(t *testing.T) {
	p := crowd{writes: 1, reads: 250}.on(t, 200*time.Millisecond)
	assert.Greater(t, p.share(), 0.6, "%v", p)
	assert.Less(t, p.waited[0].Load(), p.reads[0].Load()/10, "%v", p)
	p = crowd{writes: 20, reads: 250}.on(t, 20*time.Millisecond)
	assert.Greater(t, p.share(), 0.6, "%v", p)
	assert.Less(t, p.waited[0].Load(), p.reads[0].Load()/5, "%v", p)
}

// With a session for each of a thousand users, only who wrote is held to it.
func TestSessionsKeepReadsOnReplicas(t *testing.T) {
	for behind, least := range map[time.Duration]float64{time.Millisecond: 0.99, 20 * time.Millisecond: 0.96, 200 * time.Millisecond: 0.85} {
		p := crowd{writes: 500, reads: 250, users: 1000}.on(t, behind)
		assert.Greater(t, p.share(), least, "%v behind: %v", behind, p)
	}
}

// A replica that was slow for a long time, and is quick again, is found out to be.
func TestQuickReplicasAreWaitedForAgain(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		p := newPaper(200 * time.Millisecond)
		defer func() { p.rt.monitor.Close() }()
		p.run(crowd{writes: 500, reads: 250}, time.Second)
		p.mu.Lock()
		p.behind = time.Millisecond
		p.mu.Unlock()
		p.forget()
		p.run(crowd{writes: 500, reads: 250}, time.Second)
		assert.Greater(t, p.share(), 0.98, "%v", p)
		assert.Zero(t, p.missing.Load())
	})
}
