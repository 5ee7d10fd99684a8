package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/readsplit/readsplit/lsn"
)

// longAgo is an Unsure that has passed. It sends nobody to the primary: whoever
// joins it sees at least what the primary has when it is joined, which covers
// whatever was acknowledged before and is not said here.
var longAgo = time.Unix(1, 0).UTC()

// Merge returns the token that says what t says and what u says, and so never less
// than either. It asks nothing and changes neither; the order of tokens, and how
// often one of them is merged, makes no difference.
//
// Of each database cluster the further position is kept: of two timelines the later
// one, because a promotion always begins a higher one than it follows. The runs of a
// primary on one timeline are told apart by a clock, which can be wrong, and by their
// positions, which go back where a snapshot was restored; so the later start counts
// together with the further LSN. Where clock and positions agree, that is the later
// position. Where they do not, it is a place that its history has not reached yet:
// whoever joins it compares it with the primary and is unsure until it has.
//
// Unsure and Expires are the later ones. Where more than [MaxPositions] clusters are
// named, or a position is no place in a history, the token says unsure, with a time
// that has passed: it is covered by what the primary has when the token is joined.
func (t Token) Merge(u Token) Token {
	m := Token{Issued: latest(t.Issued, u.Issued), Expires: latest(t.Expires, u.Expires), Unsure: latest(t.Unsure, u.Unsure)}
	all := make([]lsn.Position, 0, len(t.Positions)+len(u.Positions))
	doubt := false
	for _, p := range slices.Concat(t.Positions, u.Positions) {
		if lsn.Compare(p, p) != lsn.Equal {
			doubt = true
			continue
		}
		i, known := slices.BinarySearchFunc(all, p.System, func(have lsn.Position, system uint64) int { return cmp.Compare(have.System, system) })
		if known {
			all[i] = further(all[i], p)
		} else {
			all = slices.Insert(all, i, p)
		}
	}
	if len(all) > MaxPositions {
		// Which ones are kept depends on their names alone, or the order of merges would matter.
		all, doubt = all[:MaxPositions], true
	}
	if len(all) > 0 {
		m.Positions = all
	}
	if doubt {
		m.Unsure = latest(m.Unsure, longAgo)
	}
	return m
}

// further returns the position of one database cluster that covers a and b.
func further(a, b lsn.Position) lsn.Position {
	switch {
	case a.Timeline > b.Timeline:
		return a
	case a.Timeline < b.Timeline:
		return b
	}
	a.Incarnation, a.LSN = max(a.Incarnation, b.Incarnation), max(a.LSN, b.LSN)
	return a
}

// latest returns the later of two times, without what a process's own clock adds.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		a = b
	}
	return a.Round(0).UTC()
}
