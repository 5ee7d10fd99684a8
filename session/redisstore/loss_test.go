package redisstore

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// assertLost expects that everybody is unsure: on the primary for the window, and
// after it, for as long as an hour's token counts, with a position of now.
func assertLost(t *testing.T, s *Store, when string) {
	t.Helper()
	for user := range 40 {
		got := load(t, s, fmt.Sprint("anybody", user))
		now := time.Now()
		assert.WithinRange(t, got.Unsure, now.Add(4*time.Second), now.Add(5*time.Second), when)
		assert.WithinRange(t, got.Expires, now.Add(time.Hour-time.Minute), now.Add(time.Hour+2*time.Minute), when)
		if t.Failed() {
			return
		}
	}
}

func assertSure(t *testing.T, s *Store) {
	t.Helper()
	for user := range 40 {
		require.Equal(t, session.Token{}, load(t, s, fmt.Sprint("anybody", user)))
	}
}

func losses(s *Store) Losses { return s.Stats().Losses }

func TestRestartedEmpty(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	assertSure(t, s)
	redis.restart(t)
	assertLost(t, s, "restarted empty")
	assert.Empty(t, load(t, s, "ann").Positions)
	assert.Positive(t, losses(s).Empty)
	assert.Equal(t, uint64(41), s.Stats().Unsure)

	// Others find what the first has noted, and a token of now does not end it.
	other := reopen(t, redis.client(t), s.options)
	wrote(t, other, "anybody3", forAnHour(place(1, 1, 1, 5)))
	assertLost(t, other, "another process, restarted empty")
	assert.Zero(t, losses(other))
}

func TestRestartedFromAnOlderFile(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	redis.do(t, "SAVE")
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 9)))
	redis.restart(t)
	assertLost(t, s, "restarted from an older file")
	got := load(t, s, "ann")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions)
	assert.False(t, got.Unsure.IsZero())
	assert.Zero(t, losses(s).Empty)
	assert.Positive(t, losses(s).History)
}

// movable is a client that finds its server by a name, which moves.
func movable(t *testing.T, at *atomic.Pointer[server]) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: "redis.example:6379", Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at.Load().addr())
	}})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *server) info(t *testing.T, section string) string {
	t.Helper()
	text, err := s.client(t).Info(t.Context(), section).Result()
	require.NoError(t, err)
	return text
}

func (s *server) follow(t *testing.T, primary *server) {
	t.Helper()
	s.do(t, "REPLICAOF", "127.0.0.1", primary.port)
	until(t, "the replica follows", func() bool { return strings.Contains(s.info(t, "replication"), "master_link_status:up") })
}

// caughtUp waits until a replica has every key of its primary, which gets no new ones.
func (s *server) caughtUp(t *testing.T, primary *server) {
	t.Helper()
	until(t, "the replica has all keys", func() bool { return s.do(t, "DBSIZE").(int64) == primary.do(t, "DBSIZE").(int64) })
}

func TestPromotedWithoutTheLastWrite(t *testing.T) {
	t.Parallel()
	old, replica := start(t), start(t)
	replica.follow(t, old)
	var at atomic.Pointer[server]
	at.Store(old)
	s := open(t, movable(t, &at), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	replica.caughtUp(t, old)
	assertSure(t, s)

	replica.do(t, "REPLICAOF", "NO", "ONE")
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 9))) // on the old one, which has not heard of it
	at.Store(replica)
	old.kill()
	assertLost(t, s, "promoted without the last write")
	got := load(t, s, "ann")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions, "the last write is lost, or the test proves nothing")
	assert.False(t, got.Unsure.IsZero())
	assert.Positive(t, losses(s).History)
}

// A server that was demoted and promoted again has the same run and other data.
func TestPromotedAgain(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	b.follow(t, a)
	s := open(t, a.client(t), Options{})
	b.caughtUp(t, a)
	b.do(t, "REPLICAOF", "NO", "ONE") // nobody asks it for anything
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 9)))
	assertSure(t, s)
	a.follow(t, b)
	a.do(t, "REPLICAOF", "NO", "ONE")
	assertLost(t, s, "promoted again")
	assert.Empty(t, load(t, s, "ann").Positions, "the write is lost, or the test proves nothing")
	assert.Positive(t, losses(s).History)
}

