package session_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

var (
	issued = time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)
	oldKey = []byte("sixteen bytes ok")
	newKey = []byte("another key, and a longer one than the other")
)

func position(system uint64, at lsn.LSN) lsn.Position {
	return lsn.Position{
		History: lsn.History{System: system, Timeline: 3, Incarnation: 1_773_500_000_123_456},
		LSN:     at,
	}
}

// full is the largest token that there is.
func full() session.Token {
	return session.Token{
		Issued:    issued,
		Expires:   issued.Add(session.MaxTokenLifetime),
		Unsure:    issued.Add(7 * time.Second),
		Positions: []lsn.Position{position(1, 0xFFFFFFFFFFFFFFFF), position(2, 1), position(0xFFFFFFFFFFFFFFFF, 0x16B374D848)},
	}
}

func mustKeys(t testing.TB, keys ...[]byte) session.Keys {
	t.Helper()
	k, err := session.NewKeys(keys...)
	require.NoError(t, err)
	return k
}

func mustEncode(t testing.TB, k session.Keys, token session.Token) string {
	t.Helper()
	text, err := k.Encode(token)
	require.NoError(t, err)
	return text
}

func requireKind(t testing.TB, want session.TokenErrorKind, err error) {
	t.Helper()
	require.ErrorIs(t, err, session.ErrToken)
	var refused *session.TokenError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, want, refused.Kind, "%v", err)
}

func TestTokenRoundTrip(t *testing.T) {
	one := session.Token{Issued: issued, Expires: issued.Add(time.Minute), Positions: []lsn.Position{position(9, 77)}}
	tokens := map[string]session.Token{
		"largest":          full(),
		"one position":     one,
		"unsure, no place": {Issued: issued, Expires: issued.Add(time.Hour), Unsure: issued.Add(time.Hour)},
		"nothing at all":   {Issued: issued, Expires: issued.Add(time.Second)},
		"at 1970":          {Issued: time.Unix(0, 0).UTC(), Expires: time.Unix(1, 0).UTC(), Unsure: time.Unix(0, 0).UTC()},
		"history in part":  {Issued: issued, Expires: issued.Add(time.Second), Positions: []lsn.Position{{History: lsn.History{Timeline: 1}, LSN: 1}}},
		"negative start":   {Issued: issued, Expires: issued.Add(time.Second), Positions: []lsn.Position{{History: lsn.History{Incarnation: -1}, LSN: 1}}},
	}
	for name, token := range tokens {
		for _, k := range []session.Keys{{}, mustKeys(t, newKey), mustKeys(t, newKey, oldKey)} {
			t.Run(fmt.Sprintf("%s/%s", name, k), func(t *testing.T) {
				text := mustEncode(t, k, token)
				got, err := k.Decode(text, token.Issued)
				require.NoError(t, err)
				assert.Equal(t, token, got)
				assert.Equal(t, text, mustEncode(t, k, token), "not deterministic")
				assert.Regexp(t, `^r1\.[A-Za-z0-9_-]+$`, text)
			})
		}
	}
	assert.Len(t, mustEncode(t, mustKeys(t, newKey), full()), session.MaxTokenLength)
	assert.Less(t, session.MaxTokenLength, 200)
	assert.Len(t, mustEncode(t, mustKeys(t, newKey), one), 75)
}

// The format is read by processes of other versions: these texts must not change.
func TestTokenTextIsStable(t *testing.T) {
	token := session.Token{Issued: issued, Expires: issued.Add(time.Minute), Positions: []lsn.Position{position(9, 77)}}
	assert.Equal(t, "r1.AQBptXomAAAAPAAAAAAAAAAJAAAAAwAGTP0lhDpAAAAAAAAAAE1LA4Id", mustEncode(t, session.Keys{}, token))
	assert.Equal(t, "r1.CQBptXomAAAAPAAAAAAAAAAJAAAAAwAGTP0lhDpAAAAAAAAAAE0HB4KGAUnoZ8GPjfCbPqYo", mustEncode(t, mustKeys(t, newKey), token))
}

