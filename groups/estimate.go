package groups

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Estimate is what a caller expects of a read. What is 0 is not known.
type Estimate struct {
	// Takes is how long it will run.
	Takes time.Duration
	// Rows is how many rows it will look at.
	Rows int64
}

type estimateKey struct{}

// WithEstimate says what reads in ctx will cost, as far as their caller knows: about
// thirty seconds, or about two million rows. Where a group's From says so they are
// meant for that group; nothing else follows from it, and a wrong estimate costs no
// more than a read at the wrong place. The newest estimate of a context counts; the
// zero Estimate takes it back.
func WithEstimate(ctx context.Context, e Estimate) context.Context {
	return context.WithValue(ctx, estimateKey{}, e)
}

// EstimateOf returns the estimate of ctx; zero: none.
func EstimateOf(ctx context.Context) Estimate {
	e, _ := ctx.Value(estimateKey{}).(Estimate)
	return e
}

// Reaches reports whether e is as much as from in time or in rows. Nothing reaches the
// zero Estimate.
func (e Estimate) Reaches(from Estimate) bool {
	return from.Takes > 0 && e.Takes >= from.Takes || from.Rows > 0 && e.Rows >= from.Rows
}

// Covers reports whether whatever reaches other reaches e too, so that a group which
// comes after one from e on would never be meant.
func (e Estimate) Covers(other Estimate) bool {
	return (other.Takes > 0 || other.Rows > 0) &&
		(other.Takes <= 0 || e.Takes > 0 && e.Takes <= other.Takes) &&
		(other.Rows <= 0 || e.Rows > 0 && e.Rows <= other.Rows)
}

// String returns "30s", "2000000 rows" or both; "nothing" for the zero Estimate.
func (e Estimate) String() string {
	var parts []string
	if e.Takes != 0 {
		parts = append(parts, e.Takes.String())
	}
	if e.Rows != 0 {
		parts = append(parts, fmt.Sprintf("%d rows", e.Rows))
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
