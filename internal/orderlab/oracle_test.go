package orderlab

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func page(ids ...int64) List { return List{IDs: ids} }

// fullPage has as many orders as a page has room for: 120, 119 and so on to 101.
func fullPage() List {
	l := List{Full: true}
	for i := range int64(20) {
		l.IDs = append(l.IDs, 120-i)
	}
	return l
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
		list    List
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
		"it belongs between two orders of a full one": {[]int64{110}, List{IDs: append([]int64{121}, removed(fullPage().IDs, 110)...), Full: true}, []int64{110}},
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

func removed(ids []int64, id int64) []int64 {
	return slices.DeleteFunc(ids, func(other int64) bool { return other == id })
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

func TestOracleDoesNotDemandWhatWasLost(t *testing.T) {
	o := newOracle(2)
	o.acknowledge(1, 7, 0)
	o.acknowledge(1, 8, 1)
	o.acknowledge(2, 9, 2)
	due := o.due(1)
	assert.Equal(t, 2, o.keep(func(order int64) bool { return order == 8 }))
	assert.Equal(t, 2, o.lost)
	assert.Equal(t, []int64{8}, ids(o.judge(1, o.due(1), page())))
	assert.Empty(t, o.judge(2, o.due(2), page()))
	assert.Equal(t, []int64{7, 8}, ids(due), "a list that is under way keeps what it was asked for")
}
