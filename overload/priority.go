package overload

import "context"

// Priority says whose read goes first when several wait for a place.
type Priority int8

// Priorities. Whoever waits at a higher one gets the next place; among equals the
// one who has waited longest.
const (
	Low    Priority = iota - 1 // may wait until nobody else does: reports, prefetching, crawlers
	Normal                     // the zero value
	High                       // somebody waits for the page
)

type priorityKey struct{}

// WithPriority marks the reads of a context. It matters only while they wait for a
// place in the primary's budget.
func WithPriority(ctx context.Context, p Priority) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	return context.WithValue(ctx, priorityKey{}, p)
}

// PriorityOf returns the priority of a context, Normal where it has none.
func PriorityOf(ctx context.Context) Priority {
	if ctx == nil {
		return Normal
	}
	p, _ := ctx.Value(priorityKey{}).(Priority)
	return p
}
