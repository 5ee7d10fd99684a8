package session_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/storetest"
)

func TestMemoryIsAStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) session.Store {
		m := session.NewMemory(session.MemoryOptions{Lifetime: -1})
		t.Cleanup(func() { assert.NoError(t, m.Close()) })
		return m
	})
}

// clock is moved by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time          { return c.at }
func (c *clock) advance(d time.Duration) { c.at = c.at.Add(d) }

func memory(maxUsers int) (*session.Memory, *clock) {
	c := &clock{at: issued}
	return session.NewMemory(session.MemoryOptions{MaxUsers: maxUsers, Lifetime: -1, Now: c.now}), c
}

func wrote(t *testing.T, m *session.Memory, user string, token session.Token) {
	t.Helper()
	require.NoError(t, m.Advance(t.Context(), user, token))
}

func load(t *testing.T, m *session.Memory, user string) session.Token {
	t.Helper()
	token, err := m.Load(t.Context(), user)
	require.NoError(t, err)
	return token
}

func forAnHour(c *clock, p ...lsn.Position) session.Token {
	return session.Token{Issued: c.at, Expires: c.at.Add(time.Hour), Positions: p}
}

func TestMemoryExpires(t *testing.T) {
	m, c := memory(0)
	token := forAnHour(c, place(1, 1, 1, 5), place(2, 1, 1, 6))
	wrote(t, m, "ann", token)
	c.advance(time.Hour - time.Second)
	assert.Equal(t, session.Token{Issued: c.at, Expires: token.Expires, Positions: token.Positions}, load(t, m, "ann"))
	c.advance(time.Second)
	assert.Equal(t, session.Token{}, load(t, m, "ann"))

	// What has ended is no part of what comes after it.
	wrote(t, m, "ann", forAnHour(c, place(1, 1, 1, 4)))
	assert.Equal(t, forAnHour(c, place(1, 1, 1, 4)), load(t, m, "ann"))
	assert.Equal(t, session.MemoryStats{Users: 1}, m.Stats())
}

func TestMemoryDoubtEndsWithTheTokenThatBroughtIt(t *testing.T) {
	m, c := memory(0)
	doubt := session.Token{Issued: c.at, Expires: c.at.Add(time.Hour), Unsure: c.at.Add(5 * time.Second)}
	wrote(t, m, "ann", doubt)
	for range 3 { // a busy user
		c.advance(30 * time.Minute)
		wrote(t, m, "ann", forAnHour(c, place(1, 1, 1, 5)))
		want := forAnHour(c, place(1, 1, 1, 5))
		if c.at.Before(doubt.Expires) {
			want.Unsure = doubt.Unsure
		}
		assert.Equal(t, want, load(t, m, "ann"))
	}
}

func TestMemoryDoubtIsNotShortened(t *testing.T) {
	m, c := memory(0)
	long := session.Token{Expires: c.at.Add(time.Hour), Unsure: c.at.Add(9 * time.Second)}
	short := session.Token{Expires: c.at.Add(time.Minute), Unsure: c.at.Add(5 * time.Second)}
	for user, list := range map[string][]session.Token{"ann": {long, short}, "bob": {short, long}} {
		for _, token := range list {
			wrote(t, m, user, token)
		}
	}
	c.advance(2 * time.Minute)
	for _, user := range []string{"ann", "bob"} {
		assert.Equal(t, long.Unsure, load(t, m, user).Unsure, user)
	}
}

// Positions of a token that has expired do not come back with the next one, whether a
// sweep has found it or not.
func TestMemoryForgetsEveryPosition(t *testing.T) {
	m, c := memory(0)
	for i := range 20 {
		wrote(t, m, userName(i), forAnHour(c, place(1, 1, 1, 5), place(2, 1, 1, 6), place(3, 1, 1, 7)))
	}
	c.advance(time.Hour)
	for i := range 20 {
		wrote(t, m, userName(i), forAnHour(c, place(1, 1, 1, 1)))
		assert.Equal(t, forAnHour(c, place(1, 1, 1, 1)), load(t, m, userName(i)))
	}
	for i := range 20 {
		wrote(t, m, userName(i), forAnHour(c, place(2, 1, 1, 2)))
		assert.Equal(t, forAnHour(c, place(1, 1, 1, 1), place(2, 1, 1, 2)), load(t, m, userName(i)))
	}
}

