package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/orderlab"
)

func TestLines(t *testing.T) {
	for _, c := range []struct {
		phase, strategy, want string
	}{
		{"healthy", "dbresolver", "phase=healthy strategy=dbresolver orders=300 missing_in_list=200 replica_reads=1495 primary_reads=5 own_read_p50=0.9ms own_read_p99=3.1ms share=99.7% reads=1500 replica1_reads=700 replica2_reads=795 lists_with_missing=260 failed_reads=0 took=1.5s"},
		{"healthy", "routed", "phase=healthy strategy=routed orders=300 missing_in_list=0 replica_reads=1495 primary_reads=5 own_read_p50=0.9ms own_read_p99=3.1ms share=99.7% reads=1500 replica1_reads=700 replica2_reads=795 failed_reads=0 took=1.5s"},
		{"replay_paused", "sticky", "phase=replay_paused strategy=sticky orders=300 missing_in_list=0 replica_reads=1495 primary_reads=5 own_read_p50=0.9ms own_read_p99=3.1ms fault_reads=1500 share=99.7% reads=1500 replica1_reads=700 replica2_reads=795 failed_reads=0 took=1.5s"},
		{"one_replica_paused", "routed", "phase=one_replica_paused strategy=routed orders=300 missing_in_list=0 replica_reads=1495 primary_reads=5 own_read_p50=0.9ms own_read_p99=3.1ms fault_reads=1500 share=99.7% reads=1500 replica1_reads=700 replica2_reads=795 beyond_max_lag_reads=0 failed_reads=0 took=1.5s"},
		{"replica_killed", "routed", "phase=replica_killed strategy=routed orders=300 missing_in_list=0 failed_reads=0 replica_reads=1495 primary_reads=5 own_read_p50=0.9ms own_read_p99=3.1ms fault_reads=1500 share=99.7% reads=1500 replica1_reads=700 replica2_reads=795 in_flight=12 reruns=0 rejoined_reads=60 took=1.5s"},
	} {
		assert.Equal(t, c.want, good(c.phase, c.strategy).Line())
	}
	assert.Equal(t, "phase=read_only_guard panicked=true sent=0 attempts=8 sent_without_guard=3",
		(&guarded{attempts: 8, panicked: 8, control: 3}).line())
	assert.Equal(t, "phase=read_only_guard panicked=false sent=2 attempts=8 sent_without_guard=3",
		(&guarded{attempts: 8, panicked: 7, sent: 2, control: 3}).line())
}

func TestALineNamesTheServersThatMadeLists(t *testing.T) {
	o := good("healthy", "routed")
	o.Reads = map[string]int{primary: 10}
	assert.Contains(t, o.Line(), "replica_reads=0 primary_reads=10 ")
	assert.Contains(t, o.Line(), "share=0.0% reads=10 failed_reads=0")
}

func TestTable(t *testing.T) {
	failing := good("replica_killed", "routed")
	failing.Failed = 3
	got := table([]*orderlab.Outcome{
		good("healthy", "dbresolver"), good("healthy", "routed"), good("replica_killed", "routed"), failing,
	}, &guarded{attempts: 8, panicked: 8})
	assert.Equal(t, `                                       orders missing in    reads on   own list:
                                       the customer's list  replicas   half / 99% within

Everything healthy, 300 orders
  dbresolver, as its README shows      200 of 300           99.7%      0.9ms / 3.1ms
  readsplit, a session per customer    0 of 300             99.7%      0.9ms / 3.1ms

One of two replicas killed and started again, 300 orders
  readsplit, a session per customer    0 of 300             99.7%      0.9ms / 3.1ms   no read failed
  readsplit, a session per customer    0 of 300             99.7%      0.9ms / 3.1ms   3 reads failed

A write in a read session
  readsplit.ReadOnly                   refused 8 of 8, statements that reached a server: 0
`, got)
}
