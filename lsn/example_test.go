package lsn_test

import (
	"fmt"

	"github.com/readsplit/readsplit/lsn"
)

func ExampleCompare() {
	before := lsn.History{System: 7304517213409421943, Timeline: 1, Incarnation: 1773500000123456}
	after := lsn.History{System: 7304517213409421943, Timeline: 2, Incarnation: 1773500900654321}
	at := func(h lsn.History, text string) lsn.Position {
		l, err := lsn.ParseLSN(text)
		if err != nil {
			panic(err)
		}
		return lsn.Position{History: h, LSN: l}
	}

	written, replayed := at(before, "16/B374D848"), at(before, "16/B374D9A0")
	fmt.Println(lsn.Compare(replayed, written), replayed.Covers(written))

	// After a failover the same numbers mean other writes.
	promoted := at(after, "16/B374E000")
	fmt.Println(lsn.Compare(promoted, written), promoted.Covers(written))
	// Output:
	// after true
	// incomparable false
}

func ExampleLSN_RecordEnd() {
	// The last commit ended on a page end; the next record would start behind the
	// header of a page that nobody has written yet.
	insert, _ := lsn.ParseLSN("0/3002018")
	fmt.Println(insert, "is reached by a standby at", insert.RecordEnd(8192, 16<<20))
	// Output:
	// 0/3002018 is reached by a standby at 0/3002000
}

// A position crosses a process as text or as bytes, and names the history that it counts
// in.
func ExampleParsePosition() {
	p := lsn.Position{History: lsn.History{System: 7304517213409421943, Timeline: 1, Incarnation: 1773500000123456}, LSN: 0x16B374D8}

	read, err := lsn.ParsePosition(p.String())
	fmt.Println(p)
	fmt.Println(read == p, err)

	bytes, _ := p.AppendBinary(nil)
	read, err = lsn.FromBinary(bytes)
	fmt.Println(read == p, err)
	// Output:
	// 655edbb460feaa77.00000001.00064cfd25843a40.0000000016b374d8
	// true <nil>
	// true <nil>
}

// The answer of a primary to CaptureSQL: what is flushed, and where the next record goes.
func ExampleParseCapture() {
	c, err := lsn.ParseCapture("c1 16/B374D848 16/B374D848 f", 8192, 16<<20)
	fmt.Println(c.Flush, c.Insert, c.AsyncCommit, err)
	// Output: 16/B374D848 16/B374D848 false <nil>
}
