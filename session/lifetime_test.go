package session_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

func TestLifetime(t *testing.T) {
	const longest = session.MaxTokenLifetime
	for _, c := range []struct {
		name                string
		lag, sample, window time.Duration
		want                time.Duration
	}{
		{"the defaults", 2 * time.Second, time.Second, 5 * time.Second, 306 * time.Second},
		{"a window that is no longer than the bound", 2 * time.Second, time.Second, 3 * time.Second, 304 * time.Second},
		{"a bound of ten minutes", 10 * time.Minute, time.Minute, 11 * time.Minute, 16*time.Minute + time.Second},
		{"a window of an hour: a doubt lasts that long", time.Second, time.Second, time.Hour, time.Hour + 301*time.Second},
		{"no bound: no time proves anything", -1, time.Second, 5 * time.Second, longest},
		{"no bound given", 0, time.Second, 5 * time.Second, longest},
		{"more than a token may have", longest, time.Second, time.Second, longest},
		{"sums that overflow", math.MaxInt64, math.MaxInt64, math.MaxInt64, longest},
		{"a window that overflows", time.Second, time.Second, math.MaxInt64, longest},
		{"news that are never too old", time.Second, math.MaxInt64, time.Second, longest},
	} {
		assert.Equal(t, c.want, session.Lifetime(c.lag, c.sample, c.window), c.name)
	}
}

// A token is never taken for expired while it may say something that the bound on
// staleness does not say, however wrong the clocks; and two seconds less would be too
// short for some.
func TestLifetimeCoversWhatTheBoundDoesNot(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	tooShort := 0
	for range 100_000 {
		lag, sample := time.Second+upTo(time.Hour), upTo(time.Minute)
		lifetime := session.Lifetime(lag, sample, lag+sample)
		began := time.Unix(1_800_000_000, r.Int64N(1e9))
		skew := upTo(2*session.MaxTokenSkew) - session.MaxTokenSkew // of the reader against the writer
		age := upTo(lag + sample)
		if r.IntN(4) == 0 {
			age, skew = lag+sample-1, session.MaxTokenSkew
		}
		k := session.Keys{}
		text, err := k.Encode(session.Token{Issued: began, Expires: began.Add(lifetime)})
		require.NoError(t, err)
		token, err := k.Decode(text, began.Add(age+skew))
		require.NoError(t, err, "still needed: issued %v ago by true time, %v by the clocks, of %v", age, age+skew, lifetime)
		require.True(t, began.Add(age+skew).Before(token.Issued.Add(lifetime)))
		if !began.Add(age + skew).Before(token.Issued.Add(lifetime - 2*time.Second)) {
			tooShort++
		}
	}
	assert.Positive(t, tooShort)
}

// And it never counts for longer than its lifetime and what the clocks disagree by:
// whoever forges one gains no more.
func TestLifetimeEnds(t *testing.T) {
	k := session.Keys{}
	now := time.Unix(1_800_000_000, 0)
	lifetime := session.Lifetime(2*time.Second, time.Second, 5*time.Second)
	forged := session.Token{Issued: now.Add(session.MaxTokenSkew), Expires: now.Add(session.MaxTokenSkew + session.MaxTokenLifetime)}
	forged.Unsure = forged.Expires
	text, err := k.Encode(forged)
	require.NoError(t, err)
	token, err := k.Decode(text, now)
	require.NoError(t, err)
	assert.Equal(t, now.Add(session.MaxTokenSkew+lifetime).UTC(), token.Issued.Add(lifetime))
	_, err = k.Decode(text, now.Add(-time.Second))
	requireKind(t, session.TokenFuture, err)
}
