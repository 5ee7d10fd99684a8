package journey

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/examples/webshop/stage"
	"github.com/readsplit/readsplit/examples/webshop/trace"
)

func TestAbsent(t *testing.T) {
	full := []int64{30, 29, 28, 27, 26, 25, 24, 23, 22, 21}
	for name, c := range map[string]struct{ due, shown, want []int64 }{
		"nothing is due":            {nil, []int64{1}, nil},
		"all are there":             {[]int64{1, 2}, []int64{2, 1}, nil},
		"one is missing":            {[]int64{1, 2}, []int64{1}, []int64{2}},
		"the list is empty":         {[]int64{5}, nil, []int64{5}},
		"no room for the oldest":    {[]int64{20, 30}, full, nil},
		"missing in a full list":    {[]int64{20, 31}, full, []int64{31}},
		"missing within a full one": {[]int64{20, 27}, append([]int64{31}, append(append([]int64{}, full[:3]...), full[4:]...)...), []int64{27}},
	} {
		assert.Equal(t, c.want, absent(c.due, c.shown), name)
	}
}

func TestPage(t *testing.T) {
	p := page{status: 409, body: `<main><p class="empty" id="x">Your cart is empty.</p><tr data-order="12"><tr data-order="3" class="new">`}
	assert.Equal(t, []int64{12, 3}, numbers(p.body, orderRow))
	assert.NoError(t, p.want(409))
	assert.EqualError(t, p.want(303), "the shop answers with status 409 and not 303: Your cart is empty.")
	number, err := purchase{}.number(page{location: "/orders?placed=12"})
	assert.NoError(t, err)
	assert.EqualValues(t, 12, number)
	_, err = purchase{}.number(page{location: "/login"})
	assert.Error(t, err)
}

func TestTally(t *testing.T) {
	tally := NewTally()
	replica, fresh := trace.Read{Server: "replica2", Reason: "caught_up"}, trace.Read{Server: "primary", Reason: "fresh"}
	tally.add("GET /orders", stage.Quiet, 2*time.Millisecond, []trace.Read{replica, replica, fresh, {Server: "primary", Reason: trace.InTransaction}})
	tally.add("GET /orders", stage.BothPaused, 4*time.Millisecond, []trace.Read{fresh})
	tally.add("POST /cart", stage.Quiet, time.Millisecond, nil)
	assert.InDelta(t, 0.5, tally.Share(), 1e-9)
	assert.Equal(t, "replica share: 50.0% of all reads, 66.7% while nothing is disturbed; "+
		"without what the checkout must read on the primary 100.0%, and 100.0%", tally.Shares())
	assert.NoError(t, tally.Undisturbed(), "half of the lists were read while both were behind")
	assert.Contains(t, tally.Table(), "GET /orders                        2        4      50.0%     66.7%         -      0.0%         -   2.00ms   4.00ms")
	assert.Contains(t, tally.Table(), "POST /cart                         1        0          -         -         -         -         -   1.00ms   1.00ms")
	assert.Equal(t, "       2  on a replica  caught_up\n       2  on a primary  fresh\n", tally.Reasons())

	o := &Outcome{}
	o.add(cart, missed{}, nil)
	o.add(twoTabs, missed{orders: 2}, nil)
	o.add(retried, missed{carts: 1, refused: 1}, nil)
	assert.Equal(t, "journeys: total=3 missing=2 replica_share=50.0%", o.Line(tally))
}

func TestNothingIsProvenWithoutReplicasThatAreBehind(t *testing.T) {
	tally := NewTally()
	for range 91 {
		tally.add("GET /orders", stage.Quiet, 0, nil)
	}
	for range 9 {
		tally.add("GET /orders", stage.FarBehind, 0, nil)
	}
	assert.EqualError(t, tally.Undisturbed(), "only 9 of 100 lists were read while both replicas were behind: too few to prove anything")
}

func TestPercentile(t *testing.T) {
	d := []time.Duration{4, 1, 3, 2}
	assert.EqualValues(t, 2, percentile(d, 0.5))
	assert.EqualValues(t, 4, percentile(d, 0.99))
	assert.EqualValues(t, 4, percentile(d, 1))
	assert.Zero(t, percentile(nil, 0.5))
}