func TestTokenRoundsOutwardsAndSorts(t *testing.T) {
	zone := time.FixedZone("elsewhere", -3*3600)
	token := session.Token{
		Issued:    issued.Add(999 * time.Millisecond).In(zone),
		Expires:   issued.Add(time.Minute + time.Nanosecond),
		Unsure:    issued.Add(5*time.Second + 500*time.Millisecond),
		Positions: []lsn.Position{position(3, 30), position(1, 10), position(2, 20)},
	}
	before := append([]lsn.Position(nil), token.Positions...)
	text := mustEncode(t, session.Keys{}, token)
	got, err := session.Keys{}.Decode(text, issued)
	require.NoError(t, err)
	assert.Equal(t, session.Token{
		Issued: issued, Expires: issued.Add(time.Minute + time.Second), Unsure: issued.Add(6 * time.Second),
		Positions: []lsn.Position{position(1, 10), position(2, 20), position(3, 30)},
	}, got)
	assert.Equal(t, before, token.Positions, "Encode must leave its argument alone")

	longest := session.Token{Issued: issued.Add(time.Millisecond), Expires: issued.Add(time.Millisecond + session.MaxTokenLifetime)}
	got, err = session.Keys{}.Decode(mustEncode(t, session.Keys{}, longest), issued)
	require.NoError(t, err, "the longest lifetime must be allowed at every fraction of a second")
	assert.Equal(t, session.MaxTokenLifetime+time.Second, got.Expires.Sub(got.Issued))
}

func TestEncodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*session.Token)
		want   string
	}{
		"no Issued":            {func(t *session.Token) { t.Issued = time.Time{} }, "Token.Issued is 0001-01-01"},
		"Issued in year 40000": {func(t *session.Token) { t.Issued = time.Unix(1<<40, 0) }, "Token.Issued is"},
		"no Expires":           {func(t *session.Token) { t.Expires = time.Time{} }, "and before Issued"},
		"Expires early":        {func(t *session.Token) { t.Expires = t.Issued.Add(-time.Nanosecond) }, "and before Issued"},
		"too long":             {func(t *session.Token) { t.Expires = t.Issued.Add(session.MaxTokenLifetime + 2*time.Second) }, "at most 720h0m0s"},
		"Unsure too late":      {func(t *session.Token) { t.Unsure = t.Expires.Add(time.Second) }, "Token.Unsure is 1 s after Expires"},
		"Unsure before 1970":   {func(t *session.Token) { t.Unsure = time.Unix(-1, 0) }, "Token.Unsure is"},
		"four positions":       {func(t *session.Token) { t.Positions = append(t.Positions, position(4, 4)) }, "Token.Positions has 4 entries"},
		"zero position":        {func(t *session.Token) { t.Positions[1] = lsn.Position{} }, "not a place in a history"},
		"no LSN":               {func(t *session.Token) { t.Positions[1].LSN = 0 }, "not a place in a history"},
		"no history":           {func(t *session.Token) { t.Positions[1].History = lsn.History{} }, "not a place in a history"},
		"one cluster twice": {func(t *session.Token) {
			t.Positions[2] = lsn.Position{History: lsn.History{System: 1, Timeline: 9, Incarnation: 9}, LSN: 9}
		}, "same database cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			token := full()
			c.change(&token)
			text, err := session.Keys{}.Encode(token)
			require.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "readsplit: token cannot be encoded: ")
			assert.Empty(t, text)
		})
	}
}

func TestDecodeLooksAtTheClock(t *testing.T) {
	token := full()
	for name, k := range map[string]session.Keys{"unsigned": {}, "signed": mustKeys(t, newKey)} {
		t.Run(name, func(t *testing.T) {
			text := mustEncode(t, k, token)
			for _, now := range []time.Time{
				token.Issued, token.Issued.Add(-session.MaxTokenSkew), token.Expires.Add(-time.Nanosecond),
			} {
				_, err := k.Decode(text, now)
				require.NoError(t, err, "%v", now)
			}
			for _, now := range []time.Time{token.Expires, token.Expires.AddDate(10, 0, 0)} {
				got, err := k.Decode(text, now)
				requireKind(t, session.TokenExpired, err)
				assert.Equal(t, token, got, "an expired token keeps its positions")
			}
			got, err := k.Decode(text, token.Issued.Add(-session.MaxTokenSkew-time.Nanosecond))
			requireKind(t, session.TokenFuture, err)
			assert.Equal(t, session.Token{}, got)
		})
	}
}

