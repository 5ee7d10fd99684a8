package engine

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// foreign judges a row's foreign keys, and those of other tables that point to it.
func (w *writeSet) foreign(p pending) error {
	if p.new != nil {
		for _, fk := range w.t.foreign {
			values := pick(p.new, fk.cols)
			if slices.Contains(values, nil) {
				continue
			}
			parent := w.edit.state.tables[fk.parent]
			if parent == nil || !parent.has(fk.refCols, values) {
				return w.conflict("FOREIGN KEY", fk.name, fk.parent, fk.refCols[0])
			}
		}
	}
	if p.old == nil {
		return nil
	}
	for name, child := range w.edit.state.tables {
		for _, fk := range child.foreign {
			if fk.parent != strings.ToLower(w.t.name) {
				continue
			}
			values := make([]any, len(fk.refCols))
			for i, c := range fk.refCols {
				values[i] = p.old[w.t.column(c)]
			}
			now := w.edit.state.tables[fk.parent]
			if now.has(fk.refCols, values) {
				continue
			}
			cols := make([]string, len(fk.cols))
			for i, c := range fk.cols {
				cols[i] = child.cols[c].Name
			}
			if child.has(cols, values) {
				return w.conflict("REFERENCE", fk.name, name, cols[0])
			}
		}
	}
	return nil
}

func (w *writeSet) conflict(kind, name, table, column string) *sqlval.Error {
	return sqlval.Errorf(547, "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in database \"%s\", table \"dbo.%s\", column '%s'.",
		w.verb, kind, name, w.x.s.db.Name(), table, column)
}

// has says whether a row has these values in these columns.
func (t *table) has(cols []string, values []any) bool {
	places := make([]int, len(cols))
	for i, c := range cols {
		places[i] = t.column(c)
		if places[i] < 0 {
			return false
		}
	}
	if slices.Equal(places, t.key) {
		_, ok := t.rows.get(values)
		return ok
	}
	found := false
	_ = t.rows.each(func(_, row []any) (bool, error) { // the visit does not fail
		found = sqlval.OrderAll(pick(row, places), values) == 0
		return !found, nil
	})
	return found
}
