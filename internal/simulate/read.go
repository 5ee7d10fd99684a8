package simulate

import (
	"time"

	"github.com/readsplit/readsplit/policy"
)

// read is one read on its way.
type read struct {
	run      *run
	process  *process
	query    policy.Query
	arrived  time.Duration
	since    time.Duration // when the newest decision began
	size     float64
	report   bool
	attempts int
}

// decide sends the read where the plugin would.
func (rd *read) decide() {
	rd.since = rd.run.now
	rd.query.Waited = 0
	rd.again(false)
}

func (rd *read) again(fresh bool) {
	r, p := rd.run, rd.process
	p.ticket++
	rd.query.Ticket, rd.query.Random = p.ticket, r.chance.Uint64()
	if rd.attempts == mostAttempts {
		rd.toPrimary()
		return
	}
	d := r.decider.Decide(&rd.query, p.snapshot(fresh), p, epoch.Add(r.now))
	switch d.Target {
	case policy.ToReplica:
		rd.send(d.Replica)
	case policy.Wait:
		r.after(refreshEvery, func() {
			rd.query.Waited = r.now - rd.since
			rd.again(true)
		})
	default:
		rd.toPrimary()
	}
}

func (rd *read) send(i int) {
	r, m := rd.run, &rd.process.meters[i]
	began := r.now
	n := m.Begin(began)
	r.fleet.servers[i].send(rd.size, func(ok bool) {
		took := r.now - began
		m.End(r.now)
		if ok {
			m.Served(r.now, took, n)
			rd.process.health[i].strikes = 0
			rd.done(i)
			return
		}
		m.Failed(r.now, took)
		rd.process.struck(i)
		if rd.counts() {
			r.result.Retries++
		}
		rd.query.Exclude |= 1 << i
		rd.attempts++
		r.after(time.Duration(r.chance.Float64()*float64(retryAfter)), rd.decide)
	})
}

func (rd *read) toPrimary() {
	rd.run.primary.send(rd.size, func(bool) { rd.done(len(rd.run.fleet.servers)) })
}

func (rd *read) counts() bool { return rd.arrived >= warmUp }

func (rd *read) done(at int) {
	if !rd.counts() {
		return
	}
	rd.run.all[at].served++
	if !rd.report {
		rd.run.result.add(rd.arrived, rd.run.now-rd.arrived)
	}
}
