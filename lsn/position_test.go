package lsn_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
)

var here = lsn.History{System: 0x66f1c2a90d1e4b77, Timeline: 1, Incarnation: 0x00062a1f3c9d8e10}

func at(h lsn.History, l lsn.LSN) lsn.Position { return lsn.Position{History: h, LSN: l} }

func TestCompare(t *testing.T) {
	otherSystem, otherTimeline, otherRun := here, here, here
	otherSystem.System++
	otherTimeline.Timeline++
	otherRun.Incarnation++

	for name, c := range map[string]struct {
		a, b lsn.Position
		want lsn.Order
	}{
		"before":                   {at(here, 1), at(here, 2), lsn.Before},
		"equal":                    {at(here, 2), at(here, 2), lsn.Equal},
		"after":                    {at(here, 3), at(here, 2), lsn.After},
		"before, beyond 32 bits":   {at(here, 0xFFFFFFFF), at(here, 1<<32), lsn.Before},
		"before, beyond 63 bits":   {at(here, 1), at(here, 1<<63), lsn.Before},
		"another system":           {at(here, 1), at(otherSystem, 2), lsn.Incomparable},
		"another system, same LSN": {at(here, 2), at(otherSystem, 2), lsn.Incomparable},
		"another timeline":         {at(here, 1), at(otherTimeline, 2), lsn.Incomparable},
		"an older timeline":        {at(otherTimeline, 1), at(here, 2), lsn.Incomparable},
		"another run":              {at(here, 2), at(otherRun, 2), lsn.Incomparable},
		"none with a position":     {lsn.Position{}, at(here, 2), lsn.Incomparable},
		"none with none":           {lsn.Position{}, lsn.Position{}, lsn.Incomparable},
		"no LSN with a position":   {at(here, 0), at(here, 2), lsn.Incomparable},
		"no LSN with itself":       {at(here, 0), at(here, 0), lsn.Incomparable},
		"no history with itself":   {at(lsn.History{}, 2), at(lsn.History{}, 2), lsn.Incomparable},
		"no history, other LSN":    {at(lsn.History{}, 1), at(lsn.History{}, 2), lsn.Incomparable},
		"timeline not known":       {at(lsn.History{System: 1, Incarnation: 1}, 1), at(lsn.History{System: 1, Timeline: 1, Incarnation: 1}, 1), lsn.Incomparable},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, lsn.Compare(c.a, c.b))
			assert.Equal(t, opposite(c.want), lsn.Compare(c.b, c.a), "the other way round")
			assert.Equal(t, c.want == lsn.Equal || c.want == lsn.After, c.a.Covers(c.b))
			assert.Equal(t, c.want == lsn.Equal || c.want == lsn.Before, c.b.Covers(c.a))
		})
	}
}

func opposite(o lsn.Order) lsn.Order {
	switch o {
	case lsn.Before:
		return lsn.After
	case lsn.After:
		return lsn.Before
	}
	return o
}

func TestOrderString(t *testing.T) {
	var forgotten lsn.Order
	assert.Equal(t, "incomparable", forgotten.String(), "the zero Order must approve nothing")
	assert.Equal(t, "before equal after incomparable", fmt.Sprint(lsn.Before, " ", lsn.Equal, " ", lsn.After, " ", lsn.Order(9)))
}

func TestZero(t *testing.T) {
	assert.True(t, lsn.History{}.Zero())
	assert.True(t, lsn.Position{}.Zero())
	assert.False(t, lsn.Position{LSN: 1}.Zero())
	for _, h := range []lsn.History{{System: 1}, {Timeline: 1}, {Incarnation: 1}} {
		assert.False(t, h.Zero(), "%+v", h)
		assert.False(t, lsn.Position{History: h}.Zero(), "%+v", h)
	}
}

