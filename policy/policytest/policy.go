package policytest

import (
	"slices"
	"testing"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Policy tests that p keeps the contract of [policy.Policy]: it answers every
// input without a panic; the same input, also a copy of it, gets the same
// answer; the answer is [policy.ReasonNone] or an objection; arguments are not
// changed; concurrent calls agree with sequential ones; a [policy.QueryJudge]
// answers as Judge does for every replica; and with p in a [policy.Decider] no
// read goes to a replica that p objected to (unless the primary is lost and the
// objection is to staleness) or that the core excludes.
func Policy(t testing.TB, p policy.Policy) {
	t.Helper()
	for _, problem := range checkPolicy(p) {
		t.Errorf("policy %s: %s", p.Name(), problem)
	}
}

// extremes are inputs that no generator of plausible ones would draw.
func extremes() []*Case {
	const longest = time.Duration(1<<63 - 1)
	zero := &Case{}
	zero.Snapshot.Replicas = make([]policy.Replica, 1)
	far := &Case{Now: time.Unix(1<<40, 0), Limits: policy.Limits{MaxLag: longest, MaxSampleAge: longest, MaxWait: longest}}
	far.Query = policy.Query{Statement: policy.Read, Mode: 255, AtMost: -longest, Held: -1 << 63, Waited: -longest, Exclude: 1<<64 - 1, Random: 1<<64 - 1, Ticket: 1<<64 - 1}
	far.Snapshot.Replicas = []policy.Replica{{Weight: -1 << 63, Role: 255, Sampled: time.Unix(-1<<40, 0), ReplayedAt: time.Unix(-1<<40, 0), Margin: longest, BehindBytes: 1<<64 - 1, CatchUp: -longest}}
	held := &Case{Now: far.Now, Query: policy.Query{Statement: policy.Read, Held: 1<<63 - 1}}
	held.Snapshot.Replicas = []policy.Replica{{Name: "pg2", Role: policy.RoleStandby, Up: true, Sampled: far.Now, ReplayedAt: far.Now}}
	return []*Case{zero, far, held}
}

func checkPolicy(p policy.Policy) []string {
	var f findings
	f.checkName(p.Name)
	cases := append(extremes(), inputs(rounds, 1)...)
	answers := make([][]policy.Reason, len(cases))
	for i, c := range cases {
		if f.full() {
			break
		}
		answers[i] = f.checkAnswers(p, c)
	}
	if len(f.list) > 0 {
		return f.list
	}
	const shared = 200
	together(shared, func(i int) {
		if again := judgeAll(p, cases[i]); !slices.Equal(again, answers[i]) {
			f.add("concurrent calls answer %v where a single one answered %v", again, answers[i])
		}
	})
	return f.list
}

// checkAnswers returns the answer of p for every replica of c.
func (f *findings) checkAnswers(p policy.Policy, c *Case) (answers []policy.Reason) {
	before := c.Clone()
	if reason := caught(func() { answers = judgeAll(p, c) }); reason != nil {
		f.add("panics with %v on %+v", reason, c)
		return nil
	}
	f.checkUnchanged(before, c)
	if again := judgeAll(p, c); !slices.Equal(answers, again) {
		f.add("answers %v, then %v to the same input", answers, again)
	}
	if again := judgeAll(p, before); !slices.Equal(answers, again) {
		f.add("answers %v to an input and %v to a copy of it", answers, again)
	}
	judge, once := p.(policy.QueryJudge)
	for _, a := range answers {
		if a != policy.ReasonNone && !a.Objection() {
			f.add("answers %q, which is not an objection", a)
		}
		if once && judge.JudgeQuery(&c.Query, c.Now) != a {
			f.add("JudgeQuery and Judge answer %q and %q", judge.JudgeQuery(&c.Query, c.Now), a)
		}
	}
	d := policy.NewDecider(policy.Rules{Limits: c.Limits, Policies: []policy.Policy{p}})
	if got := f.checkDecision(d, c); got.Target == policy.ToReplica && got.Replica < len(answers) {
		a := answers[got.Replica]
		bounds := a == policy.ReasonLagging || a == policy.ReasonBehindBytes || a == policy.ReasonLagUnknown || a == policy.ReasonNoPosition
		lifted := got.Reason == policy.ReasonPrimaryLost && bounds
		later := got.Check && (bounds || a == policy.ReasonBehindSession || a == policy.ReasonUnprovenHistory || a == policy.ReasonOtherHistory)
		if a != policy.ReasonNone && !lifted && !later {
			f.add("a decision (%s) names a replica that it objected to with %q", got.Reason, a)
		}
	}
	return answers
}

func judgeAll(p policy.Policy, c *Case) []policy.Reason {
	answers := make([]policy.Reason, len(c.Snapshot.Replicas))
	for i := range answers {
		answers[i] = p.Judge(&c.Query, &c.Snapshot, &c.Snapshot.Replicas[i], c.Now)
	}
	return answers
}
