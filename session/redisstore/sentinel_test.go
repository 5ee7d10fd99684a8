package redisstore

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/lsn"
)

// A failover by Sentinel: calls fail, users are on the primary of the database; then
// the promoted replica serves, and everybody is unsure.
func TestSentinel(t *testing.T) {
	t.Parallel()
	primary, replica := start(t), start(t)
	replica.follow(t, primary)
	sentinel := start(t, "--sentinel")
	sentinel.do(t, "SENTINEL", "MONITOR", "store", "127.0.0.1", primary.port, 1)
	sentinel.do(t, "SENTINEL", "SET", "store", "down-after-milliseconds", 300, "failover-timeout", 3000)
	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "store", SentinelAddrs: []string{sentinel.addr()}})
	t.Cleanup(func() { _ = client.Close() })
	s := open(t, client, Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	assertSure(t, s)
	replica.caughtUp(t, primary)
	until(t, "the sentinel knows the replica", func() bool { return len(sentinel.do(t, "SENTINEL", "REPLICAS", "store").([]any)) == 1 })

	s.options.Timeout = 50 * time.Millisecond
	primary.kill()
	failed := 0
	until(t, "the promoted replica serves", func() bool {
		got, err := s.Load(t.Context(), "ann")
		if err != nil {
			failed++
			assert.WithinRange(t, got.Unsure, time.Now(), time.Now().Add(5*time.Second))
		}
		return err == nil
	})
	assert.Positive(t, failed)
	s.options.Timeout = time.Second
	assertLost(t, s, "promoted by a sentinel")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, load(t, s, "ann").Positions)
	assert.False(t, load(t, s, "ann").Unsure.IsZero())
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 9)))
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 9)}, load(t, s, "ann").Positions)
}
