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

func place(system uint64, timeline uint32, incarnation int64, at lsn.LSN) lsn.Position {
	return lsn.Position{History: lsn.History{System: system, Timeline: timeline, Incarnation: incarnation}, LSN: at}
}

func saying(positions ...lsn.Position) session.Token {
	return session.Token{Issued: issued, Expires: issued.Add(time.Hour), Positions: positions}
}

func TestMerge(t *testing.T) {
	long := time.Unix(1, 0).UTC()
	for name, c := range map[string]struct {
		a, b   []lsn.Position
		want   []lsn.Position
		unsure time.Time
	}{
		"nothing":                       {},
		"one side":                      {a: []lsn.Position{place(1, 1, 1, 5)}, want: []lsn.Position{place(1, 1, 1, 5)}},
		"one history, the further":      {[]lsn.Position{place(1, 1, 1, 5)}, []lsn.Position{place(1, 1, 1, 7)}, []lsn.Position{place(1, 1, 1, 7)}, time.Time{}},
		"two timelines, the later":      {[]lsn.Position{place(1, 2, 1, 5)}, []lsn.Position{place(1, 1, 9, 700)}, []lsn.Position{place(1, 2, 1, 5)}, time.Time{}},
		"a restart":                     {[]lsn.Position{place(1, 1, 1, 5)}, []lsn.Position{place(1, 1, 2, 7)}, []lsn.Position{place(1, 1, 2, 7)}, time.Time{}},
		"a restored snapshot":           {[]lsn.Position{place(1, 1, 1, 9)}, []lsn.Position{place(1, 1, 2, 7)}, []lsn.Position{place(1, 1, 2, 9)}, time.Time{}},
		"a restart with the clock back": {[]lsn.Position{place(1, 1, 8, 5)}, []lsn.Position{place(1, 1, 2, 7)}, []lsn.Position{place(1, 1, 8, 7)}, time.Time{}},
		"several clusters":              {[]lsn.Position{place(3, 1, 1, 5), place(1, 1, 1, 6)}, []lsn.Position{place(2, 1, 1, 7)}, []lsn.Position{place(1, 1, 1, 6), place(2, 1, 1, 7), place(3, 1, 1, 5)}, time.Time{}},
		"too many":                      {[]lsn.Position{place(4, 1, 1, 5), place(1, 1, 1, 6)}, []lsn.Position{place(2, 1, 1, 7), place(3, 1, 1, 7)}, []lsn.Position{place(1, 1, 1, 6), place(2, 1, 1, 7), place(3, 1, 1, 7)}, long},
		"two of one cluster":            {a: []lsn.Position{place(1, 1, 1, 6), place(1, 1, 1, 7)}, want: []lsn.Position{place(1, 1, 1, 7)}},
		"no place":                      {a: []lsn.Position{place(1, 1, 1, 6), place(2, 1, 1, 0)}, want: []lsn.Position{place(1, 1, 1, 6)}, unsure: long},
	} {
		for _, got := range []session.Token{saying(c.a...).Merge(saying(c.b...)), saying(c.b...).Merge(saying(c.a...))} {
			assert.Equal(t, session.Token{Issued: issued, Expires: issued.Add(time.Hour), Unsure: c.unsure, Positions: c.want}, got, name)
			_, err := session.Keys{}.Encode(got)
			assert.NoError(t, err, name)
		}
	}
}

func TestMergeTimes(t *testing.T) {
	early := session.Token{Issued: issued, Expires: issued.Add(time.Hour), Unsure: issued.Add(time.Minute)}
	late := session.Token{Issued: issued.Add(time.Second), Expires: issued.Add(time.Minute)}
	want := session.Token{Issued: issued.Add(time.Second), Expires: issued.Add(time.Hour), Unsure: issued.Add(time.Minute)}
	assert.Equal(t, want, early.Merge(late))
	assert.Equal(t, want, late.Merge(early))
	assert.Equal(t, early, session.Token{}.Merge(early))
	assert.Equal(t, session.Token{}, session.Token{}.Merge(session.Token{}))
}

func TestMergeChangesNeither(t *testing.T) {
	a, b := saying(place(2, 1, 1, 5)), saying(place(2, 1, 1, 7), place(1, 1, 1, 1))
	m := a.Merge(b)
	m.Positions[0].LSN = 99
	assert.Equal(t, saying(place(2, 1, 1, 5)), a)
	assert.Equal(t, saying(place(2, 1, 1, 7), place(1, 1, 1, 1)), b)
}

// anyToken draws from few values, so that tokens meet.
func anyToken(r *rand.Rand) (t session.Token) {
	t.Issued = issued.Add(time.Duration(r.IntN(3)) * time.Second)
	t.Expires = t.Issued.Add(time.Duration(r.IntN(3)) * time.Minute)
	if r.IntN(3) == 0 {
		t.Unsure = issued.Add(time.Duration(r.IntN(3)) * time.Second)
	}
	for range r.IntN(5) {
		t.Positions = append(t.Positions, place(1+r.Uint64N(5), 1+r.Uint32N(2), 1+r.Int64N(3), lsn.LSN(r.Uint64N(5))))
	}
	return t
}

// lacking says what of t is not said by m; empty: nothing.
func lacking(m, t session.Token) string {
	switch {
	case m.Unsure.Before(t.Unsure):
		return "Unsure"
	case m.Expires.Before(t.Expires):
		return "Expires"
	case !m.Unsure.IsZero():
		return "" // a position of now
	}
	for _, p := range t.Positions {
		said := false
		for _, have := range m.Positions {
			if have.System == p.System {
				later := have.Timeline > p.Timeline
				further := have.Timeline == p.Timeline && have.Incarnation >= p.Incarnation && have.LSN >= p.LSN
				said = said || later || further
			}
		}
		if !said {
			return p.String()
		}
	}
	return ""
}

func TestMergeIsALattice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]int{}
	for range 10_000 {
		a, b, c := anyToken(r), anyToken(r), anyToken(r)
		of := fmt.Sprintf("%v\n%v\n%v", a, b, c)
		m := a.Merge(b)
		require.Equal(t, m, b.Merge(a), "commutative: %s", of)
		require.Equal(t, m.Merge(c), a.Merge(b.Merge(c)), "associative: %s", of)
		require.Equal(t, m, m.Merge(m), "idempotent: %s", of)
		require.Equal(t, m, m.Merge(a), "absorbs: %s", of)
		require.Empty(t, lacking(m, a), "says what the left says: %s", of)
		require.Empty(t, lacking(m, b), "says what the right says: %s", of)
		require.LessOrEqual(t, len(m.Positions), session.MaxPositions)
		seen[fmt.Sprint(len(m.Positions), m.Unsure.IsZero())]++
	}
	for _, kind := range []string{"0 true", "1 true", "2 true", "3 true", "1 false", "3 false"} {
		assert.Positive(t, seen[kind], "the test saw tokens of kind %s", kind)
	}
}
