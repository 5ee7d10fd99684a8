package readsplit

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"sync"

	"github.com/readsplit/readsplit/retry"
)

// What is read of a result before its first row is given out, for Rows, Row and
// Raw().Scan, where a failure between two rows is the application's to handle. A
// result within these bounds fails before anything was given out, or not at all,
// and is read elsewhere. PostgreSQL sends in pieces of 8 KiB: a result that is not
// complete within two of them is given out as it comes.
const (
	mostAheadRows  = 64
	mostAheadBytes = 16 << 10
)

// aheadRows are rows whose first ones have been read already.
type aheadRows struct {
	driver.Rows
	router *router
	width  int
	buf    []driver.Value  // row after row
	kept   *[]driver.Value // what buf goes back into; nil: it has
	next   int             // of the rows in buf
	n      int
	end    error // after the rows in buf; nil: go on reading
}

// aheadBuffers are the buffers of rows that have been closed: whoever has read them has
// copies, and database/sql calls nothing of rows but Close from then on.
var aheadBuffers = sync.Pool{New: func() any { return new([]driver.Value) }}

// read reads the beginning of rows into a. An error for which the read may run
// elsewhere is returned; any other comes where it would come without this.
func (a *aheadRows) read(rows driver.Rows) (driver.Rows, error) {
	*a = aheadRows{Rows: rows, router: a.router, width: len(rows.Columns())}
	if a.width == 0 {
		return rows, nil
	}
	a.kept = aheadBuffers.Get().(*[]driver.Value)
	a.buf = (*a.kept)[:0]
	size := 0
	for a.n < mostAheadRows && size < mostAheadBytes {
		from := a.n * a.width
		if from+a.width > cap(a.buf) {
			more := make([]driver.Value, from, max(2*a.width, 4*from))
			copy(more, a.buf)
			a.buf = more
		}
		a.buf = a.buf[:from+a.width]
		row := a.buf[from:]
		if err := rows.Next(row); err != nil {
			if !errors.Is(err, io.EOF) && retry.OfRead(err).Action != retry.Surface {
				_ = a.Close()
				return nil, err
			}
			a.end = err
			break
		}
		for i, v := range row {
			switch v := v.(type) {
			case []byte: // the driver's own until the next row
				row[i] = bytes.Clone(v)
				size += len(v)
			case string:
				size += len(v)
			default:
				size += 8
			}
		}
		a.n++
	}
	return a, nil
}

// Close implements driver.Rows.
func (a *aheadRows) Close() error {
	if a.kept != nil {
		// Cleared, so that no values of a result stay in memory, and as much as was used:
		// what comes next writes before it reads.
		clear(a.buf)
		*a.kept = a.buf[:0]
		aheadBuffers.Put(a.kept)
		a.kept, a.buf, a.next, a.n, a.end = nil, nil, 0, 0, io.EOF
	}
	return a.Rows.Close()
}

// Next implements driver.Rows.
func (a *aheadRows) Next(dest []driver.Value) error {
	if a.next < a.n {
		copy(dest, a.buf[a.next*a.width:])
		a.next++
		return nil
	}
	if a.end != nil {
		return a.end
	}
	err := a.Rows.Next(dest)
	if err != nil && !errors.Is(err, io.EOF) {
		a.router.conflicted(err) // the application's to handle, and counted
	}
	return err
}

// HasNextResultSet implements driver.RowsNextResultSet.
func (a *aheadRows) HasNextResultSet() bool {
	r, ok := a.Rows.(driver.RowsNextResultSet)
	return ok && r.HasNextResultSet()
}

// NextResultSet implements driver.RowsNextResultSet.
func (a *aheadRows) NextResultSet() error {
	r, ok := a.Rows.(driver.RowsNextResultSet)
	if !ok {
		return io.EOF
	}
	a.next, a.n, a.end = 0, 0, nil
	return r.NextResultSet()
}

// ColumnTypeDatabaseTypeName implements driver.RowsColumnTypeDatabaseTypeName.
func (a *aheadRows) ColumnTypeDatabaseTypeName(i int) string {
	if r, ok := a.Rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
		return r.ColumnTypeDatabaseTypeName(i)
	}
	return ""
}

// ColumnTypeLength implements driver.RowsColumnTypeLength.
func (a *aheadRows) ColumnTypeLength(i int) (length int64, ok bool) {
	if r, has := a.Rows.(driver.RowsColumnTypeLength); has {
		return r.ColumnTypeLength(i)
	}
	return 0, false
}

// ColumnTypeNullable implements driver.RowsColumnTypeNullable.
func (a *aheadRows) ColumnTypeNullable(i int) (nullable, ok bool) {
	if r, has := a.Rows.(driver.RowsColumnTypeNullable); has {
		return r.ColumnTypeNullable(i)
	}
	return false, false
}

// ColumnTypePrecisionScale implements driver.RowsColumnTypePrecisionScale.
func (a *aheadRows) ColumnTypePrecisionScale(i int) (precision, scale int64, ok bool) {
	if r, has := a.Rows.(driver.RowsColumnTypePrecisionScale); has {
		return r.ColumnTypePrecisionScale(i)
	}
	return 0, 0, false
}

// ColumnTypeScanType implements driver.RowsColumnTypeScanType.
func (a *aheadRows) ColumnTypeScanType(i int) reflect.Type {
	if r, ok := a.Rows.(driver.RowsColumnTypeScanType); ok {
		return r.ColumnTypeScanType(i)
	}
	return reflect.TypeFor[any]()
}
