package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMix(t *testing.T) {
	m := mix{read: 1, write: 4, replay: 1}
	// Half of the statements write: 2.5 each for one server, 2 of them on the primary.
	require.InDelta(t, 2.5, m.alone(0.5), 1e-9)
	require.InDelta(t, 2.5/2, m.gain(0.5, 1), 1e-9, "the primary is full first")
	require.InDelta(t, 2.5/2, m.gain(0.5, 100), 1e-9, "and no replica helps")
	require.InDelta(t, 2.5/2, m.most(0.5), 1e-9)
	// One in ten: 0.9 reads and 0.1 replayed on the only replica.
	require.InDelta(t, 1.3, m.alone(0.1), 1e-9)
	require.InDelta(t, 1.3, m.gain(0.1, 1), 1e-9)
	require.InDelta(t, 1.3/0.55, m.gain(0.1, 2), 1e-9)
	require.InDelta(t, 1.3/0.4, m.gain(0.1, 9), 1e-9, "here the primary is full")
	// Replay that is slower than writing is the end of it.
	require.InDelta(t, 1.3/0.8, mix{read: 1, write: 4, replay: 8}.most(0.1), 1e-9)
}

func TestTables(t *testing.T) {
	us := time.Microsecond
	text := tables([]cost{
		{works[0], 30 * us, 0}, {works[1], 0, 30 * us}, {works[2], 0, 100 * us},
		{works[3], 60 * us, 12 * us}, {works[4], 60 * us, 15 * us},
	})
	require.Contains(t, text, "| a row by its key, on the primary | 30 us | 0 |")
	require.Contains(t, text, "| a row by its key, on a replica | 0 | 30 us |")
	require.Contains(t, text, "| INSERT of a row | 60 us | 15 us (25 %) |")
	require.Contains(t, text, "| 50 % | 1.5 | 1.5 | 1.5 | 1.5 | 1.5 | 1.5 times its usual work |")
}

func TestTicks(t *testing.T) {
	fields := []string{"S", "7", "0", "0", "0", "0", "0", "0", "0", "0", "0", "3", "4", "5", "6"}
	require.Equal(t, 18*tick, ticks(fields, 11, 12, 13, 14))
}
