package readsplit

import (
	"database/sql"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What database/sql does not tell is read from its fields. A Go release that names or
// makes them otherwise turns each into what waits longer or knows less, and nothing else
// would say so.
func TestFieldsOfDatabaseSQL(t *testing.T) {
	for _, f := range []struct {
		in   any
		name string
		kind reflect.Kind
	}{
		{sql.Rows{}, "closed", reflect.Bool},
		{sql.DB{}, "maxIdleCount", reflect.Int},
		{sql.Stmt{}, "query", reflect.String},
	} {
		field, ok := reflect.TypeOf(f.in).FieldByName(f.name)
		if assert.True(t, ok, "%T has no field %s any more", f.in, f.name) {
			assert.Equal(t, f.kind, field.Type.Kind(), "%T.%s", f.in, f.name)
		}
	}
	for _, f := range []struct {
		in   any
		name string
		typ  reflect.Type
	}{
		{sql.Rows{}, "lasterr", reflect.TypeFor[error]()},
		{sql.Row{}, "rows", reflect.TypeFor[*sql.Rows]()},
		{sql.Tx{}, "done", reflect.TypeFor[atomic.Bool]()},
	} {
		field, ok := reflect.TypeOf(f.in).FieldByName(f.name)
		if assert.True(t, ok, "%T has no field %s any more", f.in, f.name) {
			assert.Equal(t, f.typ, field.Type, "%T.%s", f.in, f.name)
		}
	}

	rows := new(sql.Rows)
	mu, known := readLock(reflect.ValueOf(rows).Elem().FieldByName("closemu"))
	require.True(t, known, "sql.Rows has another lock")
	require.True(t, mu.TryRLock())
	closed, err := rowsEnd(rows) // beside another reader
	require.False(t, closed)
	require.NoError(t, err)
	mu.RUnlock()
}
