package engine

import (
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
	"github.com/readsplit/readsplit/testenv/tdsenv/internal/tsql"
)

func (w *writeSet) insert(n *tsql.Insert) error {
	if err := w.open(n.Table, "INSERT", CmdInsert, n.Output); err != nil {
		return err
	}
	cols, err := w.columns(n.Cols)
	if err != nil {
		return err
	}
	switch {
	case n.Default:
		err = w.insertRow(nil, nil)
	case n.Query != nil:
		var q *query
		if q, err = w.x.query(nil, n.Query); err != nil {
			return err
		}
		if len(q.cols) != len(cols) {
			return wrongCount()
		}
		var rows [][]any
		if rows, err = q.run(nil); err != nil {
			return err
		}
		for _, row := range rows {
			if err = w.insertRow(cols, func(i int) (any, bool, error) { return row[i], true, nil }); err != nil {
				return err
			}
		}
	default:
		for _, row := range n.Rows {
			if len(row) != len(cols) {
				return wrongCount()
			}
			err = w.insertRow(cols, func(i int) (any, bool, error) {
				if row[i] == nil {
					return nil, false, nil
				}
				c, err := w.x.scalar(&scope{}, row[i])
				if err != nil {
					return nil, true, err
				}
				v, err := c.eval(&env{})
				return v, true, err
			})
			if err != nil {
				return err
			}
		}
	}
	if err != nil {
		return err
	}
	return w.flush()
}

func wrongCount() *sqlval.Error {
	return sqlval.Errorf(109, "There are more or fewer columns in the INSERT statement than values specified in the VALUES clause.")
}

// columns are the places of named columns; without names all but the identity.
func (w *writeSet) columns(names []string) ([]int, error) {
	var cols []int
	if names == nil {
		for i, c := range w.t.cols {
			if !c.Identity || w.identityInsert() {
				cols = append(cols, i)
			}
		}
	}
	for _, name := range names {
		i := w.t.column(name)
		if i < 0 {
			return nil, sqlval.Errorf(207, "Invalid column name '%s'.", name)
		}
		if slices.Contains(cols, i) {
			return nil, sqlval.Errorf(264, "The column name '%s' is specified more than once in the column list.", name)
		}
		cols = append(cols, i)
	}
	return cols, nil
}

func (w *writeSet) identityInsert() bool {
	return w.x.s.opts.identityInto == strings.ToLower(w.t.name)
}

// insertRow makes a row of the values for some columns and the defaults of the others.
func (w *writeSet) insertRow(cols []int, value func(int) (v any, given bool, err error)) error {
	t := w.t
	p := pending{new: make([]any, len(t.cols))}
	given := make([]bool, len(t.cols))
	for i, at := range cols {
		v, ok, err := value(i)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		given[at] = true
		if p.new[at], err = sqlval.Assign(v, t.cols[at].Type); err != nil {
			return inColumn(err, t, at)
		}
	}
	for i := range t.cols {
		c := &t.cols[i]
		switch {
		case c.Identity && given[i] && !w.identityInsert():
			return sqlval.Errorf(544, "Cannot insert explicit value for identity column in table '%s' when IDENTITY_INSERT is set to OFF.", t.name)
		case c.Identity && given[i]:
			p.identity = p.new[i].(int64)
			w.w.identity[t.id] = max(w.w.identity[t.id], p.identity)
			w.scope = p.identity
		case c.Identity && w.identityInsert():
			return sqlval.Errorf(545, "Explicit value must be specified for identity column in table '%s' when IDENTITY_INSERT is set to ON.", t.name)
		case c.Identity:
			p.identity = w.w.nextIdentity(t, c)
			p.new[i], w.scope = p.identity, p.identity
		case !given[i] && c.Default != nil:
			v, err := w.x.defaultValue(c)
			if err != nil {
				return err
			}
			p.new[i] = v
		}
	}
	w.written = append(w.written, p)
	return nil
}

func inColumn(err error, t *table, at int) error {
	if e, ok := err.(*sqlval.Error); ok && e.Number == 2628 { //nolint:errorlint // made a line before
		return sqlval.Errorf(2628, "%s Table 'dbo.%s', column '%s'.", e.Message, t.name, t.cols[at].Name)
	}
	return err
}

func (x *execution) defaultValue(c *tableColumn) (any, error) {
	d, err := x.scalar(&scope{}, c.Default)
	if err != nil {
		return nil, err
	}
	v, err := d.eval(&env{})
	if err != nil {
		return nil, err
	}
	return sqlval.Assign(v, c.Type)
}

