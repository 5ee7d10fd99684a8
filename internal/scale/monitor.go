package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/readsplit/readsplit/internal/chart"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
)

// server is a source that answers at once: what is left is the monitor's own work.
type server struct{ standby bool }

func (s server) Sample(context.Context) (lsn.Sample, bool, error) {
	at := position()
	a := lsn.Sample{Server: lsn.Server{System: 7, Started: 1000}, InRecovery: s.standby, ControlTimeline: 1, BlockSize: 8192, SegmentSize: 16 << 20}
	if s.standby {
		a.Replay, a.Receive, a.ReceivedTimeline = at, at, 1
	} else {
		a.Flush, a.Insert, a.Timeline = at, at, 1
	}
	return a, false, nil
}

func (s server) Position(context.Context) (lsn.LSN, bool, bool, error) {
	return position(), s.standby, true, nil
}

func (s server) Capture(context.Context) (lsn.Capture, bool, error) {
	return lsn.Capture{Flush: position(), Insert: position()}, true, nil
}

func (server) Nudge(context.Context) error { return nil }
func (server) Close() error                { return nil }

var epoch = time.Now()

// position grows by 1 MB each second.
func position() lsn.LSN { return 1<<20 + lsn.LSN(time.Since(epoch)/1000) }

// watching measures a Monitor at rest, with 5 samples of each server a second, and with
// somebody who waits for a position 100 times a second.
func watching(o options) (string, *chart.Chart, error) {
	head := []string{"replicas", "goroutines", "samples/s", "processor, at rest", "each replica", "with 100 waits/s", "memory"}
	c := &chart.Chart{Title: "processor time of the monitor", XName: "replicas", YName: "% of a core"}
	rest, busy := chart.Line{Name: "at rest"}, chart.Line{Name: "100 waits a second"}
	var lines [][]string
	for _, n := range []int{1, 10, 100, 1000} {
		before, goroutines := memory(), runtime.NumGoroutine()
		cfg := monitor.Config{
			Primary: monitor.Target{Name: "primary", Source: server{}}, SampleEvery: 200 * time.Millisecond,
			SampleTimeout: 10 * time.Second, MaxLag: 2 * time.Second, MaxWait: 5 * time.Millisecond, Seed: 1,
		}
		for i := range n {
			cfg.Replicas = append(cfg.Replicas, monitor.Target{Name: fmt.Sprint("r", i), Source: server{true}})
		}
		m := monitor.New(cfg)
		m.Start()
		started := runtime.NumGoroutine() - goroutines
		r := use(o.length, func(time.Time) {})
		w := use(o.length, func(at time.Time) {
			n := m.NextCapture()
			if m.AwaitCapture(context.Background(), n, at.Add(5*time.Millisecond)) {
				if p, began, ok := m.Captured(n, false); ok {
					m.Want(p.LSN, began, at.Add(5*time.Millisecond))
				}
			}
		})
		held := memory() - before
		m.Close()
		rest.Y, busy.Y, c.X = append(rest.Y, 100*r), append(busy.Y, 100*w), append(c.X, float64(n))
		lines = append(lines, []string{fmt.Sprint(n), fmt.Sprint(started), fmt.Sprint(5 * n), fmt.Sprintf("%.2f %%", 100*r),
			fmt.Sprintf("%.3f %%", 100*r/float64(n)), fmt.Sprintf("%.2f %%", 100*w), fmt.Sprintf("%.1f MB", float64(held)/1e6)})
	}
	c.Lines = []chart.Line{rest, busy}
	return rows(head, lines), c, nil
}

// use returns the share of a core that this process takes while f is called each 10 ms.
func use(length time.Duration, f func(at time.Time)) float64 {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	began, used := time.Now(), processor()
	for at := range tick.C {
		if at.Sub(began) > length {
			break
		}
		f(at)
	}
	return float64(processor()-used) / float64(time.Since(began))
}
