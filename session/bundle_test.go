package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// made returns the text of a token that says what its arguments say.
func made(t testing.TB, key []byte, after time.Duration, unsure time.Duration, positions ...lsn.Position) string {
	t.Helper()
	token := session.Token{Issued: issued.Add(after), Expires: issued.Add(after + time.Hour), Positions: positions}
	if unsure != 0 {
		token.Unsure = issued.Add(unsure)
	}
	if key == nil {
		return mustEncode(t, session.Keys{}, token)
	}
	return mustEncode(t, mustKeys(t, key), token)
}

func bundle(t testing.TB, parts ...string) session.Bundle {
	t.Helper()
	var b session.Bundle
	for i := 0; i < len(parts); i += 2 {
		one, err := session.Bundle{}.With(parts[i], parts[i+1])
		require.NoError(t, err)
		b = b.Merge(one)
	}
	return b
}

func says(b session.Bundle, service string) []string { tokens, _ := b.Tokens(service); return tokens }

func TestBundleOfOneServiceIsABareToken(t *testing.T) {
	token := made(t, newKey, 0, 0, position(1, 10))
	b := bundle(t, "", token)
	assert.Equal(t, token, b.String())
	got, err := session.ParseBundle(token)
	require.NoError(t, err)
	assert.Equal(t, b, got)
	assert.Equal(t, []string{token}, says(got, ""))
	assert.Empty(t, says(got, "orders"))

	empty, err := session.ParseBundle("")
	require.NoError(t, err)
	assert.True(t, empty.Empty())
	assert.Empty(t, empty.String())
	assert.False(t, session.IsBundle(token))
}

func TestBundleOfSeveralServices(t *testing.T) {
	orders, billing, bare := made(t, newKey, 0, 0, position(1, 10)), made(t, oldKey, 0, 0, position(2, 20)), made(t, nil, 0, 0, position(3, 30))
	b := bundle(t, "orders", orders, "billing", billing, "", bare)
	text := b.String()
	assert.Equal(t, "b1~~"+bare+"~billing~"+billing+"~orders~"+orders, text)
	got, err := session.ParseBundle(text)
	require.NoError(t, err)
	assert.Equal(t, b, got)
	assert.Equal(t, []string{"", "billing", "orders"}, got.Services())

	// A service replaces its own part; what others wrote stays as it was.
	newer := made(t, newKey, time.Minute, 0, position(1, 11))
	got, err = got.With("orders", newer)
	require.NoError(t, err)
	assert.Equal(t, "b1~~"+bare+"~billing~"+billing+"~orders~"+newer, got.String())
	got, err = got.With("billing", "")
	require.NoError(t, err)
	assert.Equal(t, "b1~~"+bare+"~orders~"+newer, got.String())
	assert.Equal(t, text, b.String(), "a bundle is a value")

	_, err = b.With("orders/v2", newer)
	assert.ErrorContains(t, err, `"orders/v2" is not the name of a service`)
	_, err = b.With(strings.Repeat("x", session.MaxServiceName+1), newer)
	assert.Error(t, err)
	_, err = b.With("orders", "two~parts")
	assert.ErrorIs(t, err, session.ErrToken)
}

