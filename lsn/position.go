package lsn

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// History names the sequence of writes that an LSN counts in. Two LSNs can be
// compared only within one History: after a promotion, or on a primary that was
// restored from a snapshot, the same numbers mean other writes.
type History struct {
	// System is pg_control_system().system_identifier: one per initdb.
	System uint64
	// Timeline is the timeline of the primary's current WAL segment.
	Timeline uint32
	// Incarnation is the start time of the primary's postmaster, in
	// microseconds since 1970. A primary restored from a storage snapshot keeps
	// system identifier and timeline and differs in nothing but this.
	Incarnation int64
}

// Zero reports whether h names no history.
func (h History) Zero() bool { return h == History{} }

// Position is a place in one history. The zero Position means "none": nothing
// is asked of a replica, or nothing is known of it.
type Position struct {
	History
	LSN LSN
}

// Zero reports whether p is no position at all.
func (p Position) Zero() bool { return p == Position{} }

// Order is the outcome of [Compare].
type Order uint8

// The four outcomes of a comparison. Incomparable is the zero value, so that a
// forgotten assignment approves nothing.
const (
	Incomparable Order = iota
	Before
	Equal
	After
)

// String returns the outcome's name in lower case.
func (o Order) String() string {
	switch o {
	case Before:
		return "before"
	case Equal:
		return "equal"
	case After:
		return "after"
	default:
		return "incomparable"
	}
}

// Compare tells how a lies to b. Positions of different histories, and the zero
// Position with anything, are Incomparable.
func Compare(a, b Position) Order {
	switch {
	case a.LSN == 0 || b.LSN == 0 || a.History != b.History || a.History.Zero():
		return Incomparable
	case a.LSN < b.LSN:
		return Before
	case a.LSN > b.LSN:
		return After
	default:
		return Equal
	}
}

// Covers reports whether a server that has applied p shows everything up to q:
// both are of one history and p is not before q.
func (p Position) Covers(q Position) bool {
	o := Compare(p, q)
	return o == Equal || o == After
}

// positionParts is the number of dot-separated fields of a Position's text.
const positionParts = 4

// String renders p in the fixed-width form that [ParsePosition] reads:
// system identifier, timeline, incarnation and LSN in lower-case hexadecimal,
// for instance "66f1c2a90d1e4b77.00000001.00062a1f3c9d8e10.0000000016b37480".
func (p Position) String() string {
	return fmt.Sprintf("%016x.%08x.%016x.%016x", p.System, p.Timeline, uint64(p.Incarnation), uint64(p.LSN))
}

// ParsePosition reads what [Position.String] writes and nothing else.
func ParsePosition(s string) (Position, error) {
	parts := strings.Split(s, ".")
	if len(parts) != positionParts {
		return Position{}, fmt.Errorf("readsplit: position %q: want %d fields with dots between them", s, positionParts)
	}
	var v [positionParts]uint64
	for i, width := range [positionParts]int{16, 8, 16, 16} {
		if len(parts[i]) != width || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return Position{}, fmt.Errorf("readsplit: position %q: field %d wants %d lower-case hexadecimal digits", s, i+1, width)
		}
		n, err := strconv.ParseUint(parts[i], 16, 64)
		if err != nil {
			return Position{}, fmt.Errorf("readsplit: position %q: field %d: %w", s, i+1, err)
		}
		v[i] = n
	}
	return Position{
		History: History{System: v[0], Timeline: uint32(v[1]), Incarnation: int64(v[2])},
		LSN:     LSN(v[3]),
	}, nil
}

// BinarySize is the length in bytes of a Position's binary form.
const BinarySize = 8 + 4 + 8 + 8

// AppendBinary appends the binary form of p, [BinarySize] bytes in big-endian
// order: system identifier, timeline, incarnation, LSN. It never fails.
func (p Position) AppendBinary(b []byte) ([]byte, error) {
	b = binary.BigEndian.AppendUint64(b, p.System)
	b = binary.BigEndian.AppendUint32(b, p.Timeline)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Incarnation))
	b = binary.BigEndian.AppendUint64(b, uint64(p.LSN))
	return b, nil
}

// FromBinary reads what [Position.AppendBinary] writes; b must be exactly
// [BinarySize] bytes long.
func FromBinary(b []byte) (Position, error) {
	if len(b) != BinarySize {
		return Position{}, fmt.Errorf("readsplit: binary position of %d bytes: want %d", len(b), BinarySize)
	}
	return Position{
		History: History{
			System:      binary.BigEndian.Uint64(b),
			Timeline:    binary.BigEndian.Uint32(b[8:]),
			Incarnation: int64(binary.BigEndian.Uint64(b[12:])),
		},
		LSN: LSN(binary.BigEndian.Uint64(b[20:])),
	}, nil
}
