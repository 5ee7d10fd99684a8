package doctor

import (
	"context"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// sqlView is everything that was learned of servers of SQL Server, for the judges.
type sqlView struct {
	Topology
	all    []*sqlFacts // the primary first
	rounds []sqlRound
}

// sqlRound is where all servers were at about one moment. Replicas are asked after the
// primary answered, so that one that has redone all is never behind.
type sqlRound map[*sqlFacts]sqlMoment

type sqlMoment struct {
	began, ended time.Time
	state        lsn.SQLServerState
}

// primary is the declared primary; nil where it did not answer.
func (v *sqlView) primary() *sqlFacts {
	for _, f := range v.all {
		if f.primary && f.answered() {
			return f
		}
	}
	return nil
}

// replicas are those that answered.
func (v *sqlView) replicas() []*sqlFacts {
	var all []*sqlFacts
	for _, f := range v.all {
		if !f.primary && f.answered() {
			all = append(all, f)
		}
	}
	return all
}

// follows are the replicas whose positions mean something: one server each, that says
// that it follows the primary.
func (v *sqlView) follows(f *sqlFacts) bool {
	p := v.primary()
	return p != nil && p.none.why == "" && p.state.Primary && f.none.why == "" && !f.state.Primary && len(f.names) <= 1 &&
		f.sample.System == p.sample.System && f.state.Follows && f.sample.ReceivedTimeline == p.sample.Timeline
}

// watch looks at all servers again and again for Topology.Watch.
func (v *sqlView) watch(ctx context.Context) {
	v.rounds = append(v.rounds, v.look(ctx))
	if v.Watch == Off || v.primary() == nil && len(v.replicas()) == 0 {
		return
	}
	again(ctx, v.Watch, func() { v.rounds = append(v.rounds, v.look(ctx)) })
}

func (v *sqlView) look(ctx context.Context) sqlRound {
	return lookAt(v.primary(), v.replicas(), func(f *sqlFacts) (sqlMoment, bool) { return f.moment(ctx) })
}

// moment asks a server. One that fails is not asked again: it is gone.
func (f *sqlFacts) moment(ctx context.Context) (m sqlMoment, ok bool) {
	if f.lost != "" {
		return m, false
	}
	m.began = time.Now()
	query := lsn.SQLServerStateSQL
	if f.none.why != "" {
		query = lsn.SQLServerRunSQL // is it still there?
	}
	text, err := f.text(ctx, query)
	m.ended = time.Now()
	if err == nil && f.none.why == "" {
		m.state, err = lsn.ParseSQLServerState(text)
	}
	if err != nil {
		f.lost = f.clean(err)
		return m, false
	}
	return m, f.none.why == ""
}

func (v *sqlView) series(f *sqlFacts) []sqlMoment {
	var all []sqlMoment
	for _, r := range v.rounds {
		if m, ok := r[f]; ok {
			all = append(all, m)
		}
	}
	return all
}

// sqlLag is how old a replica was at the end.
type sqlLag struct {
	age   time.Duration // at most
	known bool          // age is
	worst time.Duration // how old it was at least, at any look
	times int           // looked at
}

// lagOf compares a replica with the primary by positions alone: it is as old as the
// newest look at the primary whose position it has redone. secondary_lag_seconds is no
// such thing: it is about hardening, and 0 while data movement is suspended.
func (v *sqlView) lagOf(f *sqlFacts) (l sqlLag, ok bool) {
	own := v.series(f)
	if !v.follows(f) || len(own) == 0 {
		return l, false
	}
	primary := v.series(v.primary())
	if len(primary) == 0 {
		return l, false
	}
	last := own[len(own)-1]
	l.times = len(own)
	for _, p := range primary {
		if p.state.Commit <= last.state.Commit && !p.began.After(last.began) {
			l.age, l.known = last.began.Sub(p.began), true
		}
	}
	for _, m := range own {
		for _, p := range primary {
			if p.state.Commit > m.state.Commit {
				l.worst = max(l.worst, m.began.Sub(p.ended))
				break
			}
		}
	}
	return l, true
}