// Whoever merges has no key: a text is dropped only where the other says all of it
// and more, whoever has signed them.
func TestBundleMergeKeepsTheFurther(t *testing.T) {
	at := func(lsn lsn.LSN) string { return made(t, newKey, 0, 0, position(1, lsn)) }
	other := position(1, 10)
	other.Timeline++
	for name, c := range map[string]struct {
		a, b string
		want []string
	}{
		"the same twice":            {at(10), at(10), []string{at(10)}},
		"further":                   {at(10), at(11), []string{at(11)}},
		"another timeline":          {at(10), made(t, newKey, 0, 0, other), []string{at(10), made(t, newKey, 0, 0, other)}},
		"another database":          {at(10), made(t, newKey, 0, 0, position(2, 10)), []string{at(10), made(t, newKey, 0, 0, position(2, 10))}},
		"both databases":            {at(10), made(t, newKey, 0, 0, position(1, 10), position(2, 5)), []string{made(t, newKey, 0, 0, position(1, 10), position(2, 5))}},
		"another key":               {made(t, oldKey, 0, 0, position(1, 10)), at(11), []string{at(11)}},
		"a doubt":                   {at(11), made(t, newKey, 0, time.Minute, position(1, 10)), []string{at(11), made(t, newKey, 0, time.Minute, position(1, 10))}},
		"a doubt and further":       {at(10), made(t, newKey, 0, time.Minute, position(1, 10)), []string{made(t, newKey, 0, time.Minute, position(1, 10))}},
		"a longer doubt":            {made(t, newKey, 0, time.Minute), made(t, newKey, 0, 2*time.Minute), []string{made(t, newKey, 0, 2*time.Minute)}},
		"further, ends earlier":     {made(t, newKey, time.Minute, 0, position(1, 10)), at(11), []string{made(t, newKey, time.Minute, 0, position(1, 10)), at(11)}},
		"of a version to come":      {at(10), "r2.abc", []string{at(10), "r2.abc"}},
		"rubbish that could be one": {at(10), "abc", []string{at(10), "abc"}},
	} {
		ab, ba := bundle(t, "orders", c.a, "orders", c.b), bundle(t, "orders", c.b, "orders", c.a)
		assert.Equal(t, ab, ba, name)
		assert.ElementsMatch(t, c.want, says(ab, "orders"), name)
		again, err := session.ParseBundle(ab.String())
		require.NoError(t, err, name)
		assert.Equal(t, ab, again, name)
	}
}

// What finds no room is a doubt of the service that it was for, never nothing.
func TestBundleIsBounded(t *testing.T) {
	var b session.Bundle
	timelines := func(n int) string {
		p := position(1, 10)
		p.Timeline = uint32(n)
		return made(t, newKey, 0, 0, p)
	}
	for n := range 4 {
		b = b.Merge(bundle(t, "orders", timelines(n+1)))
	}
	tokens, lost := b.Tokens("orders")
	require.Len(t, tokens, 4)
	require.False(t, lost)
	b = b.Merge(bundle(t, "orders", timelines(9)))
	tokens, lost = b.Tokens("orders")
	require.Empty(t, tokens)
	require.True(t, lost)
	require.Equal(t, "b1~orders~", b.String())
	b = b.Merge(bundle(t, "orders", timelines(1)))
	_, lost = b.Tokens("orders")
	require.True(t, lost, "a doubt is not ended by a token of somebody's")
	b, err := b.With("orders", timelines(1))
	require.NoError(t, err)
	require.Equal(t, []string{timelines(1)}, says(b, "orders"), "the service itself ends it")

	// Many services: those that were silent the longest make room.
	b = session.Bundle{}.Lose("aged")
	for n := range 60 {
		b = b.Merge(bundle(t, fmt.Sprintf("service-%02d", n), made(t, newKey, time.Duration(n)*time.Minute, 0, position(uint64(n+1), 7))))
		require.LessOrEqual(t, len(b.String()), session.MaxBundleLength)
	}
	again, err := session.ParseBundle(b.String())
	require.NoError(t, err)
	require.Equal(t, b, again)
	for _, name := range []string{"aged", "service-00", "service-01", "never-heard-of"} {
		tokens, lost = b.Tokens(name)
		require.Empty(t, tokens, name)
		require.True(t, lost, name)
	}
	tokens, lost = b.Tokens("service-59")
	require.Len(t, tokens, 1)
	require.False(t, lost)
}

// An answer says more than the question: it ends what the question was in doubt of.
func TestBundleAnswered(t *testing.T) {
	at := func(timeline uint32, at lsn.LSN) string {
		p := position(1, at)
		p.Timeline = timeline
		return made(t, newKey, 0, 0, p)
	}
	b := bundle(t, "billing", "rX", "orders", at(1, 10), "orders", at(2, 5))
	sent := b
	answer := bundle(t, "orders", at(2, 6))
	assert.Equal(t, bundle(t, "billing", "rX", "orders", at(2, 6)), b.Answered(sent, answer))
	assert.Equal(t, answer, session.Bundle{}.Lose("orders").Answered(session.Bundle{}.Lose("orders"), answer))
	// What came in between was not in the question.
	between := b.Merge(bundle(t, "orders", at(3, 1)))
	assert.Equal(t, []string{at(1, 10), at(2, 6), at(3, 1)}, says(between.Answered(sent, answer), "orders"))
	_, lost := b.Lose("orders").Answered(sent, answer).Tokens("orders")
	assert.True(t, lost)
}

