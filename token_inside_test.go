package readsplit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/session"
)

func place(system uint64, timeline uint32, at lsn.LSN) lsn.Position {
	return lsn.Position{History: lsn.History{System: system, Timeline: timeline, Incarnation: 1}, LSN: at}
}

// A token has room for one position of each database: the further of two, and of two
// histories one, which it must not pass over in silence.
func TestAddPosition(t *testing.T) {
	for name, c := range map[string]struct {
		have []lsn.Position
		add  lsn.Position
		want []lsn.Position
		ok   bool
	}{
		"the first":           {nil, place(1, 1, 5), []lsn.Position{place(1, 1, 5)}, true},
		"of another database": {[]lsn.Position{place(1, 1, 5)}, place(2, 1, 3), []lsn.Position{place(1, 1, 5), place(2, 1, 3)}, true},
		"further":             {[]lsn.Position{place(1, 1, 5)}, place(1, 1, 7), []lsn.Position{place(1, 1, 7)}, true},
		"the same":            {[]lsn.Position{place(1, 1, 5)}, place(1, 1, 5), []lsn.Position{place(1, 1, 5)}, true},
		"earlier":             {[]lsn.Position{place(1, 1, 5)}, place(1, 1, 3), []lsn.Position{place(1, 1, 5)}, true},
		"of a later timeline": {[]lsn.Position{place(1, 1, 5)}, place(1, 2, 7), []lsn.Position{place(1, 1, 5)}, false},
		"of an earlier one":   {[]lsn.Position{place(1, 2, 5)}, place(1, 1, 7), []lsn.Position{place(1, 2, 5)}, false},
		"one too many": {
			[]lsn.Position{place(1, 1, 1), place(2, 1, 1), place(3, 1, 1)}, place(4, 1, 1),
			[]lsn.Position{place(1, 1, 1), place(2, 1, 1), place(3, 1, 1)}, false,
		},
	} {
		token := Token{Positions: c.have}
		assert.Equal(t, c.ok, addPosition(&token, c.add), name)
		assert.Equal(t, c.want, token.Positions, name)
	}
}

// A session that has positions of two histories of one database, or of more databases
// than a token holds, gives out a token that keeps its bearer on the primary.
func TestTokenOfTwoHistoriesIsUnsure(t *testing.T) {
	rt := &router{keys: &session.Keys{}, watched: true}
	rt.self = []*router{rt}
	rt.cfg.StickyWindow, rt.cfg.TokenLifetime = 5*time.Second, time.Minute
	rt.monitor = monitor.New(monitor.Config{
		Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
		SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
	})
	rt.asks = rt.monitor
	rt.monitor.Start()
	defer rt.monitor.Close()
	require.False(t, rt.history().Zero())
	own := lsn.Position{History: rt.history(), LSN: 77}
	other := own
	other.Timeline++
	for name, c := range map[string]struct {
		carried []lsn.Position
		unsure  bool
	}{
		"one history":             {nil, false},
		"the same history":        {[]lsn.Position{own}, false},
		"two histories":           {[]lsn.Position{other}, true},
		"three databases":         {[]lsn.Position{place(8, 1, 1), place(9, 1, 1)}, false},
		"more than a token holds": {[]lsn.Position{place(7, 1, 1), place(8, 1, 1), place(9, 1, 1)}, true},
	} {
		s := NewSession()
		s.carried = c.carried
		s.ledgerOf(rt).claim.update(func(c session.Claim) session.Claim {
			c, _ = c.Join(own, 0, time.Now())
			return c
		})
		began := time.Now()
		token, keys := s.token(t.Context(), began.Add(time.Second))
		require.NotNil(t, keys, name)
		require.Equal(t, own, token.Positions[0], name)
		require.LessOrEqual(t, len(token.Positions), session.MaxPositions)
		if c.unsure {
			assert.WithinDuration(t, began.Add(5*time.Second), token.Unsure, time.Second, name)
		} else {
			assert.Zero(t, token.Unsure, name)
		}
		text, err := keys.Encode(token)
		require.NoError(t, err)
		assert.Less(t, len(text), 200)
	}
}

// A process has two databases and has not reached the primary of one of them yet: a
// position that nobody knows may be of that one, though the token names the other too.
func TestPositionOfAPrimaryThatWasNotReachedYet(t *testing.T) {
	made := func(start bool) *router {
		rt := &router{keys: &session.Keys{}, watched: true, plugin: &Plugin{}}
		rt.self = []*router{rt}
		rt.cfg.StickyWindow, rt.cfg.TokenLifetime = 5*time.Second, time.Minute
		rt.monitor = monitor.New(monitor.Config{
			Primary:     monitor.Target{Name: primaryName, Source: invented{always(1)}},
			SampleEvery: 50 * time.Millisecond, SampleTimeout: time.Second, MaxLag: time.Second, MaxWait: time.Millisecond,
		})
		rt.asks = rt.monitor
		if start {
			rt.monitor.Start()
			t.Cleanup(rt.monitor.Close)
		}
		plugins.add(rt)
		t.Cleanup(func() { plugins.remove(rt) })
		return rt
	}
	reached, other := made(true), made(false)
	require.True(t, other.history().Zero())
	here := lsn.Position{History: reached.history(), LSN: 77}
	there := place(here.System+1, 1, 5)
	for name, c := range map[string]struct {
		positions []lsn.Position
		unsure    bool
	}{
		"of the one that was reached": {[]lsn.Position{here}, false},
		"of both":                     {[]lsn.Position{here, there}, true},
	} {
		s := NewSession()
		s.JoinToken(Token{Positions: c.positions})
		require.Equal(t, here, s.ledgerOf(reached).claim.load().Position, name)
		require.Zero(t, s.ledgerOf(reached).claim.load().Unsure, name)
		assert.Equal(t, c.unsure, !s.ledgerOf(other).claim.load().Unsure.IsZero(), name)
	}
}
