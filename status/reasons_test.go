package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/policy"
)

// One reason is told apart by who served: a preload follows its parent wherever that was.
func TestReasonsByWhoServed(t *testing.T) {
	st := readsplit.Status{
		Reasons:        map[policy.Reason]uint64{policy.ReasonParent: 10, policy.ReasonLagging: 3},
		ReplicaReasons: map[policy.Reason]uint64{policy.ReasonParent: 9},
		RefusedReasons: map[policy.Reason]uint64{policy.ReasonLagging: 3},
	}
	type row struct {
		reason           policy.Reason
		count            uint64
		replica, refused bool
	}
	rows := func(r Router) (all []row) {
		for _, w := range r.Reasons {
			assert.NotEmpty(t, w.Because)
			all = append(all, row{w.Reason, w.Count, w.Replica, w.Refused})
		}
		return all
	}
	now := time.Now()
	r := describe(&st, now)
	assert.Equal(t, []row{
		{policy.ReasonParent, 9, true, false}, {policy.ReasonLagging, 3, false, true}, {policy.ReasonParent, 1, false, false},
	}, rows(r))

	// A second later: 4 more on replicas, 2 more refused.
	p := &Page{counts: map[string]counts{"": {at: now, reasons: st.Reasons, onReplicas: st.ReplicaReasons, refused: st.RefusedReasons}}}
	later := readsplit.Status{
		Reasons:        map[policy.Reason]uint64{policy.ReasonParent: 14, policy.ReasonLagging: 5},
		ReplicaReasons: map[policy.Reason]uint64{policy.ReasonParent: 13},
		RefusedReasons: map[policy.Reason]uint64{policy.ReasonLagging: 5},
	}
	r = describe(&later, now.Add(time.Second))
	p.rates(&r, &later, now.Add(time.Second))
	rates := map[row]float64{}
	for i, x := range rows(r) {
		rates[x] = r.Reasons[i].PerSecond
	}
	assert.Equal(t, map[row]float64{
		{policy.ReasonParent, 13, true, false}: 4, {policy.ReasonLagging, 5, false, true}: 2, {policy.ReasonParent, 1, false, false}: 0,
	}, rates)
}

// A read that was refused has no server, and says so.
func TestRefusedReadIsShown(t *testing.T) {
	shown := decisions([]observe.Decision{{Reason: policy.ReasonPrimaryLostRefused, Read: true, Refused: true}})
	assert.Equal(t, []Decision{{Reason: policy.ReasonPrimaryLostRefused, Refused: true}}, shown)
}
