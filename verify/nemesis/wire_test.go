package nemesis

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

// A damaged token is never empty, which would be no token, and never accepted.
func TestDamaged(t *testing.T) {
	const key = "sixteen bytes or more"
	keys, err := session.NewKeys([]byte(key))
	require.NoError(t, err)
	now := time.Now()
	text, err := keys.Encode(session.Token{Issued: now, Expires: now.Add(time.Hour), Unsure: now.Add(time.Minute)})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(1, 1))
	changed := 0
	for range 2000 {
		d := damaged(rng, text)
		require.NotEmpty(t, d)
		if d != text {
			changed++
			_, err := keys.Decode(d, now)
			require.ErrorIs(t, err, session.ErrToken, d)
		}
	}
	assert.InDelta(t, 1000, changed, 200)
}

// A wrong clock moves the times, and the token still counts as signed.
func TestWrongClock(t *testing.T) {
	post, err := NewPost("sixteen bytes or more")
	require.NoError(t, err)
	now := time.Now()
	text, err := post.keys.Encode(session.Token{Issued: now, Expires: now.Add(time.Hour), Unsure: now.Add(time.Minute)})
	require.NoError(t, err)
	undo, err := wrongClock(t.Context(), &Env{Post: post}, Step{Size: 502})
	require.NoError(t, err)
	moved, err := post.keys.Decode(post.Carry(text), now)
	require.NoError(t, err)
	assert.WithinDuration(t, now.Add(time.Minute), moved.Issued, time.Second)
	require.NoError(t, undo())
	assert.Equal(t, text, post.Carry(text))
}
