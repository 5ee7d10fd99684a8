package readsplit

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blackhole is a server that swallows the first attempts to connect, as an address does
// that a name has left, and answers the others.
type blackhole struct {
	refusing
	swallows atomic.Int32
	mu       sync.Mutex
	open     int // connections that are open
	under    int // attempts that are under way
}

func (b *blackhole) Connect(ctx context.Context) (driver.Conn, error) {
	b.count(0, 1)
	defer b.count(0, -1)
	if b.swallows.Add(-1) >= 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	b.count(1, 0)
	return &holeConn{refusing: &b.refusing, of: b}, nil
}

func (b *blackhole) count(open, under int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.under = b.open+open, b.under+under
}

func (b *blackhole) counts() (open, under int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open, b.under
}

type holeConn struct {
	*refusing
	of *blackhole
}

func (c *holeConn) Close() error {
	c.of.count(-1, 0)
	return nil
}

// An attempt to connect that hangs is given time, and keeps nobody from noticing that the
// server can be reached by now.
func TestAnAttemptThatHangsIsNotWaitedFor(t *testing.T) {
	server := &blackhole{}
	server.swallows.Store(1)
	db := sql.OpenDB(server)
	defer db.Close()
	// It was begun for a question that has failed since.
	life, end := context.WithCancel(t.Context())
	d := &dialing{done: make(chan struct{}), cancel: end}
	go func() {
		defer close(d.done)
		d.conn, d.err = db.Conn(life)
	}()
	require.Eventually(t, func() bool { _, under := server.counts(); return under == 1 }, 10*time.Second, time.Millisecond)

	s := &source{dialer: &dialer{db: db, owned: true}, dialing: d}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	fresh, err := s.connect(ctx)
	require.NoError(t, err, "the next question does not wait for it")
	assert.True(t, fresh)
	open, under := server.counts()
	assert.Equal(t, []int{1, 0}, []int{open, under}, "nothing is left of the attempt")
	require.NoError(t, s.Close())
	open, _ = server.counts()
	assert.Zero(t, open)
}

// The attempt that takes long is what reaches a far server: what is tried beside it is
// gone when it ends.
func TestAnAttemptThatTakesLongIsWaitedFor(t *testing.T) {
	server := &blackhole{}
	server.swallows.Store(1)
	db := sql.OpenDB(server)
	defer db.Close()
	d := &dialing{done: make(chan struct{}), cancel: func() {}}
	s := &source{dialer: &dialer{db: db, owned: true}, dialing: d}
	go func() {
		defer close(d.done)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for _, under := server.counts(); under == 0; _, under = server.counts() {
			<-tick.C // until the other one is under way
		}
		d.conn, d.err = db.Conn(t.Context())
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	fresh, err := s.connect(ctx)
	require.NoError(t, err)
	assert.False(t, fresh, "it was begun for an earlier question")
	open, under := server.counts()
	assert.Equal(t, []int{1, 0}, []int{open, under})
	require.NoError(t, s.Close())
	open, _ = server.counts()
	assert.Zero(t, open)
}

// stubborn is a server that does not answer those who connect before it is let go, and whose
// driver waits for it whatever becomes of their contexts.
type stubborn struct {
	blackhole
	goes chan struct{}
}

func (s *stubborn) Connect(context.Context) (driver.Conn, error) {
	s.count(0, 1)
	defer s.count(0, -1)
	<-s.goes
	s.count(1, 0)
	return &holeConn{refusing: &s.refusing, of: &s.blackhole}, nil
}

// Connections that come too late are closed, and not left in the pool: whoever opens the next
// one would get one of them for a new one, to a server that the name may have left by then.
func TestConnectionsThatNobodyTakesAreClosed(t *testing.T) {
	closed := func(t *testing.T, server *blackhole) {
		t.Helper()
		open, under := server.counts()
		assert.Equal(t, []int{0, 0}, []int{open, under})
	}
	t.Run("of an attempt that is given up when it has succeeded", func(t *testing.T) {
		server := &blackhole{}
		db := sql.OpenDB(server)
		defer db.Close()
		d := &dialing{done: make(chan struct{}), cancel: func() {}}
		d.conn, d.err = db.Conn(t.Context())
		require.NoError(t, d.err)
		close(d.done)
		s := &source{dialer: &dialer{db: db, owned: true}, dialing: d}
		s.abandon()
		closed(t, server)
	})
	t.Run("of an attempt beside it", func(t *testing.T) {
		server := &blackhole{}
		db := sql.OpenDB(server)
		defer db.Close()
		s := &source{dialer: &dialer{db: db, owned: true}}
		_, end := s.beside(t.Context())
		require.Eventually(t, func() bool { open, _ := server.counts(); return open == 1 }, 10*time.Second, time.Millisecond)
		end()
		closed(t, server)
	})
	t.Run("of a driver that waits for ever", func(t *testing.T) {
		server := &stubborn{goes: make(chan struct{})}
		db := sql.OpenDB(server)
		defer db.Close()
		d := &dialer{db: db, owned: true, engine: &sqlServerReplica{}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := d.conn(ctx)
		require.ErrorIs(t, err, context.Canceled)
		close(server.goes)
		require.Eventually(t, func() bool { return len(d.hung.places()) == 0 }, 10*time.Second, time.Millisecond)
		closed(t, &server.blackhole)
	})
}

// A driver that waits for ever for a server that is frozen keeps no question longer than its
// time, also where an attempt to connect is under way since an earlier one.
func TestAnAttemptBesideItThatHangsForEver(t *testing.T) {
	server := &stubborn{goes: make(chan struct{})}
	db := sql.OpenDB(server)
	defer db.Close()
	s := &source{dialer: &dialer{db: db, owned: true, engine: &sqlServerReplica{}}}
	ended := make(chan error)
	go func() {
		var err error
		for range 2 {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			_, err = s.connect(ctx)
			cancel()
		}
		ended <- err
	}()
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(20 * time.Second):
		assert.Fail(t, "the question waits for the driver")
		defer func() { <-ended }()
	}
	close(server.goes)
}
