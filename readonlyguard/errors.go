package readonlyguard

import (
	"errors"
	"fmt"
	"strings"
)

// ErrReadOnly is what every refusal of the guard is: errors.Is(err, ErrReadOnly).
var ErrReadOnly = errors.New("readsplit: refused in a read session")

// ErrNotRegistered is the error of every statement of a [Reader] over a gorm.DB that has no guard: without one,
// nothing would refuse a write in a Raw text.
var ErrNotRegistered = errors.New("readsplit: the gorm.DB of this Reader has no read-only guard; call db.Use(readonlyguard.New()) once, after gorm.Open")

// Reason is why something was refused.
type Reason uint8

const (
	// Writes: it would change data, schema, or something that other sessions can see.
	Writes Reason = iota + 1
	// Locks: it reads, and takes row or table locks. Locks are writes on the primary, and a replica refuses them.
	Locks
	// CallsFunctions: it reads, and calls functions of which the guard does not know that they only read.
	CallsFunctions
	// NotProven: it cannot be shown to be a read.
	NotProven
)

// String returns the reason as it appears in logs and metrics.
func (r Reason) String() string {
	switch r {
	case Writes:
		return "writes"
	case Locks:
		return "locks"
	case CallsFunctions:
		return "calls_functions"
	case NotProven:
		return "not_proven"
	default:
		return "invalid"
	}
}

// Error says what was refused. It is the panic value, or with [ReturnErrors] the error. It never holds a bind value
// or SQL text, which may contain one.
type Error struct {
	// Operation is the method that the application called: "Create", "Save", "FirstOrCreate", "Association.Replace",
	// "Exec", "Raw", "AutoMigrate".
	Operation string

	// Table is the table of the statement, or "" where gorm does not know one (Exec, Raw).
	Table string

	// Verb is the first word of an SQL text ("INSERT"), or "" where there is none or it says nothing.
	Verb string

	// Reason is why.
	Reason Reason

	// Functions are the names that [AllowFunctions] would have to list, when Reason is CallsFunctions.
	Functions []string
}

// Error names the operation, the table and the remedy.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("readsplit: ")
	b.WriteString(e.Operation)
	if e.Verb != "" {
		b.WriteString(" of ")
		b.WriteString(e.Verb)
	}
	if e.Table != "" {
		fmt.Fprintf(&b, " on table %q", e.Table)
	}
	b.WriteString(" refused in a read session before anything was sent: ")
	switch e.Reason {
	case Locks:
		b.WriteString("it takes locks, which only the primary can give; read without the locking clause, or lock with a context that is not marked read-only")
	case CallsFunctions:
		quoted := make([]string, len(e.Functions))
		for i, name := range e.Functions {
			quoted[i] = fmt.Sprintf("%q", name)
		}
		list := strings.Join(quoted, ", ")
		fmt.Fprintf(&b, "it calls %s, which may write; if it only reads, say so with readonlyguard.AllowFunctions(%s), else use a context that is not marked read-only", list, list)
	case NotProven:
		b.WriteString("it cannot be shown to be a read; use a context that is not marked read-only")
	default:
		b.WriteString("it writes; use a context that is not marked read-only")
	}
	return b.String()
}

// Is makes errors.Is(err, ErrReadOnly) true.
func (e *Error) Is(target error) bool { return target == ErrReadOnly }
