package redisstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

// Timeouts of the client, and contexts without an end, do not make a request wait.
func TestFrozen(t *testing.T) {
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	s.options.Timeout = 50 * time.Millisecond
	resume := redis.freeze(t)
	for range 3 {
		began := time.Now()
		token, err := s.Load(context.Background(), "ann")
		assert.ErrorIs(t, err, ErrTimeout)
		assert.WithinRange(t, token.Unsure, began, time.Now().Add(5*time.Second))
		assert.ErrorIs(t, s.Advance(context.Background(), "ann", forAnHour(place(1, 1, 1, 5))), ErrTimeout)
		took := time.Since(began)
		assert.GreaterOrEqual(t, took, 100*time.Millisecond)
		assert.Less(t, took, 2*time.Second)
	}
	var wg sync.WaitGroup
	for range 2 * inFlight {
		wg.Go(func() {
			_, err := s.Load(context.Background(), "ann")
			assert.ErrorIs(t, err, ErrTimeout)
		})
	}
	wg.Wait()
	assert.Equal(t, uint64(3), s.Stats().AdvanceFailures)
	assert.GreaterOrEqual(t, s.Stats().Timeouts, uint64(6+2*inFlight))
	resume()
	until(t, "it answers again", func() bool { _, err := s.Load(t.Context(), "ann"); return err == nil })
}

// An Advance that failed makes other processes unsure, without another call of this one.
func TestFailedAdvanceIsReported(t *testing.T) {
	t.Parallel()
	server := start(t)
	var cut atomic.Bool
	cutOff := errors.New("cut off")
	client := redis.NewClient(&redis.Options{Addr: server.addr(), MaxRetries: -1, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if cut.Load() {
			return nil, cutOff
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &cuttable{Conn: conn, cut: &cut}, err
	}})
	defer client.Close()
	s := open(t, client, Options{})
	other := reopen(t, server.client(t), s.options)
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))

	cut.Store(true)
	require.Error(t, s.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 9))))
	assert.Equal(t, 1, s.Stats().Owed)
	_, err := s.Load(t.Context(), "ann")
	require.Error(t, err)
	assert.True(t, load(t, other, "ann").Unsure.IsZero(), "which nobody can notice: as the documentation says")

	cut.Store(false)
	until(t, "the failure is reported", func() bool { return s.Stats().Owed == 0 })
	got := load(t, other, "ann")
	assert.False(t, got.Unsure.IsZero())
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions)
	assert.Equal(t, Losses{Empty: 1}, losses(other))
	assert.False(t, load(t, s, "ann").Unsure.IsZero())

	// The goroutine has ended, and comes back for the next failure.
	s.debts.wg.Wait()
	cut.Store(true)
	require.Error(t, s.Advance(t.Context(), "bob", forAnHour(place(1, 1, 1, 9))))
	cut.Store(false)
	until(t, "the next failure is reported", func() bool { return s.Stats().Owed == 0 })
	assert.False(t, load(t, other, "bob").Unsure.IsZero())
}

// cuttable is a connection that breaks when the network does.
type cuttable struct {
	net.Conn
	cut *atomic.Bool
}

func (c *cuttable) Write(b []byte) (int, error) {
	if c.cut.Load() {
		return 0, errors.New("cut off")
	}
	return c.Conn.Write(b)
}

// The next call for the bucket reports the failure itself, in its own round trip.
func TestFailedAdvanceIsReportedByTheNextCall(t *testing.T) {
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	bucket, _ := keysOf(s.options.Prefix, "ann")
	s.debts.owe(bucket, func() {}) // and no goroutine
	assert.False(t, load(t, s, "ann").Unsure.IsZero())
	assert.Equal(t, Losses{Reported: 1}, losses(s))
	assert.Zero(t, s.Stats().Owed)
	assert.False(t, load(t, reopen(t, redis.client(t), s.options), "ann").Unsure.IsZero())
}

// A client that goes on whatever its context says is not called without bounds.
func TestClientThatHangs(t *testing.T) {
	s := reopen(t, start(t).client(t), Options{})
	hangs := make(chan struct{})
	var called atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range 2 * inFlight {
		wg.Go(func() {
			_, err := s.do(context.Background(), func(context.Context) (any, error) {
				called.Add(1)
				<-hangs
				return nil, nil
			})
			assert.ErrorIs(t, err, ErrTimeout)
		})
	}
	wg.Wait()
	assert.Less(t, time.Since(began), 10*time.Second)
	assert.Equal(t, int64(inFlight), called.Load())
	assert.Len(t, s.slots, inFlight)
	close(hangs)
	until(t, "the calls end", func() bool { return len(s.slots) == 0 })
}

// Many at once wait for each other, and none of them fails.
func TestManyAtOnce(t *testing.T) {
	s := open(t, start(t).client(t), Options{Timeout: 10 * time.Second})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	var wg sync.WaitGroup
	for range 4 * inFlight {
		wg.Go(func() {
			token, err := s.Load(t.Context(), "ann")
			if assert.NoError(t, err) {
				assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, token.Positions)
			}
		})
	}
	wg.Wait()
}

func TestDebts(t *testing.T) {
	d := debts{owed: map[byte]uint64{}, done: make(chan struct{})}
	d.owe(1, func() {})
	first := d.of(1)
	d.owe(1, func() {}) // while the first one is paid
	d.paid(1, first)
	assert.NotZero(t, d.of(1))
	assert.False(t, d.over())
	d.paid(1, d.of(1))
	assert.Zero(t, d.of(1))
	assert.True(t, d.over())
	d.owe(2, func() {})
	assert.Len(t, d.all(time.Hour), 1)
	assert.Empty(t, d.all(0), "too old to count")
	assert.True(t, d.over())
	d.wg.Wait()
}

// A client that hangs up does not lose what its request has written.
func TestAdvanceGoesOnWithoutItsClient(t *testing.T) {
	s := open(t, start(t).client(t), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, s.Advance(ctx, "ann", forAnHour(place(1, 1, 1, 5))))
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, load(t, s, "ann").Positions)
	_, err := s.Load(ctx, "ann")
	assert.ErrorIs(t, err, context.Canceled)
}

func TestDown(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	redis.kill()
	token, err := s.Load(t.Context(), "ann")
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "ann")
	assert.WithinRange(t, token.Unsure, time.Now(), time.Now().Add(5*time.Second))
	require.Error(t, s.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 9))))
	redis.restart(t)
	until(t, "the failure is reported", func() bool { return s.Stats().Owed == 0 })
	assert.False(t, load(t, s, "ann").Unsure.IsZero())
}

// Close reports what it can, and does not wait for ever.
func TestCloseReports(t *testing.T) {
	t.Parallel()
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	bucket, _ := keysOf(s.options.Prefix, "ann")
	s.debts.owe(bucket, func() {})
	require.NoError(t, s.Close(t.Context()))
	assert.Zero(t, s.Stats().Owed)
	assert.False(t, load(t, reopen(t, redis.client(t), s.options), "ann").Unsure.IsZero())

	frozen, err := New(redis.client(t), s.options)
	require.NoError(t, err)
	frozen.options.Timeout = 20 * time.Millisecond
	resume := redis.freeze(t)
	require.Error(t, frozen.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 9))))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err = frozen.Close(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	resume()
	require.NoError(t, frozen.Close(t.Context()))
}
