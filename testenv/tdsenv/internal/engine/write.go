package engine

import (
	"context"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

// result is what a writing statement answers.
type result struct {
	cmd   uint16
	count int64
	cols  []Column // of OUTPUT
	rows  [][]any
	scope any // the identity value
}

// write runs INSERT, UPDATE, DELETE and MERGE.
func (s *Session) write(ctx context.Context, stmt tsql.Stmt, out Sink) error {
	var r *result
	err := s.change(ctx, func(state *State) ([]change, []string, error) {
		w, err := s.db.Writer()
		if err != nil {
			return nil, nil, err
		}
		x := &execution{ctx: ctx, s: s, state: state}
		set := &writeSet{x: x, w: w, edit: state.edit(), result: &result{}}
		switch n := stmt.(type) {
		case *tsql.Insert:
			err = set.insert(n)
		case *tsql.Update:
			err = set.update(n)
		case *tsql.Delete:
			err = set.delete(n)
		case *tsql.Merge:
			err = set.merge(n)
		}
		if err != nil {
			return nil, nil, err
		}
		r = set.result
		return set.changes, set.locks, nil
	})
	if err != nil {
		return err
	}
	s.rowCount = r.count
	if r.scope != nil {
		s.scope = r.scope
	}
	if r.cols != nil {
		if err := out.Columns(r.cols); err != nil {
			return err
		}
		for _, row := range r.rows {
			if err := out.Row(row); err != nil {
				return err
			}
		}
	}
	if s.opts.noCount {
		return out.Done(r.cmd, -1, false)
	}
	return out.Done(r.cmd, r.count, false)
}

// writeSet gathers what one statement changes in one table.
type writeSet struct {
	*result
	x       *execution
	w       *Writer
	edit    *edit
	t       *table
	verb    string
	changes []change
	locks   []string
	checks  []*compiled
	output  []*compiled
	written []pending
}

// pending is a row that is to be written: old or new is nil for an insert or a delete.
type pending struct {
	key      []any
	old, new []any
	identity int64
}

func (w *writeSet) open(t *tsql.Table, verb string, cmd uint16, out []tsql.Item) error {
	found, err := w.x.table(t)
	if err != nil {
		return err
	}
	w.t, w.verb, w.cmd = found, verb, cmd
	sc := &scope{cols: columnsOf(found, found.name)}
	for _, c := range found.checks {
		check, err := w.x.condition(sc, c.Check)
		if err != nil {
			return err
		}
		w.checks = append(w.checks, check)
	}
	if out == nil {
		return nil
	}
	pseudo := &scope{cols: append(columnsOf(found, "inserted"), columnsOf(found, "deleted")...)}
	c := &core{x: w.x}
	for _, item := range out {
		if err := c.item(pseudo, item); err != nil {
			return err
		}
	}
	w.output, w.cols = c.items, c.cols
	return nil
}

// flush checks all rows of the statement together and makes them changes. Uniqueness is judged
// after all of them: UPDATE t SET id = id + 1 is no violation.
func (w *writeSet) flush() error {
	t := w.t
	for _, p := range w.written {
		if p.old == nil {
			continue
		}
		w.locks = append(w.locks, lockName(t, "", p.key))
		if err := w.apply(&rowChange{table: t.name, tableID: t.id, key: p.key}); err != nil {
			return err
		}
	}
	for i := range w.written {
		p := &w.written[i]
		if p.new == nil {
			continue
		}
		if err := w.place(p); err != nil {
			return err
		}
	}
	for _, p := range w.written {
		if err := w.foreign(p); err != nil {
			return err
		}
		if err := w.emit(p); err != nil {
			return err
		}
	}
	w.count = int64(len(w.written))
	return nil
}

func (w *writeSet) apply(c *rowChange) error {
	w.changes = append(w.changes, c)
	return c.apply(w.edit)
}

// place checks a new row and puts it.
func (w *writeSet) place(p *pending) error {
	t := w.t
	for i, c := range t.cols {
		if p.new[i] == nil && c.NotNull {
			return sqlval.Errorf(515, "Cannot insert the value NULL into column '%s', table '%s.dbo.%s'; column does not allow nulls. %s fails.", c.Name, w.x.s.db.Name(), t.name, w.verb)
		}
	}
	for i, check := range w.checks {
		v, err := check.eval(&env{row: p.new})
		if err != nil {
			return err
		}
		if v == false {
			return sqlval.Errorf(547, "The %s statement conflicted with the CHECK constraint \"%s\". The conflict occurred in database \"%s\", table \"dbo.%s\".", w.verb, t.checks[i].Name, w.x.s.db.Name(), t.name)
		}
	}
	current, err := w.edit.table(t.name)
	if err != nil {
		return err
	}
	key := p.key
	switch {
	case len(t.key) > 0:
		key = pick(p.new, t.key)
		if _, taken := current.rows.get(key); taken {
			// Another transaction may be about to remove it: then its lock is waited for.
			w.locks = append(w.locks, lockName(t, "", key))
			if w.lockedByOther(lockName(t, "", key)) {
				return nil
			}
			return duplicate(t, t.keyName, true, key)
		}
	case p.old == nil:
		key = []any{w.w.nextRow(current)}
	}
	w.locks = append(w.locks, lockName(t, "", key))
	for i := range current.indexes {
		ix := &current.indexes[i]
		if !ix.unique || !ix.holds(t, p.new) {
			continue
		}
		values := pick(p.new, ix.cols)
		name := lockName(t, ix.name, values)
		w.locks = append(w.locks, name)
		if _, taken := ix.entries.get(values); taken && !w.lockedByOther(name) {
			return duplicate(t, ix.name, ix.constraint, values)
		}
	}
	return w.apply(&rowChange{table: t.name, tableID: t.id, key: key, row: p.new, identity: p.identity})
}

// lockedByOther says that the statement will have to wait, and be planned anew.
func (w *writeSet) lockedByOther(name string) bool {
	owner := w.w.locks[name]
	return owner != nil && owner != w.x.s.tx
}

func duplicate(t *table, name string, constraint bool, key []any) *sqlval.Error {
	var values []string
	for _, v := range key {
		s, _ := sqlval.Cast(v, text)
		if s == nil {
			s = "<NULL>"
		}
		values = append(values, s.(string))
	}
	list := strings.Join(values, ", ")
	if !constraint {
		e := sqlval.Errorf(2601, "Cannot insert duplicate key row in object 'dbo.%s' with unique index '%s'. The duplicate key value is (%s).", t.name, name, list)
		e.Class = 14
		return e
	}
	what := "UNIQUE KEY"
	if name == t.keyName {
		what = "PRIMARY KEY"
	}
	e := sqlval.Errorf(2627, "Violation of %s constraint '%s'. Cannot insert duplicate key in object 'dbo.%s'. The duplicate key value is (%s).", what, name, t.name, list)
	e.Class = 14
	return e
}

// emit is the row of OUTPUT.
func (w *writeSet) emit(p pending) error {
	if w.output == nil {
		return nil
	}
	n := len(w.t.cols)
	e := &env{row: make([]any, 2*n)}
	copy(e.row, p.new)
	copy(e.row[n:], p.old)
	row := make([]any, len(w.output))
	for i, c := range w.output {
		v, err := c.eval(e)
		if err != nil {
			return err
		}
		row[i] = v
	}
	w.rows = append(w.rows, row)
	return nil
}

// nextRow numbers the rows of a table without a primary key.
func (w *Writer) nextRow(t *table) int64 {
	last := max(w.identity[-t.id], t.nextRow) + 1
	w.identity[-t.id] = last
	return last
}

func (ix *index) holds(_ *table, row []any) bool {
	if ix.filter == nil {
		return true
	}
	v, err := ix.filter.eval(&env{row: row})
	return err == nil && v == true
}
