package sqlval

import "fmt"

// Error is an error as a server sends it.
type Error struct {
	Number  int32
	State   uint8
	Class   uint8 // severity
	Message string
	Next    *Error // a further one that the server sends behind it
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Number) }

// Errorf is an error of severity 16, which is what most errors of statements have.
func Errorf(number int32, format string, a ...any) *Error {
	return &Error{Number: number, State: 1, Class: 16, Message: fmt.Sprintf(format, a...)}
}

// NotModelled is the error for what a real server may understand and the double does not. It has
// the number of a syntax error, since a test must not go on as if the statement had been run.
func NotModelled(format string, a ...any) *Error {
	e := Errorf(102, "the double does not model "+format, a...)
	e.Class = 15
	return e
}
