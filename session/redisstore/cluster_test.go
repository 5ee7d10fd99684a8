package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const slots = 16384

// startCluster starts a Redis Cluster of three primaries.
func startCluster(t *testing.T) (nodes []*server, client *redis.ClusterClient) {
	t.Helper()
	var addrs []string
	for n := range 3 {
		node := start(t, "--cluster-enabled", "yes")
		nodes, addrs = append(nodes, node), append(addrs, node.addr())
		node.do(t, "CLUSTER", "ADDSLOTSRANGE", n*slots/3, (n+1)*slots/3-1)
		node.do(t, "CLUSTER", "SET-CONFIG-EPOCH", n+1)
		node.do(t, "CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
	}
	for _, node := range nodes {
		until(t, "the cluster is complete", func() bool {
			info := node.do(t, "CLUSTER", "INFO").(string)
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	t.Cleanup(func() { _ = client.Close() })
	return nodes, client
}

func TestCluster(t *testing.T) {
	t.Parallel()
	nodes, client := startCluster(t)
	s := open(t, client, Options{})
	const users = 300
	for n := range users {
		wrote(t, s, fmt.Sprint("user", n), forAnHour(place(1, 1, 1, 5)))
	}
	assertSure(t, s)
	for _, node := range nodes {
		assert.Greater(t, node.do(t, "DBSIZE").(int64), int64(70), "users and markers are spread over the nodes")
	}

	// What one node loses makes its own users unsure, and nobody else.
	nodes[1].do(t, "FLUSHALL")
	unsure := 0
	for n := range users {
		user := fmt.Sprint("user", n)
		got := load(t, s, user)
		_, keys := keysOf(s.options.Prefix, user)
		slot, err := client.ClusterKeySlot(t.Context(), keys[1]).Result()
		require.NoError(t, err)
		its := slots/3 <= slot && slot < 2*slots/3
		require.Equal(t, its, !got.Unsure.IsZero(), "slot %d", slot)
		require.Equal(t, its, len(got.Positions) == 0, "slot %d", slot)
		if its {
			unsure++
		}
	}
	assert.Greater(t, unsure, users/5)
	assert.Less(t, unsure, users/2)
	assert.Equal(t, Losses{Empty: losses(s).Empty}, losses(s))

	// A cluster's replicas are not read from, whatever the client prefers.
	reader := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nodes[0].addr()}, ReadOnly: true, RouteRandomly: true})
	defer reader.Close()
	other := reopen(t, reader, s.options)
	for n := range 50 {
		user := fmt.Sprint("user", n)
		next := forAnHour(place(1, 1, 1, 7))
		wrote(t, other, user, next)
		require.Equal(t, next.Positions, load(t, s, user).Positions)
	}
}

func TestRingIsRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	_, err := New(ring, Options{})
	assert.ErrorContains(t, err, "client is a *redis.Ring")
}
