package lsn

import (
	"errors"
	"fmt"
	"strconv"
)

// SQL Server writes a log sequence number as numeric(25,0): the sequence number of a
// virtual log file (up to ten digits), the offset of a log block in it in sectors of
// 512 bytes (ten digits), and the slot of a record in that block (five digits). That
// is more than 64 bits. What can occur is less, see decision 0023.
const (
	vlfBits   = 28 // 268 million virtual log files over the life of a database
	blockBits = 24 // 8 GiB in one virtual log file
	slotBits  = 12 // a block has at most 60 KB, and a record at least 24 bytes

	blockDigits = 10
	slotDigits  = 5
)

// ErrSQLServerRange says that a log sequence number of SQL Server is larger than an
// LSN can hold without giving up the order: there is no position then.
var ErrSQLServerRange = errors.New("readsplit: the log sequence number is beyond what can be compared")

// ParseSQLServerLSN reads a log sequence number of SQL Server, as CONVERT(varchar(30),
// ..) writes a numeric(25,0): decimal digits and nothing else. Two of them lie to each
// other as their LSNs do. One that does not fit is [ErrSQLServerRange], never another
// position.
func ParseSQLServerLSN(text string) (LSN, error) {
	if len(text) == 0 || len(text) > 25 {
		return 0, fmt.Errorf("readsplit: log sequence number of %d digits: want 1 to 25", len(text))
	}
	for i := 0; i < len(text); i++ {
		if text[i] < '0' || text[i] > '9' {
			return 0, fmt.Errorf("readsplit: log sequence number %q: want decimal digits alone", text)
		}
	}
	slot, rest := lastDigits(text, slotDigits)
	block, vlf := lastDigits(rest, blockDigits)
	first, _ := lastDigits(vlf, blockDigits) // ten digits are left at most
	switch {
	case first == 0 && block == 0 && slot == 0:
		return 0, nil // as NULL: nothing was written
	case first == 0:
		return 0, fmt.Errorf("readsplit: log sequence number %q: there is no virtual log file 0", text)
	case first >= 1<<vlfBits || block >= 1<<blockBits || slot >= 1<<slotBits:
		return 0, fmt.Errorf("%w: %s has virtual log file %d, block %d, slot %d; at most %d, %d and %d fit", ErrSQLServerRange,
			text, first, block, slot, 1<<vlfBits-1, 1<<blockBits-1, 1<<slotBits-1)
	}
	return LSN(first<<(blockBits+slotBits) | block<<slotBits | slot), nil
}

// lastDigits cuts n digits off the end of text.
func lastDigits(text string, n int) (value uint64, rest string) {
	cut := max(len(text)-n, 0)
	value, _ = strconv.ParseUint("0"+text[cut:], 10, 64) // at most ten digits
	return value, text[:cut]
}

// SQLServerText writes l as SQL Server does, in decimal digits.
func (l LSN) SQLServerText() string {
	vlf, block, slot := uint64(l)>>(blockBits+slotBits), uint64(l)>>slotBits&(1<<blockBits-1), uint64(l)&(1<<slotBits-1)
	if vlf == 0 {
		return "0"
	}
	return fmt.Sprintf("%d%0*d%0*d", vlf, blockDigits, block, slotDigits, slot)
}

// endOfBlock is a position that no record of l's log block is beyond.
func (l LSN) endOfBlock() LSN { return l | (1<<slotBits - 1) }

// sector is what the offsets of log blocks are counted in, in bytes.
const sector = 512

// SQLServerBytes returns how many bytes of log lie between two log sequence numbers of SQL
// Server, of which the second is larger: to the precision of a log block, and, since nobody
// says how large a virtual log file is, at least so many where they are in different ones.
func SQLServerBytes(from, to LSN) uint64 {
	block := func(l LSN) uint64 { return uint64(l) >> slotBits & (1<<blockBits - 1) }
	if from>>(blockBits+slotBits) != to>>(blockBits+slotBits) {
		return block(to) * sector
	}
	return max((block(to)-block(from))*sector, 1)
}
