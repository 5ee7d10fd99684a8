package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	redis := start(t)
	client := redis.client(t)
	storetest.Run(t, func(t *testing.T) session.Store { return open(t, client, Options{}) },
		storetest.Peer(func(t *testing.T, s session.Store) session.Store {
			return reopen(t, redis.client(t), s.(*Store).options)
		}),
		storetest.Lose(func(t *testing.T, _ session.Store) { redis.do(t, "FLUSHALL") }),
		storetest.Stall(func(t *testing.T, _ session.Store) func() { return redis.freeze(t) }),
	)
}

func place(system uint64, timeline uint32, incarnation int64, at lsn.LSN) lsn.Position {
	return lsn.Position{History: lsn.History{System: system, Timeline: timeline, Incarnation: incarnation}, LSN: at}
}

func forAnHour(positions ...lsn.Position) session.Token {
	now := time.Now()
	return session.Token{Issued: now, Expires: now.Add(time.Hour), Positions: positions}
}

func load(t *testing.T, s *Store, user string) session.Token {
	t.Helper()
	token, err := s.Load(t.Context(), user)
	require.NoError(t, err)
	return token
}

func wrote(t *testing.T, s *Store, user string, token session.Token) {
	t.Helper()
	require.NoError(t, s.Advance(t.Context(), user, token))
}

// The script merges as session.Token.Merge does.
func TestScriptMergesAsTokensDo(t *testing.T) {
	t.Parallel()
	s := open(t, start(t).client(t), Options{})
	r := rand.New(rand.NewPCG(1, 2))
	values := []uint64{0x7f, 0x80, 0xff, 0x100, 1<<31 + 5, 1<<53 + 1, 1<<53 + 2, 1 << 63, 1<<64 - 1}
	value := func() uint64 { return values[r.IntN(len(values))] }
	merges := map[string]int{}
	for n := range 300 {
		user := fmt.Sprint("user", n)
		var want session.Token
		for range 1 + r.IntN(4) {
			token := forAnHour()
			for range r.IntN(4) {
				token.Positions = append(token.Positions, place(value(), uint32(value())|1, int64(value()), lsn.LSN(value())))
			}
			if r.IntN(4) == 0 {
				token.Unsure = time.Now().Add(time.Duration(r.IntN(100)-50) * time.Second)
			}
			if !token.Unsure.IsZero() {
				want.Positions = slices.DeleteFunc(want.Positions, func(p lsn.Position) bool {
					return !slices.ContainsFunc(token.Positions, func(q lsn.Position) bool { return p.System == q.System })
				})
			}
			want = want.Merge(token)
			wrote(t, s, user, token)
		}
		got := load(t, s, user)
		require.Equal(t, want.Positions, got.Positions, user)
		require.Equal(t, want.Unsure.IsZero(), got.Unsure.IsZero(), user)
		if want.Unsure.After(time.Now()) {
			require.WithinRange(t, got.Unsure, want.Unsure, want.Unsure.Add(5*time.Second), user)
		}
		if len(want.Positions) > 0 || !want.Unsure.IsZero() {
			require.WithinRange(t, got.Expires, want.Expires, want.Expires.Add(5*time.Second), user)
		}
		merges[fmt.Sprint(len(got.Positions), got.Unsure.IsZero())]++
	}
	for _, kind := range []string{"1 true", "2 true", "3 true", "3 false", "0 false"} {
		assert.Positive(t, merges[kind], "tokens of kind %s: %v", kind, merges)
	}
}

func TestDoubtEndsWithTheTokenThatBroughtIt(t *testing.T) {
	t.Parallel()
	s := open(t, start(t).client(t), Options{})
	now := time.Now()
	doubt := session.Token{Issued: now, Expires: now.Add(700 * time.Millisecond), Unsure: now.Add(300 * time.Millisecond)}
	wrote(t, s, "ann", doubt)
	wrote(t, s, "ann", forAnHour(place(1, 1, 1, 5)))
	first := load(t, s, "ann")
	require.True(t, !first.Unsure.IsZero() || time.Now().After(doubt.Expires))
	until(t, "the doubt ends", func() bool { return load(t, s, "ann").Unsure.IsZero() })
	assert.False(t, time.Now().Before(doubt.Expires), "not before its token")
	assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, load(t, s, "ann").Positions)
}

// What stands under a key and is not a token of this version says nothing, for sure.
func TestUnreadable(t *testing.T) {
	redis := start(t)
	s := open(t, redis.client(t), Options{})
	for n, command := range [][]any{
		{"SET", nil, "2;0;0;something of a later version"}, {"SET", nil, "1;0;0;cut off"}, {"SET", nil, ""}, {"LPUSH", nil, "a list"},
	} {
		user := fmt.Sprint("user", n)
		_, keys := keysOf(s.options.Prefix, user)
		command[1] = keys[1]
		redis.do(t, command...)
		got := load(t, s, user)
		assert.False(t, got.Unsure.IsZero(), "%v", command)
		assert.Empty(t, got.Positions)
		wrote(t, s, user, forAnHour(place(1, 1, 1, 5)))
		got = load(t, s, user)
		assert.False(t, got.Unsure.IsZero(), "%v", command)
		assert.Equal(t, []lsn.Position{place(1, 1, 1, 5)}, got.Positions)
	}
	marker := markerKey(s.options.Prefix, 7)
	redis.do(t, "SET", marker, "not a marker")
	for n := 0; ; n++ {
		user := fmt.Sprint("another", n)
		if bucket, _ := keysOf(s.options.Prefix, user); bucket == 7 {
			assert.False(t, load(t, s, user).Unsure.IsZero())
			assert.Equal(t, uint64(1), s.Stats().Losses.Empty)
			return
		}
	}
}

func TestOptions(t *testing.T) {
	client := start(t).client(t)
	_, err := New(nil, Options{Prefix: "{x}", Timeout: -1, StickyWindow: -1, Lifetime: -time.Hour})
	for _, want := range []string{"client is nil", `Options.Prefix is "{x}"`, "Options.Timeout is -1ns", "Options.StickyWindow is -1ns", "Options.Lifetime is -1h0m0s"} {
		assert.ErrorContains(t, err, want)
	}
	_, err = New(client, Options{StickyWindow: time.Hour})
	assert.ErrorContains(t, err, "Options.Lifetime is 10m0s: it must lie between StickyWindow, 1h0m0s")
	s := reopen(t, client, Options{})
	assert.Equal(t, Options{Prefix: "readsplit:", Timeout: 50 * time.Millisecond, Lifetime: 10 * time.Minute, StickyWindow: 5 * time.Second}, s.options)
}

func TestClose(t *testing.T) {
	s, err := New(start(t).client(t), Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close(context.Background()))
	require.NoError(t, s.Close(context.Background()))
	token, err := s.Load(t.Context(), "ann")
	assert.ErrorIs(t, err, ErrClosed)
	assert.WithinRange(t, token.Unsure, time.Now(), time.Now().Add(5*time.Second))
	assert.ErrorIs(t, s.Advance(t.Context(), "ann", forAnHour(place(1, 1, 1, 5))), ErrClosed)
	assert.NoError(t, s.Advance(t.Context(), "ann", session.Token{}), "which says nothing")
}
