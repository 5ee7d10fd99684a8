package readsplit

import (
	"database/sql/driver"
	"io"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/lsn"
	"github.com/readsplit/readsplit/monitor"
	"github.com/readsplit/readsplit/policy"
)

// A statement pays one allocation for being routed, of 160 bytes: what dbresolver takes.
// Whatever few statements need belongs into detour.
func TestRouteIsSmall(t *testing.T) {
	require.LessOrEqual(t, reflect.TypeFor[route]().Size(), uintptr(160))
	require.LessOrEqual(t, reflect.TypeFor[trackedTx]().Size(), uintptr(176))
	require.LessOrEqual(t, reflect.TypeFor[attempt]().Size(), uintptr(48), "where no deadline is set")
}

// A read that has made no detour has none, and to ask costs nothing; what is noted of one
// read is not of another.
func TestDetours(t *testing.T) {
	a, b, group := &route{}, &route{}, &class{name: "reporting"}
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = a.past().fell }))
	require.Nil(t, a.pooled())
	a.goesAs(group, nil, false)
	require.Same(t, group, a.pooled())
	require.Nil(t, a.detour)
	other := &class{name: "aside"}
	a.strays().aside = other
	require.Same(t, other, a.pooled())
	a.goesAs(group, nil, false)
	require.Same(t, group, a.pooled())
	a.strays().refused = true
	require.True(t, a.past().refused)
	require.False(t, b.past().refused)
	require.Equal(t, detour{}, *straight)
}

// What a write with a default transaction leaves behind is the same for all of them.
func TestWritesLeaveOneRouteBehind(t *testing.T) {
	rt := &router{}
	left := rt.afterWrite(nil, true)
	require.True(t, left.done.Load())
	require.Equal(t, policy.ReasonWrite, left.reason)
	require.Same(t, left, rt.afterWrite(nil, true))
	require.Zero(t, testing.AllocsPerRun(100, func() { rt.afterWrite(nil, true) }))
	nothing := rt.afterWrite(nil, false)
	require.False(t, nothing.ran, "there was nothing to write")
	store := &gorm.PreparedStmtDB{}
	prepared := rt.afterWrite(store, true)
	require.Same(t, store, prepared.prepared)
	require.Nil(t, left.prepared)
	require.NotSame(t, left, left.next(), "a route that is done is not used again")
}

// A history is kept once, however many transactions have begun in it.
func TestHistoriesAreShared(t *testing.T) {
	rt := &router{monitor: monitor.New(monitor.Config{})}
	first := rt.historyNow()
	require.Equal(t, rt.history(), *first)
	require.Same(t, first, rt.historyNow())
	require.Zero(t, testing.AllocsPerRun(100, func() { rt.historyNow() }))
	before := lsn.History{System: 1, Timeline: 1, Incarnation: 1}
	rt.histories.Store(&before)
	require.Equal(t, rt.history(), *rt.historyNow(), "and not beyond its end")
	require.Equal(t, lsn.History{}, effect{}.since())
	require.Equal(t, before, effect{began: &before}.since())
}

// rowsOfThree are three rows of two columns.
type rowsOfThree struct{ at, closed int }

func (*rowsOfThree) Columns() []string { return []string{"id", "title"} }
func (r *rowsOfThree) Close() error    { r.closed++; return nil }

var three, one driver.Value = int64(3), "one"

func (r *rowsOfThree) Next(dest []driver.Value) error {
	if r.at == 3 {
		return io.EOF
	}
	r.at++
	dest[0], dest[1] = three, one
	return nil
}

// Rows that are read ahead need no memory of their own once others were closed, and
// give nothing of it to those who come next.
func TestReadingAheadReusesItsBuffers(t *testing.T) {
	var ahead aheadRows
	dest := make([]driver.Value, 2)
	read := func() {
		rows := &rowsOfThree{}
		got, err := ahead.read(rows)
		require.NoError(t, err)
		for range 3 {
			require.NoError(t, got.Next(dest))
			require.Equal(t, []driver.Value{three, one}, dest)
		}
		require.Equal(t, io.EOF, got.Next(dest))
		kept := ahead.kept
		require.NoError(t, got.Close())
		require.Equal(t, 1, rows.closed)
		for _, v := range (*kept)[:cap(*kept)] {
			require.Nil(t, v, "values of a result stay in memory")
		}
		require.NoError(t, got.Close())
		require.Equal(t, 2, rows.closed, "the driver's to make of it what it does")
		require.Equal(t, io.EOF, got.Next(dest))
	}
	read()
	read()
}
