package conformance

import (
	"gorm.io/gorm"

	"github.com/readsplit/readsplit/policy"
	"github.com/readsplit/readsplit/retry"
)

// SQL is what is said differently. Texts use GORM's ? for values.
type SQL struct {
	// Who is an expression for the name of the server that runs it.
	Who string
	// Slow is a read that takes about a fifth of a second.
	Slow string
	// Insert adds a book with a title and an author, and returns its id as a row.
	Insert string
	// Lock makes a read of books take locks.
	Lock func(db *gorm.DB) *gorm.DB
	// Statements are texts and why they run where they run. For a read the reason is
	// policy.ReasonNone: whatever a replica serves for.
	Statements []Statement
	// Errors are codes that a replica may answer a read with, and what is done then.
	Errors []Error
	// RefusedWrite is the code of a replica that refuses a write, Deadlock that of a deadlock's
	// victim, Duplicate that of a violated unique key.
	RefusedWrite, Deadlock, Duplicate string
	// Code is the code in an error of the driver's, empty where it has none.
	Code func(error) string
}

// Statement is a text, and why it runs where it runs.
type Statement struct {
	Text   string
	Reason policy.Reason
}

// Error is a code, and the verdict of package retry on a read that ends with it on a replica.
type Error struct {
	Code   string
	Action retry.Action
}
