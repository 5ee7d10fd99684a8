package lsn

import (
	"fmt"
	"strconv"
	"strings"
)

// LSN is a location in PostgreSQL's write-ahead log: the number of bytes since
// the log began. The zero LSN is PostgreSQL's InvalidXLogRecPtr and means "not
// known"; it is before every real location.
type LSN uint64

// String renders l as PostgreSQL does, two hexadecimal halves: "16/B374D848".
func (l LSN) String() string {
	return fmt.Sprintf("%X/%X", uint32(l>>32), uint32(l))
}

// ParseLSN reads the text form of a pg_lsn: one to eight hexadecimal digits, a
// slash, one to eight hexadecimal digits. It accepts nothing else (no blanks,
// no sign, no 0x), as PostgreSQL's own input function does.
func ParseLSN(s string) (LSN, error) {
	hi, lo, ok := strings.Cut(s, "/")
	if !ok {
		return 0, fmt.Errorf("readsplit: lsn %q: want two hexadecimal numbers with a slash between them, as pg_lsn prints them", s)
	}
	h, ok1 := hex32(hi)
	l, ok2 := hex32(lo)
	if !ok1 || !ok2 {
		return 0, fmt.Errorf("readsplit: lsn %q: want one to eight hexadecimal digits on each side of the slash", s)
	}
	return LSN(uint64(h)<<32 | uint64(l)), nil
}

func hex32(s string) (uint32, bool) {
	if len(s) == 0 || len(s) > 8 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 16, 32)
	return uint32(n), err == nil
}

// Headers that PostgreSQL writes at the start of each WAL page and of each WAL
// segment, in bytes (SizeOfXLogShortPHD and SizeOfXLogLongPHD).
const (
	shortPageHeader = 24
	longPageHeader  = 40
)

// RecordEnd turns an insert position into the end of the record before it.
//
// pg_current_wal_insert_lsn() says where the next record would start. When the
// last record ended exactly on a page end, that is past the header of a page
// that nobody has written yet: a standby that has replayed everything rests on
// the page end, 24 (or, at a segment start, 40) bytes earlier, and a comparison
// with the uncorrected value stalls for up to 15 seconds, about once in 900
// inserts. block and segment are wal_block_size and wal_segment_size in bytes.
func (l LSN) RecordEnd(block, segment uint64) LSN {
	switch {
	case segment > 0 && uint64(l)%segment == longPageHeader:
		return l - longPageHeader
	case block > 0 && uint64(l)%block == shortPageHeader:
		return l - shortPageHeader
	}
	return l
}