func TestMemorySweepsWhatHasExpired(t *testing.T) {
	m, c := memory(-1)
	for i := range 10_000 {
		wrote(t, m, strconv.Itoa(i), forAnHour(c, place(1, 1, 1, 5)))
	}
	c.advance(time.Hour)
	for i := range 6_000 { // two old ones for each new one
		wrote(t, m, "new"+strconv.Itoa(i), forAnHour(c, place(1, 1, 1, 5)))
	}
	assert.LessOrEqual(t, m.Stats().Users, 7_000)
	assert.Zero(t, m.Stats().Evicted)
	for i := range 6_000 {
		require.Equal(t, forAnHour(c, place(1, 1, 1, 5)), load(t, m, "new"+strconv.Itoa(i)))
	}
}

// Whoever may have been evicted is unsure for as long as what was evicted counts.
func TestMemoryEvicted(t *testing.T) {
	m, c := memory(2)
	wrote(t, m, "ann", session.Token{Issued: c.at, Expires: c.at.Add(time.Minute), Unsure: c.at.Add(7 * time.Second), Positions: []lsn.Position{place(1, 1, 1, 5)}})
	wrote(t, m, "bob", forAnHour(c, place(1, 1, 1, 6)))
	assert.Equal(t, session.Token{}, load(t, m, "eve"), "nothing was evicted yet")

	ends := c.at.Add(time.Minute)
	wrote(t, m, "cid", forAnHour(c, place(1, 1, 1, 7)))
	assert.Equal(t, session.MemoryStats{Users: 2, Evicted: 1}, m.Stats())
	lost := session.Token{Issued: c.at, Expires: ends, Unsure: c.at.Add(7 * time.Second)}
	assert.Equal(t, lost, load(t, m, "ann"), "whose token ended first")
	assert.Equal(t, lost, load(t, m, "eve"), "who cannot be told from those who were evicted")
	assert.Equal(t, forAnHour(c, place(1, 1, 1, 6)), load(t, m, "bob"))

	// Ann comes back, with less than what was evicted.
	wrote(t, m, "ann", forAnHour(c, place(1, 1, 1, 1)))
	again := load(t, m, "ann")
	assert.Equal(t, lost.Unsure, again.Unsure)
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 1)}, again.Positions)

	// Bob or Cid had to go for her, an hour before the end of their tokens.
	c.advance(59 * time.Minute)
	assert.False(t, load(t, m, "eve").Unsure.IsZero())
	c.advance(time.Minute)
	assert.Equal(t, session.Token{}, load(t, m, "eve"))
}

// A loss lasts until the last of what was evicted would have ended.
func TestMemoryEvictedLongAndShort(t *testing.T) {
	m, c := memory(1)
	wrote(t, m, "ann", forAnHour(c, place(1, 1, 1, 5)))
	wrote(t, m, "bob", session.Token{Expires: c.at.Add(time.Minute), Positions: []lsn.Position{place(1, 1, 1, 5)}})
	wrote(t, m, "cid", forAnHour(c, place(1, 1, 1, 5)))
	require.Equal(t, 2, m.Stats().Evicted)
	assert.Equal(t, session.Token{Issued: c.at, Expires: c.at.Add(time.Hour), Unsure: c.at}, load(t, m, "ann"))
}

// What the process before had is lost: it cannot be told who had something in it.
func TestMemoryBeginsUnsure(t *testing.T) {
	c := &clock{at: issued}
	m := session.NewMemory(session.MemoryOptions{Now: c.now})
	lost := session.Token{Issued: issued, Expires: issued.Add(10 * time.Minute), Unsure: issued.Add(5 * time.Second)}
	assert.Equal(t, lost, load(t, m, "ann"))
	wrote(t, m, "bob", forAnHour(c, place(1, 1, 1, 5)))
	assert.Equal(t, session.Token{Issued: issued, Expires: issued.Add(time.Hour), Unsure: lost.Unsure, Positions: []lsn.Position{place(1, 1, 1, 5)}}, load(t, m, "bob"))
	c.advance(10*time.Minute - time.Second)
	assert.Equal(t, lost.Unsure, load(t, m, "ann").Unsure)
	assert.Equal(t, lost.Unsure, load(t, m, "bob").Unsure, "who may have had more")
	c.advance(time.Second)
	assert.Equal(t, session.Token{}, load(t, m, "ann"))
	assert.True(t, load(t, m, "bob").Unsure.IsZero())
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, load(t, m, "bob").Positions)

	m = session.NewMemory(session.MemoryOptions{Now: c.now, Lifetime: time.Second, StickyWindow: time.Minute})
	assert.Equal(t, session.Token{Issued: c.at, Expires: c.at.Add(time.Minute), Unsure: c.at.Add(time.Minute)}, load(t, m, "ann"), "a token outlives its doubt")
}

