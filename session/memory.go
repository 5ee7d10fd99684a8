package session

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	defaultMaxUsers     = 1_000_000
	defaultLifetime     = 10 * time.Minute
	defaultStickyWindow = 5 * time.Second
	// maxShards is as many writers as can be in a Memory at once; a small one has
	// fewer shards, because each is bounded by what lies in it.
	maxShards     = 64
	usersPerShard = 4096
)

// ErrMemoryClosed is what a [Memory] says after Close.
var ErrMemoryClosed = errors.New("readsplit: session.Memory is closed: keep its users on the primary")

// MemoryOptions configure a [Memory]. Zero values are right.
type MemoryOptions struct {
	// MaxUsers is how many users are kept; beyond it those whose tokens end first
	// make room, and whoever comes for them is unsure. -1: no bound. Defaults to
	// 1,000,000, which takes about 90 MB.
	MaxUsers int
	// Lifetime is for how long after NewMemory everybody is unsure: as long as a token
	// may count that the memory of the process before had, which is gone. -1: there
	// was none. Defaults to 10 min.
	Lifetime time.Duration
	// StickyWindow is what readsplit.Config.StickyWindow is: how long the outcome of a
	// write from before NewMemory can stay unknown. Reads go to the primary for so
	// long, and after it to replicas that have what the primary has when they begin.
	// Defaults to 5 s.
	StickyWindow time.Duration
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Memory is a [Store] in the memory of one process: for an application of a single
// process, or one whose balancer sends a user to the same process always. It keeps a
// user's token until it expires, starts no goroutine and never waits; contexts make
// no difference to it. Names of users are not kept but hashed, with a key of its own:
// two users whose hashes are the same see each other's writes as if they were theirs.
type Memory struct {
	seed   maphash.Seed
	now    func() time.Time
	max    int64
	users  atomic.Int64
	evict  atomic.Int64
	mask   uint64
	shards []shard
}

var _ Store = (*Memory)(nil)

// NewMemory returns an empty store.
func NewMemory(o MemoryOptions) *Memory {
	m := &Memory{seed: maphash.MakeSeed(), now: o.Now, max: int64(o.MaxUsers)}
	if m.now == nil {
		m.now = time.Now
	}
	switch {
	case o.MaxUsers == 0:
		m.max = defaultMaxUsers
	case o.MaxUsers < 0:
		m.max = math.MaxInt64
	}
	n := 1 << bits.Len64(uint64(min(m.max/usersPerShard, maxShards-1)))
	m.mask, m.shards = uint64(n-1), make([]shard, n)
	lost, doubt := o.before(m.now())
	for i := range m.shards {
		m.shards[i].index = map[uint64]uint32{}
		m.shards[i].lostUntil, m.shards[i].lostUnsure = lost, doubt
	}
	return m
}

// before returns until when something counts that a process before had, and until
// when that may have been unsure.
func (o *MemoryOptions) before(now time.Time) (until, unsure uint32) {
	lifetime, window := o.Lifetime, o.StickyWindow
	if lifetime < 0 {
		return 0, 0
	}
	if lifetime == 0 {
		lifetime = defaultLifetime
	}
	if window <= 0 {
		window = defaultStickyWindow
	}
	return secondsOf(now.Add(max(lifetime, window))), secondsOf(now.Add(window))
}

// MemoryStats are the numbers of a [Memory].
type MemoryStats struct {
	// Users is how many are kept. Those whose tokens have expired count until they
	// are found.
	Users int
	// Evicted is how many made room for others although their tokens still counted.
	Evicted int
}

// Stats returns the numbers of m.
func (m *Memory) Stats() MemoryStats {
	return MemoryStats{Users: int(m.users.Load()), Evicted: int(m.evict.Load())}
}

// Load returns what user must see. It fails with [ErrMemoryClosed] only.
func (m *Memory) Load(_ context.Context, user string) (Token, error) {
	key, now := maphash.String(m.seed, user), m.now()
	s := &m.shards[key&m.mask]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		return Token{}, ErrMemoryClosed
	}
	t, _ := s.load(key, now)
	return t, nil
}

// Advance makes what is kept for user say at least what t says. It fails with
// [ErrMemoryClosed] only.
func (m *Memory) Advance(_ context.Context, user string, t Token) error {
	key, now := maphash.String(m.seed, user), m.now()
	s := &m.shards[key&m.mask]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.index == nil {
		return ErrMemoryClosed
	}
	if !t.Expires.After(now) || len(t.Positions) == 0 && t.Unsure.IsZero() {
		return nil // it says nothing, or nothing any more
	}
	m.users.Add(-int64(s.sweep(now)))
	if _, known := s.index[key]; !known && m.users.Add(1) > m.max && len(s.records) > 0 {
		if s.makeRoom(now) {
			m.evict.Add(1)
		}
		m.users.Add(-1)
	}
	s.advance(key, t, now)
	return nil
}

// Close forgets everybody. It may be called again.
func (m *Memory) Close() error {
	for i := range m.shards {
		s := &m.shards[i]
		s.mu.Lock()
		m.users.Add(-int64(len(s.records)))
		s.index, s.records, s.more = nil, nil, nil
		s.mu.Unlock()
	}
	return nil
}
