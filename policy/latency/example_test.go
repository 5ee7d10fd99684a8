package latency_test

import (
	"fmt"
	"time"

	"github.com/readsplit/readsplit/policy/latency"
)

// A server that answers in 20 ms, then refuses at once: it looks slower, not faster.
func ExampleMeter() {
	var m latency.Meter
	now := time.Duration(0) // since whatever start

	n := m.Begin(now)
	now += 20 * time.Millisecond
	m.End(now)
	m.Served(now, 20*time.Millisecond, n)
	fmt.Println(m.Latency(now).Round(time.Millisecond))

	m.Begin(now)
	m.End(now)
	m.Failed(now, 0)
	fmt.Println(m.Latency(now) > 30*time.Millisecond)

	now += time.Minute
	fmt.Println(m.Latency(now) < time.Millisecond, m.InFlight())
	// Output:
	// 20ms
	// true
	// true 0
}
