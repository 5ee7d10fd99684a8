package catalog

import "github.com/readsplit/readsplit/sqlclass"

// class is the kind of an object. Oids are unique within a class alone.
type class uint8

const (
	classNone class = iota
	classFunction
	classOperator
	classType // a domain, or a type that holds others: see holding
	classCast // the casts to a type, under the oid of the type
	classRelation
	classProbe // see facts.probe
)

var classNames = map[string]class{
	"function": classFunction, "operator": classOperator, "type": classType, "cast": classCast,
	"relation": classRelation, "probe": classProbe,
}

type node struct {
	class class
	oid   uint32
}

// facts are what load.sql answers.
type facts struct {
	mark      string // see mark.sql
	functions []function
	objects   []object
	// builtins are the server's own functions, by their oids.
	builtins map[uint32]builtin
	// symbols are the server's own operators.
	symbols map[string]bool
	// users are, for each object, those that use it.
	users map[node][]node
	// parents are, for each partition or child table, the tables that show its rows.
	parents map[uint32][]uint32
	// locking are views that lock rows, opaque those that are stored in a form that
	// load.sql does not read.
	locking, opaque []node
	// probe are the functions that load.sql found in pg_locks, which calls one.
	probe []uint32
}

type function struct {
	oid       uint32
	name      name
	volatile  bool
	attribute bool // may be called as (expression).function
	shown     bool // where it is an attribute, it is likely to be named as one
}

// builtin is a function of the server itself.
type builtin struct {
	base     string
	volatile bool
}

// readsOnly reports whether the function reads only: by the list of the lexer or, for
// one of a newer server that is on no list, by its volatility.
func (b builtin) readsOnly() bool {
	if sqlclass.Harmless(sqlclass.PostgreSQL, b.base) {
		return true
	}
	listed := !sqlclass.Classify(sqlclass.PostgreSQL, "SELECT "+(name{base: b.base}).String()+"(1)").Flags.Has(sqlclass.UnlistedCalls)
	return !listed && !b.volatile
}

type object struct {
	node
	name     name
	holds    holding // of a type
	unlogged bool
}

// holding is how a type comes to be risky: by itself, or by what it holds.
type holding uint8

const (
	holdsNothing holding = iota // a domain
	holdsParts                  // a composite type or a range
	holdsColumns                // the row of a relation, under whose name it goes
)

func newFacts() *facts {
	return &facts{
		builtins: map[uint32]builtin{},
		symbols:  map[string]bool{},
		users:    map[node][]node{},
		parents:  map[uint32][]uint32{},
	}
}

// readable reports whether the stored expressions have the form that load.sql reads.
// If a newer server changed it, no function would be found in any view.
func (f *facts) readable() bool {
	for _, oid := range f.probe {
		if f.builtins[oid].base == "pg_lock_status" {
			return true
		}
	}
	return false
}

// hidden reports whether o is an operator whose symbol the server has as well. Nearly
// every statement has such a symbol, and one volatile = for a type of the user's own
// would take all reads from the replicas.
func (f *facts) hidden(o object) bool {
	return o.class == classOperator && f.symbols[o.name.base]
}