func TestMemoryIsBounded(t *testing.T) {
	const most = 50_000
	m, c := memory(most)
	for i := range 2 * most {
		wrote(t, m, strconv.Itoa(i), forAnHour(c, place(1, 1, 1, 5)))
	}
	stats := m.Stats()
	assert.Equal(t, session.MemoryStats{Users: most, Evicted: most}, stats)
	unsure, there := 0, 0
	for i := range 2 * most {
		switch token := load(t, m, strconv.Itoa(i)); {
		case !token.Unsure.IsZero():
			unsure++
		case len(token.Positions) == 1:
			there++
		}
	}
	assert.Equal(t, 2*most, unsure+there, "nobody was forgotten silently")
}

func TestMemoryClosed(t *testing.T) {
	m, c := memory(0)
	wrote(t, m, "ann", forAnHour(c, place(1, 1, 1, 5)))
	require.NoError(t, m.Close())
	require.NoError(t, m.Close())
	_, err := m.Load(t.Context(), "ann")
	assert.ErrorIs(t, err, session.ErrMemoryClosed)
	assert.ErrorIs(t, m.Advance(t.Context(), "ann", forAnHour(c)), session.ErrMemoryClosed)
	assert.Equal(t, session.MemoryStats{}, m.Stats())
}

// fill puts users into a new store and returns what each of them takes on the heap.
func fill(tb testing.TB, users int) (*session.Memory, float64) {
	tb.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := session.NewMemory(session.MemoryOptions{MaxUsers: -1, Lifetime: -1})
	token := session.Token{Expires: time.Now().Add(time.Hour), Positions: []lsn.Position{place(1, 1, 1, 5)}}
	for i := range users {
		token.Positions[0].LSN = lsn.LSN(i + 1)
		require.NoError(tb, m.Advance(tb.Context(), userName(i), token))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Equal(tb, users, m.Stats().Users)
	return m, float64(after.HeapAlloc-before.HeapAlloc) / float64(users)
}

func userName(i int) string { return fmt.Sprintf("user-%d@example.com", i) }

func TestMemoryOfAMillionUsers(t *testing.T) {
	const users = million
	m, bytes := fill(t, users)
	t.Logf("%.0f bytes per user", bytes)
	assert.Less(t, bytes, 130.0, "bytes per user")
	for i := range users {
		if i%1000 == 0 {
			require.Equal(t, lsn.LSN(i+1), load(t, m, userName(i)).Positions[0].LSN)
		}
	}
	allocs := testing.AllocsPerRun(1000, func() { _, _ = m.Load(t.Context(), "user-77@example.com") })
	assert.LessOrEqual(t, allocs, 1+forgotten, "the slice of positions")
	runtime.KeepAlive(m)
}

func BenchmarkMemory(b *testing.B) {
	const users = 1_000_000
	m, bytes := fill(b, users)
	names := make([]string, 1<<16)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range names {
		names[i] = userName(r.IntN(users))
	}
	token := session.Token{Expires: time.Now().Add(time.Hour), Positions: []lsn.Position{place(1, 1, 1, 5)}}
	run := func(name string, op func(user string)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.ReportMetric(bytes, "B/user")
			var next atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				for i := next.Add(1 << 12); pb.Next(); i++ {
					op(names[i%uint64(len(names))])
				}
			})
		})
	}
	run("Load", func(user string) { _, _ = m.Load(b.Context(), user) })
	run("Advance", func(user string) { _ = m.Advance(b.Context(), user, token) })
}
