package monitor_test

import (
	"context"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// still is a server on which nothing happens; a real one is asked with the statements of
// package lsn.
type still lsn.Sample

func (s still) Sample(context.Context) (lsn.Sample, bool, error) { return lsn.Sample(s), false, nil }

func (s still) Position(context.Context) (lsn.LSN, bool, bool, error) {
	return s.Replay, s.InRecovery, true, nil
}

func (s still) Capture(context.Context) (lsn.Capture, bool, error) {
	return lsn.Capture{Flush: s.Flush, Insert: s.Insert}, true, nil
}

func (s still) Nudge(context.Context) error { return nil }
func (s still) Close() error                { return nil }

// A primary and a replica that has replayed everything.
func ExampleNew() {
	primary := still{Server: lsn.Server{System: 7, Started: 1, Addr: "10.0.0.1", Port: 5432}, Flush: 0x3E8, Insert: 0x3E8, Timeline: 1}
	replica := still{Server: lsn.Server{System: 7, Started: 2, Addr: "10.0.0.2", Port: 5432}, InRecovery: true, Replay: 0x3E8, Receive: 0x3E8, ReceivedTimeline: 1}
	m := monitor.New(monitor.Config{
		Primary:         monitor.Target{Name: "pg1", Source: primary},
		Replicas:        []monitor.Target{{Name: "pg2", Weight: 1, Source: replica}},
		SampleEvery:     200 * time.Millisecond,
		IdleSampleEvery: 200 * time.Millisecond,
		SampleTimeout:   10 * time.Second,
		MaxSampleAge:    time.Minute,
		MaxLag:          time.Minute,
		MaxWait:         5 * time.Millisecond,
		Window:          2 * time.Minute,
	})
	m.Start() // asks each server
	defer m.Close()

	s := m.Snapshot()
	fmt.Println(s.Primary.Position.LSN, s.Primary.Lost)
	for _, r := range s.Replicas {
		fmt.Println(r.Name, r.Role, r.Up, r.Applied.Covers(s.Primary.Position), r.BehindBytes)
	}
	// Output:
	// 0/3E8 false
	// pg2 standby true true 0
}
