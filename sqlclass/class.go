package sqlclass

// Dialect selects the lexical rules and the list of known functions.
type Dialect uint8

const (
	// PostgreSQL is the zero value: PostgreSQL 13 and later.
	PostgreSQL Dialect = iota
	// SQLServer is Transact-SQL, where statements need no semicolon between them.
	SQLServer
)

// String returns "postgresql" or "sqlserver".
func (d Dialect) String() string {
	switch d {
	case PostgreSQL:
		return "postgresql"
	case SQLServer:
		return "sqlserver"
	}
	return "invalid"
}

// Class says what may be assumed of a statement. The zero value is Unknown, so
// that a value nobody filled in never reaches a replica.
type Class uint8

const (
	// Unknown is everything that is not proven to be one of the others. It has
	// to be treated as a write.
	Unknown Class = iota
	// Read is a statement that a hot standby accepts and that changes nothing,
	// as far as its text can tell.
	Read
	// LockingRead would be Read but for the row or table locks that it asks for.
	LockingRead
	// Write changes data, schema or something that other sessions can see.
	Write
)

// String returns "unknown", "read", "locking_read" or "write".
func (c Class) String() string {
	switch c {
	case Unknown:
		return "unknown"
	case Read:
		return "read"
	case LockingRead:
		return "locking_read"
	case Write:
		return "write"
	}
	return "invalid"
}

// Info is what Classify found out about one SQL text. It is small, comparable
// and meant to be passed by value.
type Info struct {
	Class Class
	// Verb is the kind of the first statement in the text.
	Verb Verb
	// Flags are collected over all statements in the text.
	Flags Flags
}