func TestBundleExpires(t *testing.T) {
	b := bundle(t, "a", made(t, newKey, 0, 0, position(1, 1)), "b", made(t, oldKey, time.Minute, 0, position(1, 1)), "c", "r9.x").Lose("d")
	assert.Equal(t, issued.Add(time.Hour+time.Minute), b.Expires())
	assert.Zero(t, bundle(t, "c", "r9.x").Expires())
}

func TestParseBundleIsStrict(t *testing.T) {
	for _, text := range []string{
		"b1", "b1~a", "b1~a~t~b", "b1~~t", "b1~b~t~a~t", "b1~a~t~a~t", "b1~a~t~a~s", "b1~a~~a~t", "b1~a~t~a~", "b1~a/b~t", "b1~a~t t",
		"b1~a~t~*~", "b1~*~t", "b1~*~~*~", "b1~" + strings.Repeat("n", 33) + "~t", "b1~a~" + strings.Repeat("t", 201), strings.Repeat("t", 201),
		"b1~a~1~a~2~a~3~a~4~a~5", "b2~a~t", "b1~a~t~", "a b", "ä", "b1~a~" + strings.Repeat("t", session.MaxBundleLength),
	} {
		b, err := session.ParseBundle(text)
		if text == "b1" { // could be a token of a version to come
			require.NoError(t, err)
			continue
		}
		requireKind(t, session.TokenMalformed, err)
		require.Equal(t, session.Bundle{}, b, text)
		require.NotContains(t, err.Error(), text)
	}
	for _, text := range []string{"b1~*~", "b1~a~", "b1~~", "b1~*~~a~t", "b1~a~1~a~2~a~3~a~4", "b1~A.b-c_1~t"} {
		b, err := session.ParseBundle(text)
		require.NoError(t, err, text)
		require.Equal(t, text, b.String())
	}
}

func FuzzBundle(f *testing.F) {
	f.Add("b1~orders~r1.AAAA~orders~r1.BBBB", "b1~*~~billing~r1.AAAA")
	f.Add("r1.AAAA", "b1~~r1.AAAA~a~")
	f.Add("b1~a~1~a~2~a~3~a~4", "b1~a~5")
	f.Fuzz(func(t *testing.T, x, y string) {
		a, err := session.ParseBundle(x)
		if err != nil {
			require.ErrorIs(t, err, session.ErrToken)
			return
		}
		require.Equal(t, x, a.String())
		b, err := session.ParseBundle(y)
		if err != nil {
			return
		}
		m := a.Merge(b)
		require.LessOrEqual(t, len(m.String()), session.MaxBundleLength)
		again, err := session.ParseBundle(m.String())
		require.NoError(t, err)
		require.Equal(t, m.String(), again.String())
		for _, from := range []session.Bundle{a, b} {
			for _, name := range from.Services() {
				tokens, lost := m.Tokens(name)
				require.True(t, lost || len(tokens) > 0, "what was said to %q is gone", name)
			}
		}
	})
}

func ExampleBundle() {
	// A gateway that has no keys: what it got from a user, and what a call answered.
	request, _ := session.ParseBundle("b1~billing~r1.b0~orders~r1.o0")
	answer, _ := session.ParseBundle("b1~orders~r1.o1")
	all := request.Merge(answer)
	orders, _ := all.Tokens("orders")
	billing, _ := all.Tokens("billing")
	fmt.Println(billing, orders)
	fmt.Println(all)
	// Output:
	// [r1.b0] [r1.o0 r1.o1]
	// b1~billing~r1.b0~orders~r1.o0~orders~r1.o1
}
