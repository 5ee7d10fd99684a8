package redisstore

import (
	"context"
	"net"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// meter counts what goes over a client's connections.
type meter struct{ writes, sent, received atomic.Int64 }

type meteredConn struct {
	net.Conn
	m *meter
}

func (c meteredConn) Write(b []byte) (int, error) {
	c.m.writes.Add(1)
	c.m.sent.Add(int64(len(b)))
	return c.Conn.Write(b)
}

func (c meteredConn) Read(b []byte) (n int, err error) {
	n, err = c.Conn.Read(b)
	c.m.received.Add(int64(n))
	return n, err
}

func (m *meter) client(tb testing.TB, addr string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: addr, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return meteredConn{conn, m}, err
	}})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// of returns round trips, bytes sent and bytes received of f.
func (m *meter) of(f func()) (trips, sent, received int64) {
	trips, sent, received = m.writes.Load(), m.sent.Load(), m.received.Load()
	f()
	return m.writes.Load() - trips, m.sent.Load() - sent, m.received.Load() - received
}

func TestOneRoundTrip(t *testing.T) {
	var m meter
	s := open(t, m.client(t, start(t).addr()), Options{Prefix: "readsplit:"})
	for range 3 {
		trips, sent, received := m.of(func() { wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5))) })
		assert.Equal(t, int64(1), trips)
		t.Logf("Advance: %d bytes to Redis, %d back", sent, received)
		assert.Less(t, sent+received, int64(400))
		trips, sent, received = m.of(func() { load(t, s, "ann") })
		assert.Equal(t, int64(1), trips)
		t.Logf("Load: %d bytes to Redis, %d back", sent, received)
		assert.Less(t, sent+received, int64(300))
		trips, _, _ = m.of(func() { load(t, s, "nobody") })
		assert.Equal(t, int64(1), trips)
	}
	// A script that Redis has forgotten is sent again, once.
	require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
	trips, _, _ := m.of(func() { load(t, s, "ann") })
	assert.Equal(t, int64(2), trips)
	trips, _, _ = m.of(func() { load(t, s, "ann") })
	assert.Equal(t, int64(1), trips)
	// What says nothing is not sent.
	trips, _, _ = m.of(func() { wrote(t, s, "ann", forAnHour()) })
	assert.Zero(t, trips)
}

// What is kept takes little room, and goes away by itself.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann@example.com", forAnHour(place(1, 1, 1, 5)))
	_, keys := keysOf(s.options.Prefix, "ann@example.com")
	assert.NotContains(t, keys[1], "ann")
	ttl := redis.do(t, "TTL", keys[1]).(int64)
	assert.InDelta(t, 3600, ttl, 2)
	assert.Equal(t, int64(-1), redis.do(t, "TTL", keys[0]), "a marker that expired would be a loss")
	t.Logf("a user takes %d bytes, a bucket's marker %d", redis.do(t, "MEMORY", "USAGE", keys[1]), redis.do(t, "MEMORY", "USAGE", keys[0]))
	assert.LessOrEqual(t, redis.do(t, "DBSIZE").(int64), int64(257))

	short := forAnHour(place(1, 1, 1, 5))
	short.Expires = time.Now().Add(200 * time.Millisecond)
	wrote(t, s, "bob", short)
	_, keys = keysOf(s.options.Prefix, "bob")
	until(t, "Redis forgets", func() bool { return redis.do(t, "EXISTS", keys[1]).(int64) == 0 })
}

// BenchmarkRedis tells what a request costs, next to a bare GET on the same server.
func BenchmarkRedis(b *testing.B) {
	server := startFor(b)
	var m meter
	client := m.client(b, server.addr())
	s, err := New(client, Options{Timeout: time.Second})
	require.NoError(b, err)
	token := forAnHour(place(1, 1, 1, 5))
	token.Expires = token.Issued.Add(24 * time.Hour)
	users := make([]string, 1000)
	for i := range users {
		users[i] = "user" + strconv.Itoa(i)
		require.NoError(b, s.Advance(b.Context(), users[i], token))
	}
	run := func(name string, op func(user string) error) {
		b.Run(name, func(b *testing.B) {
			require.NoError(b, client.ConfigResetStat(b.Context()).Err())
			trips, sent, received := m.of(func() {
				for i := 0; b.Loop(); i++ {
					if err := op(users[i%len(users)]); err != nil {
						b.Fatal(err)
					}
				}
			})
			n := float64(b.N)
			b.ReportMetric(cpuOf(b, client), "redis-us/op")
			b.ReportMetric(float64(trips)/n, "trips/op")
			b.ReportMetric(float64(sent)/n, "sentB/op")
			b.ReportMetric(float64(received)/n, "receivedB/op")
		})
	}
	run("GET", func(user string) error {
		err := client.Get(b.Context(), user).Err()
		if err == redis.Nil { //nolint:errorlint // it is what the client returns
			return nil
		}
		return err
	})
	run("Load", func(user string) error { _, err := s.Load(b.Context(), user); return err })
	run("Advance", func(user string) error { return s.Advance(b.Context(), user, token) })
	b.Run("Load/parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := s.Load(b.Context(), users[i%len(users)]); err != nil {
					b.Error(err)
				}
			}
		})
	})
	require.NoError(b, s.Close(context.Background()))
}

// cpuOf returns what the busiest command has taken in Redis, in us a call.
func cpuOf(b *testing.B, client *redis.Client) (most float64) {
	text, err := client.Info(b.Context(), "commandstats").Result()
	require.NoError(b, err)
	for _, found := range regexp.MustCompile(`cmdstat_(?:get|evalsha):.*usec_per_call=([0-9.]+)`).FindAllStringSubmatch(text, -1) {
		us, err := strconv.ParseFloat(found[1], 64)
		require.NoError(b, err)
		most = max(most, us)
	}
	return most
}
