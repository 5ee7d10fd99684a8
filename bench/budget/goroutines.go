package budget

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/readsplit/readsplit/bench/nullpg"
	"github.com/readsplit/readsplit/bench/overhead"
)

// Goroutines counts those that the plugin has started: with ten replicas more than with
// three, and under the load of many clients more than at rest.
func Goroutines(catalog nullpg.Catalog, o Options) ([]Line, error) {
	var rest, busy []int
	sizes := []int{3, 10}
	for _, n := range sizes {
		err := overhead.With([]overhead.Setup{{Plugin: "readsplit", Replicas: n, Session: true}}, catalog, func(opened []*overhead.Opened) error {
			rest = append(rest, most(o.Statement/50))
			var clients sync.WaitGroup
			var stop atomic.Bool
			for range o.Clients {
				clients.Go(func() {
					for !stop.Load() {
						overhead.ReadAfterWrite.Times(opened[0])(1)
					}
				})
			}
			busy = append(busy, most(o.Statement/20))
			stop.Store(true)
			clients.Wait()
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	each := float64(busy[1]-busy[0]) / float64(sizes[1]-sizes[0])
	added := max(busy[0]-rest[0], busy[1]-rest[1])
	note := fmt.Sprintf("with %d replicas %d at rest, %d with %d clients; with %d replicas %d and %d", sizes[0], rest[0], busy[0], o.Clients, sizes[1], rest[1], busy[1])
	return []Line{
		{Name: "goroutines_per_server", Measured: each, Limit: 1, Note: note},
		{Name: fmt.Sprintf("goroutines_for_%d_clients", o.Clients), Measured: float64(max(added, 0)), Limit: 0, Note: note},
	}, nil
}

// most is the greatest number of the plugin's goroutines in a while.
func most(d time.Duration) (n int) {
	tick := time.NewTicker(max(d/10, time.Millisecond))
	defer tick.Stop()
	for range 10 {
		n = max(n, started())
		<-tick.C
	}
	return n
}

// started counts goroutines that are in the plugin's code, without the clients.
func started() (n int) {
	buffer := make([]byte, 1<<20)
	for {
		m := runtime.Stack(buffer, true)
		if m < len(buffer) {
			buffer = buffer[:m]
			break
		}
		buffer = make([]byte, 2*len(buffer))
	}
	const module = "github.com/readsplit/readsplit"
	for _, stack := range strings.Split(string(buffer), "\n\n") {
		client := strings.Contains(stack, module+"/bench/overhead") || strings.Contains(stack, module+"/bench/budget")
		ours := strings.NewReplacer(module+"/bench", "", module+"/testenv", "").Replace(stack)
		if strings.Contains(ours, module) && !client {
			n++
		}
	}
	return n
}
