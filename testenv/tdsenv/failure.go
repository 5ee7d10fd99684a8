package tdsenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// Failure is what the server does in place of an answer.
type Failure struct {
	// Match chooses the requests: those whose text contains it, without regard to case. Requests
	// to the transaction manager have the texts BEGIN TRANSACTION, COMMIT TRANSACTION, ROLLBACK
	// TRANSACTION and SAVE TRANSACTION. Defaults to every request.
	Match string

	// Login makes it concern logins, and not requests. Defaults to false.
	Login bool

	// Number is the error's number; 0 is no error, for a connection that only breaks.
	Number int32

	// Class is the error's severity; from 20 on the connection is broken behind it. Defaults to 16,
	// for a login to 14.
	Class uint8

	// State is the error's state. Defaults to 1.
	State uint8

	// Message is the error's text. Defaults to one that says that it was injected.
	Message string

	// Sever breaks the connection, after the error if there is one. Defaults to false.
	Sever bool

	// After does it after the request has been run: what a COMMIT has written stays, and its
	// client cannot know. Defaults to false, before it.
	After bool

	// Times is how often; -1 is until Undo. Defaults to 1.
	Times int
}

// String says what fails, and how, for a person.
func (f Failure) String() string {
	what := fmt.Sprintf("error %d", f.Number)
	if f.Number == 0 {
		what = "a broken connection"
	}
	if f.Match != "" {
		what += fmt.Sprintf(" for %q", f.Match)
	}
	return what
}

func (f Failure) err() *sqlval.Error {
	if f.Number == 0 {
		return nil
	}
	return &sqlval.Error{Number: f.Number, Class: f.Class, State: f.State, Message: f.Message}
}

// FailNext makes the next request, or the next Times requests, fail. Undo takes back what has not
// yet happened.
func (s *Server) FailNext(ctx context.Context, f Failure) (Undo, error) {
	if f.Class == 0 {
		f.Class = 16
		if f.Login {
			f.Class = 14
		}
	}
	if f.State == 0 {
		f.State = 1
	}
	if f.Message == "" {
		f.Message = fmt.Sprintf("Error %d was injected.", f.Number)
	}
	if f.Times == 0 {
		f.Times = 1
	}
	return s.inject(ctx, &fault{kind: failing, failure: f, left: f.Times}, func() error {
		switch {
		case f.Number == 0 && !f.Sever:
			return errors.New("the failure has neither a Number nor Sever")
		case f.Times < -1:
			return fmt.Errorf("the failure's Times is %d: it must be -1, or more than 0", f.Times)
		}
		return nil
	}, nil)
}

// failure is what is to happen to a request, and counts it. It looks for those before or after
// the run.
func (s *Server) failure(text string, login, after bool) *Failure {
	s.cluster.mu.Lock()
	defer s.cluster.mu.Unlock()
	for i, f := range s.faults {
		if f.kind != failing || f.failure.Login != login || f.failure.After != after ||
			!strings.Contains(strings.ToLower(text), strings.ToLower(f.failure.Match)) {
			continue
		}
		if f.left > 0 {
			if f.left--; f.left == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		failure := f.failure
		return &failure
	}
	return nil
}
