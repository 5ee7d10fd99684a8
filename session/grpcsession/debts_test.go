package grpcsession

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/session"
)

// What a store has not taken is remembered for as long as it counts, and not only for
// as long as it is in doubt: a user without metadata would miss what they wrote. It is
// bounded, and what is more by now is not paid by who knew less.
func TestWhatTheStoreLacks(t *testing.T) {
	now := time.Now()
	wrote := func(at lsn.LSN, ends time.Duration) session.Token {
		return session.Token{
			Issued: now.Add(-time.Hour), Expires: now.Add(ends), Unsure: now.Add(-time.Second), // its doubt is over
			Positions: []lsn.Position{{History: lsn.History{System: 1, Timeline: 1, Incarnation: 1}, LSN: at}},
		}
	}
	var d debts
	d.add("ann", wrote(7, time.Hour))
	first, lost := d.of("ann")
	require.False(t, lost)
	require.NotNil(t, first)
	assert.Equal(t, lsn.LSN(7), first.Positions[0].LSN)
	d.add("ann", wrote(5, time.Hour))
	d.paid("ann", first)
	both, _ := d.of("ann")
	require.NotNil(t, both, "the response that pays knew of the first alone")
	assert.Equal(t, lsn.LSN(7), both.Positions[0].LSN)
	d.paid("ann", both)
	none, _ := d.of("ann")
	require.Nil(t, none)

	d.add("old", wrote(7, -time.Second))
	none, _ = d.of("old")
	require.Nil(t, none, "it counts no longer")
	for i := range mostDebtors {
		d.add(fmt.Sprint("user", i), wrote(7, time.Hour))
	}
	require.Len(t, d.users, mostDebtors)
	_, lost = d.of("bob")
	require.False(t, lost)
	more := wrote(7, time.Hour)
	more.Unsure = now.Add(time.Minute)
	d.add("one more", more)
	require.Len(t, d.users, mostDebtors)
	_, lost = d.of("bob")
	require.True(t, lost)
}
