package session_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// modelled is all that one user has advanced since their last token had expired.
type modelled struct {
	tokens []session.Token
	all    session.Token
}

// Whatever users, tokens and evictions follow each other: who wrote what counts finds it,
// or is unsure for as long as it counts; and nobody finds what they have not written.
func TestMemoryAgainstAModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	m, c := memory(20)
	users := map[string]*modelled{}
	unsure, sure := 0, 0
	for range 50_000 {
		c.advance(time.Duration(r.IntN(2)) * time.Second)
		user := fmt.Sprint(r.IntN(60))
		u := users[user]
		if u == nil || !u.all.Expires.After(c.at) {
			u = &modelled{}
			users[user] = u
		}
		if r.IntN(2) == 0 {
			token := session.Token{Expires: c.at.Add(time.Duration(1+r.IntN(90)) * time.Second)}
			for range r.IntN(3) {
				token.Positions = append(token.Positions, place(1+r.Uint64N(3), 1, 1, lsn.LSN(1+r.Uint64N(9))))
			}
			if r.IntN(30) == 0 {
				token.Unsure = c.at.Add(time.Duration(r.IntN(10)) * time.Second)
				token.Expires = token.Expires.Add(10 * time.Second)
			}
			token = session.Token{}.Merge(token)
			wrote(t, m, user, token)
			u.tokens, u.all = append(u.tokens, token), u.all.Merge(token)
			continue
		}
		got := load(t, m, user)
		for _, token := range u.tokens {
			if token.Expires.After(c.at) && (len(token.Positions) > 0 || !token.Unsure.IsZero()) {
				require.Empty(t, lacking(got, token), "%v lacks %v", got, token)
			}
		}
		for _, p := range got.Positions {
			require.Empty(t, lacking(session.Token{Positions: u.all.Positions}, session.Token{Positions: []lsn.Position{p}}), "nobody has written %v", p)
		}
		if got.Unsure.IsZero() {
			sure++
		} else {
			unsure++
		}
	}
	assert.Positive(t, m.Stats().Evicted)
	assert.LessOrEqual(t, m.Stats().Users, 20)
	assert.Greater(t, unsure, 1000)
	assert.Greater(t, sure, 1000)
}
