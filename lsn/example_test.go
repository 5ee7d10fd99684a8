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
