package session_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

func ExampleKeys() {
	keys, err := session.NewKeys([]byte("use sixteen random bytes or more"))
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	text, err := keys.Encode(session.Token{
		Issued:  now,
		Expires: now.Add(10 * time.Minute),
		Positions: []lsn.Position{{
			History: lsn.History{System: 7304517213409421943, Timeline: 1, Incarnation: 1773500000123456},
			LSN:     0x16B374D8,
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// In another process, with the same key:
	token, err := keys.Decode(text, now.Add(5*time.Second))
	fmt.Println(token.Positions[0].LSN, err)

	// A text that was tampered with is refused; the session reads from the primary.
	_, err = keys.Decode(text[:len(text)-1]+"A", now)
	var refused *session.TokenError
	fmt.Println(errors.Is(err, session.ErrToken), errors.As(err, &refused) && refused.Kind == session.TokenBadSignature)
	// Output:
	// 0/16B374D8 <nil>
	// true true
}

func ExampleLifetime() {
	// The defaults of a configuration, and one that has no bound on staleness.
	fmt.Println(session.Lifetime(2*time.Second, time.Second, 5*time.Second))
	fmt.Println(session.Lifetime(-1, time.Second, 5*time.Second))
	// Output:
	// 5m6s
	// 720h0m0s
}
