package catalog

import (
	"cmp"
	"slices"

	"github.com/readsplit/readsplit/sqlclass"
)

// Risk is something that a statement must not name if it is to run on a replica.
type Risk struct {
	// Kind is function, relation, operator, type or cast; a cast has the name of the
	// type that it leads to. A type with the name of a relation is that of its rows.
	Kind string
	// Name is as SQL has it, with its schema; the symbol alone of an operator.
	Name string
	// Why is the reason: "volatile", "declared in WriteFunctions", "unlogged", "locks rows",
	// "stored in an unknown form", or "uses " and what is risky itself.
	Why string
}

var kinds = [...]string{
	classFunction: "function", classOperator: "operator", classType: "type", classCast: "cast", classRelation: "relation",
}

// spread finds everything that is risky, and why.
type spread struct {
	facts *facts
	said  *declared
	names map[node]string
	why   map[node]string
	queue []node
}

// risky returns why each object of f is risky that is.
func risky(f *facts, d *declared) map[node]string {
	s := spread{facts: f, said: d, names: map[node]string{}, why: map[node]string{}}
	for _, fn := range f.functions {
		s.function(node{classFunction, fn.oid}, fn.name, fn.volatile)
	}
	for oid, b := range f.builtins {
		s.function(node{classFunction, oid}, name{"pg_catalog", b.base}, !b.readsOnly())
	}
	for _, o := range f.objects {
		s.names[o.node] = o.name.String()
		if o.class == classOperator {
			s.names[o.node] = o.name.base
		}
		if o.unlogged {
			s.unlogged(o.oid)
		}
		if !f.readable() && o.class != classOperator && o.holds == holdsNothing {
			s.mark(o.node, "stored in an unknown form")
		}
	}
	for _, n := range f.locking {
		s.mark(n, "locks rows")
	}
	for _, n := range f.opaque {
		s.mark(n, "stored in an unknown form")
	}
	for len(s.queue) > 0 {
		used := s.queue[0]
		s.queue = s.queue[1:]
		why := "uses " + s.names[used]
		if s.names[used] == "" { // an array, which nobody knows by its name
			why = s.why[used]
		}
		for _, user := range f.users[used] {
			s.mark(user, why)
		}
	}
	return s.why
}

func (s *spread) function(at node, n name, volatile bool) {
	s.names[at] = n.String()
	switch {
	case s.said.isWrite(n):
		s.mark(at, "declared in WriteFunctions")
	case volatile && !s.said.isRead(n):
		s.mark(at, "volatile")
	}
}

// unlogged marks a table that a standby refuses, and every table that shows its rows.
func (s *spread) unlogged(oid uint32) {
	at := node{classRelation, oid}
	if s.why[at] != "" {
		return
	}
	s.mark(at, "unlogged")
	for _, parent := range s.facts.parents[oid] {
		s.unlogged(parent)
	}
}

func (s *spread) mark(n node, why string) {
	if s.why[n] == "" {
		s.why[n] = why
		s.queue = append(s.queue, n)
	}
}

// report lists what is risky for a statement to name. Volatile functions are not
// among it, since statements that call them are no reads to begin with, but for those
// that a read may name in other ways: as an attribute, if that is likely, or as a
// built-in function.
func report(f *facts, why map[node]string) []Risk {
	var risks []Risk
	for _, o := range f.objects {
		if why[o.node] == "" || f.hidden(o) {
			continue
		}
		text := o.name.String()
		if o.class == classOperator {
			text = o.name.base
		}
		risks = append(risks, Risk{Kind: kinds[o.class], Name: text, Why: why[o.node]})
	}
	for _, fn := range f.functions {
		if reason := why[node{classFunction, fn.oid}]; reason != "" && (fn.attribute && fn.shown || sqlclass.Harmless(sqlclass.PostgreSQL, fn.name.base)) {
			risks = append(risks, Risk{Kind: "function", Name: fn.name.String(), Why: reason})
		}
	}
	slices.SortFunc(risks, func(a, b Risk) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Why, b.Why))
	})
	return slices.Compact(risks)
}
