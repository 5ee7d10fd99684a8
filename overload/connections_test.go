package overload_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/overload"
)

func TestConnections(t *testing.T) {
	pool := func(name string, n int) overload.PoolLimit { return overload.PoolLimit{Name: name, MaxOpen: n} }
	for name, c := range map[string]struct {
		in                overload.Connections
		available, needed int
		fitting           []int
		text              string
	}{
		"fits": {
			in:        overload.Connections{MaxConnections: 100, Reserved: 3, Own: 1, Pools: []overload.PoolLimit{pool("P", 64)}},
			available: 97, needed: 65, fitting: []int{64},
			text: "pg2 takes 97 connections (max_connections 100 less 3 reserved), and 65 may be opened there: 65 by this process (P 64; 1 of the plugin's own), times Config.Instances, 1",
		},
		"too many": {
			in:        overload.Connections{MaxConnections: 20, Reserved: 3, Own: 1, Pools: []overload.PoolLimit{pool("P", 64)}},
			available: 17, needed: 65, fitting: []int{16},
			text: "pg2 takes 17 connections (max_connections 20 less 3 reserved), and 65 may be opened there: 65 by this process (P 64; 1 of the plugin's own), times Config.Instances, 1" +
				"; set P to at most 16, or max_connections to at least 68",
		},
		"too many instances": {
			in:        overload.Connections{MaxConnections: 100, Reserved: 10, Own: 2, Instances: 3, Pools: []overload.PoolLimit{pool("P", 30), pool("Q", 10)}},
			available: 90, needed: 126, fitting: []int{20, 7},
			text: "pg2 takes 90 connections (max_connections 100 less 10 reserved), and 126 may be opened there: 42 by this process (P 30; Q 10; 2 of the plugin's own), times Config.Instances, 3" +
				"; set P to at most 20 and Q to at most 7, or max_connections to at least 136",
		},
		"without a limit": {
			in:        overload.Connections{MaxConnections: 100, Reserved: 3, Own: 2, Pools: []overload.PoolLimit{pool("app", 0), pool("Q", 10)}},
			available: 97, needed: 12, fitting: []int{85, 10},
			text: "pg2 takes 97 connections (max_connections 100 less 3 reserved), and 12 may be opened there: 12 by this process (app without a limit, not counted; Q 10; 2 of the plugin's own), times Config.Instances, 1" +
				"; set app to at most 85",
		},
		"no room at all": {
			in:        overload.Connections{MaxConnections: 20, Reserved: 3, Own: 2, Instances: 9, Pools: []overload.PoolLimit{pool("P", 1)}},
			available: 17, needed: 27,
			text: "pg2 takes 17 connections (max_connections 20 less 3 reserved), and 27 may be opened there: 3 by this process (P 1; 2 of the plugin's own), times Config.Instances, 9" +
				"; set max_connections to at least 30, or run fewer instances",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Servers = []string{"pg2"}
			got := c.in.WithSum()
			assert.Equal(t, [2]int{c.available, c.needed}, [2]int{got.Available, got.Needed})
			assert.Equal(t, c.needed <= c.available, got.Fits())
			assert.Equal(t, c.fitting, got.Fitting())
			assert.Equal(t, c.text, got.String())
			if c.fitting != nil {
				for i := range got.Pools {
					got.Pools[i].MaxOpen = c.fitting[i]
				}
				assert.True(t, got.WithSum().Fits(), "what is advised fits")
				assert.Empty(t, got.Unlimited())
			}
		})
	}
}
