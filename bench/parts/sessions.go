package parts

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/readsplit/readsplit/bench/side"
	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// Token is what a token takes, signed.
type Token struct {
	Name           string
	Bytes          int // of the text
	Encode, Verify side.Alone
}

// Tokens measures tokens of one database and of as many as one can carry.
func Tokens(m Measure) ([]Token, error) {
	keys, err := session.NewKeys([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		return nil, err
	}
	var all []Token
	for _, n := range []int{1, session.MaxPositions} {
		now := time.Now()
		token := session.Token{Issued: now, Expires: now.Add(time.Hour)}
		for i := range n {
			token.Positions = append(token.Positions, lsn.Position{History: lsn.History{System: 7_000_000_000_000_000_000 + uint64(i), Timeline: 3, Incarnation: 11}, LSN: 0x16B374D848})
		}
		text, err := keys.Encode(token)
		if err != nil {
			return nil, err
		}
		if _, err := keys.Decode(text, now); err != nil {
			return nil, err
		}
		all = append(all, Token{
			Name: fmt.Sprintf("%d of %d databases", n, session.MaxPositions), Bytes: len(text),
			Encode: m(func(n int) {
				for range n {
					_, _ = keys.Encode(token)
				}
			}),
			Verify: m(func(n int) {
				for range n {
					_, _ = keys.Decode(text, now)
				}
			}),
		})
	}
	return all, nil
}

// SessionBytes is the memory of a user whom the process remembers, of so many.
func SessionBytes(ctx context.Context, users int) (float64, error) {
	before := heap()
	m := session.NewMemory(session.MemoryOptions{Lifetime: -1, MaxUsers: users})
	token := session.Token{Issued: time.Now(), Expires: time.Now().Add(time.Hour), Positions: []lsn.Position{{History: history, LSN: 1}}}
	for i := range users {
		token.Positions[0].LSN = lsn.LSN(i + 1)
		if err := m.Advance(ctx, strconv.Itoa(i), token); err != nil {
			return 0, err
		}
	}
	held := float64(heap()-before) / float64(users)
	if n := m.Stats().Users; n != users {
		return 0, fmt.Errorf("parts: of %d users %d are remembered", users, n)
	}
	return held, m.Close()
}

// heap is what lies on the heap after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