// target visits the rows of a table that meet a condition.
func (w *writeSet) target(t *tsql.Table, where tsql.Expr, visit func(e *env) error) (*scope, error) {
	plain := *t
	plain.Alias = ""
	sources, sc, err := w.x.from(nil, &plain, where)
	if err != nil {
		return nil, err
	}
	c := &core{x: w.x, sources: sources}
	if where != nil {
		if c.where, err = w.x.condition(sc, where); err != nil {
			return nil, err
		}
	}
	if visit == nil {
		return sc, nil
	}
	return sc, c.each(nil, visit)
}

// keyOf is the key of a row that a scan has given; a table without a primary key is searched.
func (w *writeSet) keyOf(row []any) ([]any, error) {
	if len(w.t.key) > 0 {
		return pick(row, w.t.key), nil
	}
	return nil, sqlval.NotModelled("UPDATE, DELETE and MERGE of a table without a primary key: %s", w.t.name)
}

func (w *writeSet) update(n *tsql.Update) error {
	if err := w.open(n.Table, "UPDATE", CmdUpdate, n.Output); err != nil {
		return err
	}
	sc, err := w.target(n.Table, n.Where, nil)
	if err != nil {
		return err
	}
	sets, err := w.assignments(sc, n.Sets)
	if err != nil {
		return err
	}
	_, err = w.target(n.Table, n.Where, func(e *env) error { return w.change(e, e.row, sets) })
	if err != nil {
		return err
	}
	return w.flush()
}

type assignment struct {
	at int
	c  *compiled
}

func (w *writeSet) assignments(sc *scope, sets []tsql.Set) ([]assignment, error) {
	var list []assignment
	for _, set := range sets {
		at := w.t.column(set.Col)
		if at < 0 {
			return nil, sqlval.Errorf(207, "Invalid column name '%s'.", set.Col)
		}
		if w.t.cols[at].Identity {
			return nil, sqlval.Errorf(8102, "Cannot update identity column '%s'.", set.Col)
		}
		c, err := w.x.scalar(sc, set.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, assignment{at, c})
	}
	return list, nil
}

// change is one row of an UPDATE: old is the row, e what its new values are computed from.
func (w *writeSet) change(e *env, old []any, sets []assignment) error {
	key, err := w.keyOf(old)
	if err != nil {
		return err
	}
	p := pending{key: key, old: old, new: slices.Clone(old)}
	for _, set := range sets {
		v, err := set.c.eval(e)
		if err != nil {
			return err
		}
		if p.new[set.at], err = sqlval.Assign(v, w.t.cols[set.at].Type); err != nil {
			return inColumn(err, w.t, set.at)
		}
	}
	w.written = append(w.written, p)
	return nil
}

func (w *writeSet) delete(n *tsql.Delete) error {
	if err := w.open(n.Table, "DELETE", CmdDelete, n.Output); err != nil {
		return err
	}
	_, err := w.target(n.Table, n.Where, func(e *env) error {
		key, err := w.keyOf(e.row)
		w.written = append(w.written, pending{key: key, old: e.row})
		return err
	})
	if err != nil {
		return err
	}
	return w.flush()
}

// merge is a left join of its source with the table.
func (w *writeSet) merge(n *tsql.Merge) error {
	if err := w.open(n.Table, "MERGE", CmdMerge, n.Output); err != nil {
		return err
	}
	sources, sc, err := w.x.from(nil, &tsql.Join{Kind: "left", L: n.Using, R: n.Table, On: n.On}, nil)
	if err != nil {
		return err
	}
	sets, err := w.assignments(sc, n.Matched)
	if err != nil {
		return err
	}
	cols, err := w.columns(n.Cols)
	if err != nil {
		return err
	}
	var values []*compiled
	for _, e := range n.Values {
		c, err := w.x.scalar(sc, e)
		if err != nil {
			return err
		}
		values = append(values, c)
	}
	if n.Insert && len(values) != len(cols) {
		return wrongCount()
	}
	var seen tree
	err = (&core{x: w.x, sources: sources}).each(nil, func(e *env) error {
		old := e.row[sources[0].width:]
		key, err := w.keyOf(old)
		if err != nil {
			return err
		}
		if key[0] == nil { // no row of the table
			if !n.Insert {
				return nil
			}
			return w.insertRow(cols, func(i int) (any, bool, error) {
				v, err := values[i].eval(e)
				return v, true, err
			})
		}
		if !n.Update {
			return nil
		}
		if _, twice := seen.get(key); twice {
			return sqlval.Errorf(8672, "The MERGE statement attempted to UPDATE or DELETE the same row more than once.")
		}
		seen = seen.put(key, key)
		return w.change(e, slices.Clone(old), sets)
	})
	if err != nil {
		return err
	}
	return w.flush()
}
