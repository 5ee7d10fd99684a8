package policy_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/policy/policytest"
)

// FuzzDecide: no query, servers, policy or balancer makes Decide panic, choose a
// replica that may not serve the read, or disagree with Explain.
func FuzzDecide(f *testing.F) {
	f.Add(uint64(1), byte(1), byte(0), int64(0), int64(0), uint64(0), uint64(0), 0, uint64(0), byte(0))
	f.Add(uint64(2), byte(1), byte(3), int64(-1), int64(math.MinInt64), uint64(math.MaxUint64), uint64(1000), math.MinInt, uint64(7), byte(200))
	f.Add(uint64(3), byte(255), byte(255), int64(math.MaxInt64), int64(math.MaxInt64), uint64(1), uint64(math.MaxUint64), math.MaxInt, uint64(math.MaxUint64), byte(19))
	f.Fuzz(func(t *testing.T, seed uint64, statement, mode byte, atMost, waited int64, exclude, need uint64, held int, chance uint64, answer byte) {
		c := policytest.Random(rand.New(rand.NewPCG(seed, chance)))
		q := &c.Query
		q.Statement, q.Mode = policy.Statement(statement), policy.Mode(mode)
		q.AtMost, q.Waited = time.Duration(atMost), time.Duration(waited)
		q.Exclude, q.Held, q.Random, q.Ticket = exclude, held, chance, chance
		if need != 0 {
			q.Need = lsn.Position{History: c.Snapshot.Primary.Position.History, LSN: lsn.LSN(need)}
		}
		rules := policy.Rules{
			Limits: c.Limits,
			Policies: []policy.Policy{policy.OneServer(), policy.Func("any", func(*policy.Query, *policy.Snapshot, *policy.Replica, time.Time) policy.Reason {
				return policy.Reason(answer)
			})},
			Balancer: meddler{func(list []policy.Candidate) int {
				i := int(chance % uint64(len(list)))
				if answer&1 != 0 {
					list[i].Index = held
				}
				return i - int(answer&2)
			}},
		}
		if answer&4 != 0 {
			rules.Policies = nil
		}
		d := policy.NewDecider(rules)
		got := d.Decide(q, &c.Snapshot, c.Load, c.Now)
		if trace := d.Explain(q, &c.Snapshot, c.Load, c.Now); trace.Decision != got {
			t.Errorf("Decide %+v, Explain %+v", got, trace.Decision)
		}
		if got.Target == policy.ToReplica && !policytest.MayServe(c.Limits, q, &c.Snapshot, got.Replica, c.Now) {
			t.Errorf("%+v must not serve %+v", got, c)
		}
	})
}
