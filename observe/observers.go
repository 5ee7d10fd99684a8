package observe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// DecisionObserver is told of every statement outside of transactions, and of the
// beginning of every transaction. ctx is that of the statement, or of Begin.
type DecisionObserver interface {
	ObserveDecision(ctx context.Context, d Decision)
}

// RetryObserver is told of reads that failed on a replica and are run again. ctx is the
// statement's.
type RetryObserver interface {
	ObserveRetry(ctx context.Context, r Retry)
}

// ChangeObserver is told when a server has become something else.
type ChangeObserver interface {
	ObserveChange(c Change)
}

// CaptureObserver is told of questions to the primary for its position.
type CaptureObserver interface {
	ObserveCapture(c Capture)
}

// TokenObserver is told of session tokens that were joined.
type TokenObserver interface {
	ObserveToken(t Token)
}

// DiscoveryObserver is told of what Config.Discover finds.
type DiscoveryObserver interface {
	ObserveDiscovery(d Discovery)
}

// Observers are those who listen, by what they listen to. The zero value is nobody.
type Observers struct {
	Decisions  []DecisionObserver
	Statements []StatementObserver
	Retries    []RetryObserver
	Changes    []ChangeObserver
	Captures   []CaptureObserver
	Tokens     []TokenObserver
	// Discoveries are told of servers that come and go.
	Discoveries []DiscoveryObserver
}

// Of sorts observers by what they implement. One that implements nothing of this
// package is an error, which names its place in the list.
func Of(all ...any) (Observers, error) {
	var o Observers
	var errs []error
	for i, one := range all {
		if v := reflect.ValueOf(one); v.Kind() == reflect.Pointer && v.IsNil() {
			errs = append(errs, fmt.Errorf("[%d] is a nil %T: remove it, or give what its constructor returned", i, one))
			continue
		}
		heard := false
		if x, ok := one.(DecisionObserver); ok {
			o.Decisions, heard = append(o.Decisions, x), true
		}
		if x, ok := one.(StatementObserver); ok {
			o.Statements, heard = append(o.Statements, x), true
		}
		if x, ok := one.(RetryObserver); ok {
			o.Retries, heard = append(o.Retries, x), true
		}
		if x, ok := one.(ChangeObserver); ok {
			o.Changes, heard = append(o.Changes, x), true
		}
		if x, ok := one.(CaptureObserver); ok {
			o.Captures, heard = append(o.Captures, x), true
		}
		if x, ok := one.(TokenObserver); ok {
			o.Tokens, heard = append(o.Tokens, x), true
		}
		if x, ok := one.(DiscoveryObserver); ok {
			o.Discoveries, heard = append(o.Discoveries, x), true
		}
		if !heard {
			errs = append(errs, fmt.Errorf("[%d] is a %T: an observer implements at least one of observe.DecisionObserver, StatementObserver, RetryObserver, ChangeObserver, CaptureObserver, TokenObserver and DiscoveryObserver, perhaps with a pointer receiver", i, one))
		}
	}
	return o, errors.Join(errs...)
}