func TestEvicted(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-random", "volatile-ttl"} {
		redis := start(t)
		client := redis.client(t)
		s := open(t, client, Options{Prefix: "test:" + policy})
		for n := range 200 {
			wrote(t, s, fmt.Sprint("user", n), forAnHour(place(1, 1, 1, 5)))
		}
		assertSure(t, s)
		redis.do(t, "CONFIG", "SET", "maxmemory-policy", policy)
		redis.do(t, "CONFIG", "SET", "maxmemory", 1) // bytes
		until(t, "something is evicted", func() bool {
			_ = client.Set(t.Context(), "other", "x", 0).Err() // out of memory, when nothing is left to evict
			return !strings.Contains(redis.info(t, "stats"), "evicted_keys:0\r")
		})
		redis.do(t, "CONFIG", "SET", "maxmemory", 0)
		assertLost(t, s, policy)
		gone := 0
		for n := range 200 {
			got := load(t, s, fmt.Sprint("user", n))
			require.False(t, got.Unsure.IsZero())
			if len(got.Positions) == 0 {
				gone++
			}
		}
		assert.Positive(t, gone, policy)
		assert.Positive(t, losses(s).Empty+losses(s).Evicted, policy)
	}
}

// With noeviction a server that is full refuses the write, and says so to all.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	other := reopen(t, redis.client(t), s.options)
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	redis.do(t, "CONFIG", "SET", "maxmemory", 1)
	err := s.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 9)))
	require.ErrorContains(t, err, "OOM")
	got := load(t, other, "ann")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions)
	assert.False(t, got.Unsure.IsZero(), "while the server is full")
	redis.do(t, "CONFIG", "SET", "maxmemory", 0)
	assert.False(t, load(t, other, "ann").Unsure.IsZero(), "and afterwards")
	assert.False(t, load(t, s, "ann").Unsure.IsZero())
}

// Where nobody can write, somebody's Advance may have failed.
func TestWritesRefused(t *testing.T) {
	t.Parallel()
	redis, replica := start(t), start(t)
	s := open(t, redis.client(t), Options{})
	redis.do(t, "CONFIG", "SET", "min-replicas-to-write", 1)
	got, err := s.Load(t.Context(), "ann")
	assert.ErrorContains(t, err, "NOREPLICAS")
	assert.WithinRange(t, got.Unsure, time.Now(), time.Now().Add(5*time.Second))
	redis.do(t, "CONFIG", "SET", "min-replicas-to-write", 0)
	assertSure(t, s)

	replica.follow(t, redis)
	onReplica := reopen(t, replica.client(t), s.options)
	_, err = onReplica.Load(t.Context(), "ann")
	assert.ErrorContains(t, err, "READONLY")
	assert.ErrorContains(t, onReplica.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 5))), "READONLY")
	replica.do(t, "CONFIG", "SET", "replica-read-only", "no")
	_, err = onReplica.Load(t.Context(), "ann")
	assert.ErrorContains(t, err, "READONLY")
}

// A server that may not say who it is leaves everybody unsure.
func TestBlind(t *testing.T) {
	t.Parallel()
	server := start(t)
	s := open(t, server.client(t), Options{})
	server.do(t, "ACL", "SETUSER", "app", "on", ">only-in-a-test", "~*", "+@all", "-info")
	client := redis.NewClient(&redis.Options{Addr: server.addr(), Username: "app", Password: "only-in-a-test"})
	defer client.Close()
	blind := reopen(t, client, s.options)
	wrote(t, blind, "ann", forAnHour(place(1, 1, 1, 5)))
	got := load(t, blind, "ann")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions)
	assert.WithinRange(t, got.Unsure, time.Now(), time.Now().Add(5*time.Second))
	assert.Equal(t, uint64(1), blind.Stats().Blind)
	assertSure(t, s)
}

// A loss counts for as long as tokens do that may have been lost.
func TestLossEnds(t *testing.T) {
	redis := start(t)
	const lifetime = 2 * time.Second // whoever looks on a busy machine sees that the window has passed before it
	o := Options{Prefix: "test:", Timeout: time.Second, Lifetime: lifetime, StickyWindow: 100 * time.Millisecond}
	s := reopen(t, redis.client(t), o)
	before := time.Now()
	first := load(t, s, "ann")
	assert.WithinRange(t, first.Unsure, before.Add(100*time.Millisecond), time.Now().Add(100*time.Millisecond))
	assert.WithinRange(t, first.Expires, before.Add(lifetime), time.Now().Add(lifetime))
	passed := false
	until(t, "the loss ends", func() bool {
		got := load(t, s, "ann")
		passed = passed || !got.Unsure.IsZero() && got.Unsure.Before(time.Now())
		return got.Unsure.IsZero()
	})
	assert.GreaterOrEqual(t, time.Since(before), lifetime)
	assert.True(t, passed, "first the window passes, and then the loss")
	assert.Equal(t, Losses{Empty: 1}, losses(s))

	// A process that knows of longer tokens makes it longer, for all.
	other := reopen(t, redis.client(t), o)
	wrote(t, other, "bob", forAnHour(place(1, 1, 1, 5)))
	load(t, other, "ann")
	assert.False(t, load(t, s, "ann").Unsure.IsZero())
	assert.Greater(t, time.Until(load(t, s, "ann").Expires), 50*time.Minute)
}
