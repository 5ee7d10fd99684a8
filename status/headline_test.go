package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/policy"
)

var midnight = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func standby(name string, edits ...func(*readsplit.ServerStatus)) readsplit.ServerStatus {
	s := readsplit.ServerStatus{Name: name, Up: true, Role: policy.RoleStandby, Sampled: midnight, LagKnown: true, Lag: 20 * time.Millisecond}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func well(edits ...func(*readsplit.Status)) *readsplit.Status {
	st := &readsplit.Status{
		Primary:  readsplit.ServerStatus{Name: "primary", Up: true, Role: policy.RolePrimary, Sampled: midnight},
		Replicas: []readsplit.ServerStatus{standby("pg2"), standby("pg3")},
	}
	for _, e := range edits {
		e(st)
	}
	return st
}

func pg2(edit func(*readsplit.ServerStatus)) func(*readsplit.Status) {
	return func(st *readsplit.Status) { edit(&st.Replicas[0]) }
}

func both(edit func(*readsplit.ServerStatus)) func(*readsplit.Status) {
	return func(st *readsplit.Status) { edit(&st.Replicas[0]); edit(&st.Replicas[1]) }
}

func down(s *readsplit.ServerStatus)   { s.Up = false }
func paused(s *readsplit.ServerStatus) { s.Paused, s.Lag = true, 90*time.Second }

// What whoever is woken reads first.
func TestHeadline(t *testing.T) {
	host := func(name string, edits ...func(*failover.HostStatus)) failover.HostStatus {
		h := failover.HostStatus{Name: name, Answered: midnight}
		for _, e := range edits {
			e(&h)
		}
		return h
	}
	for name, c := range map[string]struct {
		st           *readsplit.Status
		level        Level
		text, detail string
	}{
		"well":   {well(), Good, "All servers are up.", ""},
		"paused": {well(pg2(paused)), Warn, "pg2 is paused. pg3 serves reads.", "pg2 shows data that is up to 90 s old."},
		"paused and cut off": {well(pg2(paused), pg2(func(s *readsplit.ServerStatus) { s.CutOff = true })), Warn,
			"pg2 is paused. pg3 serves reads.", "pg2 shows data that is up to 90 s old."},
		"cut off": {well(pg2(func(s *readsplit.ServerStatus) { s.CutOff, s.Lag = true, 5*time.Minute })), Bad,
			"pg2 is cut off. pg3 serves reads.", "pg2 shows data that is up to 5 min old."},
		"behind": {well(pg2(func(s *readsplit.ServerStatus) { s.Lag = 1200 * time.Millisecond })), Warn,
			"pg2 is behind. pg2 and pg3 serve reads.", "pg2 shows data that is up to 1 s old."},
		"one is down":   {well(pg2(down)), Bad, "pg2 is down. pg3 serves reads.", ""},
		"both are down": {well(both(down)), Bad, "pg2 is down and pg3 is down. No replica can serve reads: all go to the primary.", ""},
		"the primary":   {well(func(st *readsplit.Status) { down(&st.Primary) }), Bad, "The primary is down. Writes fail. Replicas go on serving reads, and nobody knows how old those are.", ""},
		"the primary, for a while": {well(both(func(s *readsplit.ServerStatus) { s.Lag = 8 * time.Second }), func(st *readsplit.Status) { down(&st.Primary) }), Bad,
			"The primary is down. Writes fail. Replicas go on serving reads, and nobody knows how old those are.", "pg2 shows data that is up to 8 s old. pg3 shows data that is up to 8 s old."},
		"the primary, while replay is paused": {well(both(paused), func(st *readsplit.Status) { down(&st.Primary) }), Bad,
			"The primary is down, pg2 is paused and pg3 is paused. Writes fail. Replicas go on serving reads, and nobody knows how old those are.",
			"pg2 shows data that is up to 90 s old. pg3 shows data that is up to 90 s old."},
		"everything":  {well(both(down), func(st *readsplit.Status) { down(&st.Primary) }), Bad, "The primary is down, pg2 is down and pg3 is down. Writes and reads fail.", ""},
		"nothing yet": {&readsplit.Status{Primary: readsplit.ServerStatus{Name: "primary"}}, Unknown, "The primary has not answered yet.", ""},
		"no replicas": {well(func(st *readsplit.Status) { st.Replicas = nil }), Good, "All servers are up.", ""},
		"drained":     {well(pg2(func(s *readsplit.ServerStatus) { s.Drained = true })), Warn, "pg2 is out of service. pg3 serves reads.", ""},
		"kill switch": {well(func(st *readsplit.Status) { st.Traffic.KillSwitch = true }), Warn, "The kill switch is on: every read goes to the primary.", ""},
		"promoted":    {well(pg2(func(s *readsplit.ServerStatus) { s.Role = policy.RolePrimary })), Bad, "pg2 is not a replica but a primary. pg3 serves reads.", ""},
		"promoted and followed": {well(pg2(func(s *readsplit.ServerStatus) { s.Role = policy.RolePrimary }), func(st *readsplit.Status) {
			st.Failover = failover.Status{State: failover.Elected, Primary: "pg2", Hosts: []failover.HostStatus{host("pg1", func(h *failover.HostStatus) { h.Answered = midnight.Add(-time.Minute) }), host("pg2")}}
		}), Warn, "The host pg1 does not answer. pg3 serves reads.", ""},
		"of a DSN": {well(pg2(func(s *readsplit.ServerStatus) { s.Role = policy.RolePrimary }), func(st *readsplit.Status) {
			st.Failover = failover.Status{State: failover.Elected, Primary: "10.0.0.2:5432", Hosts: []failover.HostStatus{
				host("10.0.0.1:5432", func(h *failover.HostStatus) { h.Refused = true }), host("10.0.0.2:5432", func(h *failover.HostStatus) { h.Primary = true }),
			}}
		}), Warn, "The host 10.0.0.1:5432 is a primary of before, to which nothing is sent. pg3 serves reads.", ""},
		"a resolver": {well(func(st *readsplit.Status) { st.Resolver = "stock" }, pg2(down)), Bad, "stock/pg2 is down. stock/pg3 serves reads.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{Routers: []Router{describe(c.st, midnight)}}
			assert.Equal(t, Headline{c.level, c.text, c.detail}, headline(&r))
		})
	}
}

