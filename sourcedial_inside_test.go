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
