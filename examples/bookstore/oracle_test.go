package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/examples/bookstore/shop"
)

func page(ids ...int64) []shop.Line {
	lines := make([]shop.Line, len(ids))
	for i, id := range ids {
		lines[i].OrderID = id
	}
	return lines
}

// fullPage has as many orders as a page has room for: 120, 119 and so on.
func fullPage() []shop.Line {
	var ids []int64
	for i := range int64(shop.PageSize) {
		ids = append(ids, 120-i)
	}
	return page(ids...)
}

func ids(receipts []receipt) []int64 {
	var all []int64
	for _, r := range receipts {
		all = append(all, r.id)
	}
	return all
}

func TestOracleKnowsWhatAListMustShow(t *testing.T) {
	for name, c := range map[string]struct {
		due     []int64
		list    []shop.Line
		missing []int64
	}{
		"nothing was ordered": {nil, page(), nil},
		"it is there":         {[]int64{7}, page(7, 3), nil},
		"it is not there":     {[]int64{7}, page(3), []int64{7}},
		"an empty list":       {[]int64{7}, page(), []int64{7}},
		"an older one is not there on a short page":   {[]int64{2, 7}, page(7, 3), []int64{2}},
		"it is the last one of a full page":           {[]int64{101}, fullPage(), nil},
		"a full page has no room for it":              {[]int64{100}, fullPage(), nil},
		"newer than all of a full page":               {[]int64{121}, fullPage(), []int64{121}},
		"it belongs between two orders of a full one": {[]int64{110}, append(page(121), removed(fullPage(), 110)...), []int64{110}},
		"two of three": {[]int64{5, 6, 7}, page(6), []int64{5, 7}},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOracle(3)
			for _, id := range c.due {
				o.acknowledge(2, id, 0)
			}
			assert.Equal(t, c.missing, ids(o.judge(2, o.due(2), c.list)))
			assert.Equal(t, len(c.missing), o.missed())
		})
	}
}

func removed(lines []shop.Line, id int64) []shop.Line {
	var rest []shop.Line
	for _, line := range lines {
		if line.OrderID != id {
			rest = append(rest, line)
		}
	}
	return rest
}

func TestOracleDemandsOnlyWhatWasAcknowledgedBefore(t *testing.T) {
	o := newOracle(1)
	o.acknowledge(1, 7, 0)
	due := o.due(1)
	o.acknowledge(1, 8, 1) // while the list is under way
	assert.Empty(t, o.judge(1, due, page(7)))
	assert.Equal(t, []int64{8}, ids(o.judge(1, o.due(1), page(7))))
}

func TestOracleCountsAnOrderOnceAndLooksAtItsCustomerOnly(t *testing.T) {
	o := newOracle(2)
	o.acknowledge(1, 7, 0)
	o.judge(1, o.due(1), page())
	o.judge(1, o.due(1), page())
	assert.Empty(t, o.judge(2, o.due(2), page()))
	assert.Equal(t, 1, o.missed())
}