// While the primary is down the lag of every replica grows, and that is no news of them.
func TestAdviceWhileThePrimaryIsDown(t *testing.T) {
	late := both(func(s *readsplit.ServerStatus) { s.Lag = 8 * time.Second })
	r := describe(well(late), midnight)
	assert.Contains(t, r.Servers[1].Advice, "It receives, and replays too slowly.")
	r = describe(well(late, func(st *readsplit.Status) { down(&st.Primary) }), midnight)
	for _, s := range r.Servers[1:] {
		assert.Equal(t, "behind", s.State)
		assert.Equal(t, behindNobody, s.Advice)
	}
}

// A share that is bad for one second is no news, and one that somebody wants is none at
// all.
func TestHeadlineOfReadsOnThePrimary(t *testing.T) {
	say := func(why policy.Reason, each uint64) []string {
		p := &Page{counts: map[string]counts{}}
		var texts []string
		st := well()
		st.Reasons = map[policy.Reason]uint64{}
		for i := range 4 {
			now := midnight.Add(time.Duration(i) * time.Second)
			d := describe(st, now)
			p.rates(&d, st, now)
			poor := p.poor(&d)
			d.MostlyPrimary = poor >= poorAfter
			p.counts[""] = counts{at: now, replicas: st.ReplicaReads, primary: st.PrimaryReads, reasons: map[policy.Reason]uint64{why: st.Reasons[why]}, poor: poor}
			texts = append(texts, headline(&Report{Routers: []Router{d}}).Text)
			if i == 3 {
				require.Equal(t, share(20, each), d.Reads.ShareNow)
			}
			st.PrimaryReads, st.ReplicaReads = st.PrimaryReads+each, st.ReplicaReads+20
			st.Reasons[why] += each
		}
		return texts
	}
	up := "All servers are up."
	assert.Equal(t, []string{up, up, up, "Most reads go to the primary."}, say(policy.ReasonLagging, 80))
	assert.Equal(t, []string{up, up, up, up}, say(policy.ReasonLagging, 10))
	assert.Equal(t, []string{up, up, up, up}, say(policy.ReasonPreferPrimary, 80))
}

func TestDetail(t *testing.T) {
	r := Router{
		Reads: Reads{ShareNow: share(2, 8), PerSecond: 10},
		Reasons: []Reason{
			{Reason: policy.ReasonWrite, PerSecond: 20},
			{Reason: policy.ReasonCaughtUp, PerSecond: 9, Replica: true},
			{Reason: policy.ReasonLagging, PerSecond: 8, Because: policy.ReasonLagging.Because()},
		},
	}
	assert.Equal(t, "Replicas serve 20 % of 10 reads a second. Most others go to the primary because the replicas are staler than MaxLag (lagging).", r.detail())
	r.Reads.ShareNow, r.Name = share(999, 1), "stock"
	assert.Equal(t, "Replicas serve 99.90 % of 10 reads a second of stock.", r.detail())
}

// Every state has an end of a sentence, and says what to do unless all is well.
func TestStates(t *testing.T) {
	for _, edit := range []func(*readsplit.ServerStatus){
		func(s *readsplit.ServerStatus) { s.Sampled = time.Time{} },
		down, paused,
		func(s *readsplit.ServerStatus) { s.Role = policy.RolePrimary },
		func(s *readsplit.ServerStatus) { s.Drained = true },
		func(s *readsplit.ServerStatus) { s.EjectedUntil = midnight.Add(1) },
		func(s *readsplit.ServerStatus) { s.NoPosition = true },
		func(s *readsplit.ServerStatus) { s.NoPosition, s.NoPositionWhy = true, "no permission" },
		func(s *readsplit.ServerStatus) { s.CutOff = true },
		func(s *readsplit.ServerStatus) { s.LagKnown = false },
		func(s *readsplit.ServerStatus) { s.Lag = time.Second },
	} {
		s := standby("pg2", edit)
		word, level, advice := state(&s, false, false, midnight)
		assert.NotEqual(t, Good, level, word)
		assert.NotEmpty(t, advice, word)
		assert.NotEmpty(t, inSentence[word], word)
	}
}