func TestPositionText(t *testing.T) {
	p := at(here, 0x16b37480)
	assert.Equal(t, "66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.0000000016b37480", p.String())
	got, err := lsn.ParsePosition(p.String())
	require.NoError(t, err)
	assert.Equal(t, p, got)
	assert.Equal(t, "0000000000000000.00000000.ffffffffffffffff.0000000000000000", at(lsn.History{Incarnation: -1}, 0).String())
}

func TestParsePositionIsStrict(t *testing.T) {
	const good = "66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.0000000016b37480"
	_, err := lsn.ParsePosition(good)
	require.NoError(t, err)
	for _, text := range []string{
		"", "...", good + ".", "." + good, good + " ", " " + good, good + "\n", good[1:], good[:len(good)-1], good + "0",
		"66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10",
		"66F1C2A90D1E4B77.00000001.00062a1f3c9d8e10.0000000016b37480",
		"66f1c2a90d1e4b7.000000001.00062a1f3c9d8e10.0000000016b37480",
		"66f1c2a90d1e4b77.1.00062a1f3c9d8e10.0000000016b37480",
		"66f1c2a90d1e4b77.00000001.-0062a1f3c9d8e10.0000000016b37480",
		"66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.000000001_b37480",
		"66f1c2a90d1e4b77.0x000001.00062a1f3c9d8e10.0000000016b37480",
		"+6f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.0000000016b37480",
		"66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.16/b37480000000",
	} {
		got, err := lsn.ParsePosition(text)
		require.ErrorContains(t, err, "readsplit: position ", "%q", text)
		assert.Equal(t, lsn.Position{}, got, "%q", text)
	}
}

func TestFromBinaryWantsTheExactLength(t *testing.T) {
	b, err := at(here, 7).AppendBinary([]byte("in front"))
	require.NoError(t, err)
	require.Equal(t, "in front", string(b[:8]))
	b = b[8:]
	require.Len(t, b, lsn.BinarySize)
	for n := range 2 * lsn.BinarySize {
		got, err := lsn.FromBinary(append(b, b...)[:n])
		if n == lsn.BinarySize {
			require.NoError(t, err)
			assert.Equal(t, at(here, 7), got)
			continue
		}
		require.ErrorContains(t, err, fmt.Sprintf("of %d bytes: want 28", n))
		assert.Equal(t, lsn.Position{}, got)
	}
}

func FuzzPosition(f *testing.F) {
	f.Add(uint64(1), uint32(1), int64(1), uint64(1), uint64(1), "")
	f.Add(here.System, here.Timeline, here.Incarnation, uint64(1)<<63, uint64(0), at(here, 9).String())
	f.Add(^uint64(0), ^uint32(0), int64(-1), ^uint64(0), uint64(5), "66F1c2a90d1e4b77.00000001.00062a1f3c9d8e10.0000000016b37480")
	f.Fuzz(func(t *testing.T, system uint64, timeline uint32, incarnation int64, a, b uint64, text string) {
		h := lsn.History{System: system, Timeline: timeline, Incarnation: incarnation}
		p, q := at(h, lsn.LSN(a)), at(h, lsn.LSN(b))

		got, err := lsn.ParsePosition(p.String())
		require.NoError(t, err)
		require.Equal(t, p, got)

		bytes, err := p.AppendBinary(nil)
		require.NoError(t, err)
		got, err = lsn.FromBinary(bytes)
		require.NoError(t, err)
		require.Equal(t, p, got)

		require.Equal(t, opposite(lsn.Compare(p, q)), lsn.Compare(q, p))
		require.Equal(t, p.Covers(q) && q.Covers(p), lsn.Compare(p, q) == lsn.Equal)
		other := at(h, lsn.LSN(b))
		other.Incarnation++
		require.Equal(t, lsn.Incomparable, lsn.Compare(p, other))
		require.False(t, p.Covers(other))

		if got, err := lsn.ParsePosition(text); err == nil {
			require.Equal(t, text, got.String())
		}
		if got, err := lsn.FromBinary([]byte(text)); err == nil {
			back, err := got.AppendBinary(nil)
			require.NoError(t, err)
			require.Equal(t, text, string(back))
		}
	})
}
