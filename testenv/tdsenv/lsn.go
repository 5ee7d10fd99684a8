package tdsenv

import (
	"math/big"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// lsn is a place in a log: the number of a virtual log file, of a block in it and of a record in
// the block. As numeric(25,0) the views show them side by side in 10, 10 and 5 digits: beyond
// int64, and beyond what a float64 tells apart.
type lsn struct {
	file, block, slot int64
}

// firstLSN is the end of the log before the first commit.
var firstLSN = lsn{file: 37, block: 1016, slot: 1}

// blocksPerFile makes files short enough for tests to see the number go over to the next.
const blocksPerFile = 10_000

// next is the commit record that follows l. It depends on l alone: after a forced failover the new
// primary's numbers are those of the commits that were lost.
func (l lsn) next() lsn {
	n := lsn{l.file, l.block + 8, l.slot%9 + 3}
	if n.block > blocksPerFile {
		n.file, n.block = n.file+1, 16
	}
	return n
}

// endOfBlock is the block behind the commit record, which is what has been hardened with it.
func (l lsn) endOfBlock() lsn { return lsn{l.file, l.block + 1, 1} }

func (l lsn) dec() sqlval.Dec {
	n := big.NewInt(l.file)
	n.Mul(n, big.NewInt(1e10)).Add(n, big.NewInt(l.block))
	n.Mul(n, big.NewInt(1e5)).Add(n, big.NewInt(l.slot))
	return sqlval.Dec{Int: n}
}

func (l lsn) String() string { return l.dec().String() }