func TestKeyRotation(t *testing.T) {
	before, during, after := mustKeys(t, oldKey), mustKeys(t, newKey, oldKey), mustKeys(t, newKey)
	prepared := mustKeys(t, oldKey, newKey)
	old := mustEncode(t, before, full())
	assert.Equal(t, old, mustEncode(t, prepared, full()), "the first key signs")
	fresh := mustEncode(t, during, full())
	assert.Equal(t, fresh, mustEncode(t, after, full()))
	assert.NotEqual(t, old, fresh)

	for _, k := range []session.Keys{during, prepared} {
		for _, text := range []string{old, fresh} {
			got, err := k.Decode(text, issued)
			require.NoError(t, err)
			assert.Equal(t, full(), got)
		}
	}
	_, err := after.Decode(old, issued)
	requireKind(t, session.TokenBadSignature, err)
	_, err = before.Decode(fresh, issued)
	requireKind(t, session.TokenBadSignature, err)
}

func TestNewKeysRefusesShortKeysWithoutShowingThem(t *testing.T) {
	_, err := session.NewKeys(newKey, []byte("hunter2"), oldKey, nil)
	require.EqualError(t, err, "readsplit: token keys: key 2 has 7 bytes, key 4 has 0 bytes: each must have at least 16; use that many random bytes")
	assert.NotContains(t, err.Error(), "hunter2")

	none := mustKeys(t)
	assert.False(t, none.Signed())
	assert.Equal(t, session.Keys{}, none)
	assert.True(t, mustKeys(t, oldKey).Signed())
}

func TestKeysAreNotPrinted(t *testing.T) {
	k := mustKeys(t, newKey, oldKey)
	encoded, err := json.Marshal(struct{ K session.Keys }{k})
	require.NoError(t, err)
	mustEncode(t, k, full()) // fills the pool
	for _, text := range []string{
		fmt.Sprintf("%v", k), fmt.Sprintf("%+v", struct{ K session.Keys }{k}), fmt.Sprintf("%#v", k), string(encoded),
	} {
		assert.NotContains(t, text, "another")
		assert.NotContains(t, text, "97 110") // "an" as bytes
		assert.NotContains(t, text, "0xc0")
	}
	assert.Equal(t, "2 token keys", k.String())
}

func TestKeysCopyTheirInput(t *testing.T) {
	mine := append([]byte(nil), newKey...)
	k := mustKeys(t, mine)
	clear(mine)
	assert.Equal(t, mustEncode(t, mustKeys(t, newKey), full()), mustEncode(t, k, full()))
}

func TestTokenErrorText(t *testing.T) {
	secret := mustEncode(t, mustKeys(t, newKey), full())
	for kind, err := range map[session.TokenErrorKind]error{
		session.TokenMalformed:    second(session.Keys{}.Decode("nonsense-that-must-not-be-logged", issued)),
		session.TokenVersion:      second(session.Keys{}.Decode("r2."+secret[3:], issued)),
		session.TokenUnsigned:     second(mustKeys(t, newKey).Decode(mustEncode(t, session.Keys{}, full()), issued)),
		session.TokenBadSignature: second(session.Keys{}.Decode(secret, issued)),
		session.TokenFuture:       second(mustKeys(t, newKey).Decode(secret, issued.AddDate(-1, 0, 0))),
		session.TokenExpired:      second(mustKeys(t, newKey).Decode(secret, issued.AddDate(1, 0, 0))),
	} {
		requireKind(t, kind, err)
		assert.True(t, strings.HasPrefix(err.Error(), "readsplit: token refused: "+string(kind)+": "), err.Error())
		for i := 0; i+6 <= len(secret); i++ {
			assert.NotContains(t, err.Error(), secret[i:i+6])
		}
		assert.NotContains(t, err.Error(), "nonsense")
	}
	assert.EqualError(t, &session.TokenError{Kind: session.TokenExpired}, "readsplit: token refused: expired")
}

func second(_ session.Token, err error) error { return err }
