package failover_test

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/failover"
	"github.com/readsplit/readsplit/lsn"
)

// answer is a host that always says the same; a real one is asked with lsn.FullSQL.
type answer lsn.Sample

func (a answer) Sample(context.Context) (lsn.Sample, bool, error) { return lsn.Sample(a), false, nil }
func (a answer) Close() error                                     { return nil }

// Two hosts say that they are primaries: the one that writes the higher timeline was
// promoted, and the other one is an old primary, to which nothing is sent.
func ExampleNew() {
	server := func(started int64) lsn.Server { return lsn.Server{System: 7, Started: started} }
	watch := failover.New(failover.Config{
		Hosts: []failover.Host{
			{Name: "pg1", Source: answer{Server: server(1), Timeline: 1}},
			{Name: "pg2", Source: answer{Server: server(2), Timeline: 2}},
			{Name: "pg3", Source: answer{Server: server(3), InRecovery: true}},
		},
		SampleEvery:   200 * time.Millisecond,
		SampleTimeout: 10 * time.Second,
		MaxSampleAge:  time.Minute,
	})
	watch.Start() // asks each host once
	defer watch.Close()

	status := watch.Status()
	fmt.Println(status.State, status.Primary, status.Timeline)
	for _, h := range status.Hosts {
		fmt.Println(h.Name, h.Primary, h.Refused)
	}
	// Output:
	// elected pg2 2
	// pg1 true true
	// pg2 true false
	// pg3 false false
}
