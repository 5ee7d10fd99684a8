package orderlab

import (
	"context"

	"github.com/readsplit/readsplit"
)

// Primary is how reads of the primary are counted, and how the plugin calls it.
const Primary = "primary"

// Shop is what the customers do to a database. Its methods are called from several
// goroutines.
type Shop interface {
	// Place stores an order and returns its ID. Orders come in the ways that applications
	// have (Create, a transaction, and so on), which take turns by their number.
	Place(ctx context.Context, number int, o Order) (id int64, err error)
	// List reads the newest orders of a customer.
	List(ctx context.Context, customer int64) (List, error)
}

// Order is one book that a customer orders; both count from 1.
type Order struct {
	Customer, Book int64
	Quantity       int
}

// List is what a customer got to see.
type List struct {
	IDs []int64 // of the orders, the newest first
	// Full: older orders than these had no room.
	Full bool
	// ServedBy is the name that the server gives itself, as a column of the list query,
	// so that no router can claim another; "" where the list is empty.
	ServedBy string
	// Replica: it was no primary when it made the list.
	Replica bool
}

// Strategy is a way of routing the statements of the shop. The shop's code is the same
// under all of them.
type Strategy interface {
	// Name is how the strategy appears in the lines of the report.
	Name() string
	// Request returns the context of one request of a customer.
	Request(ctx context.Context, customer int64) context.Context
	// Status is what the router says of itself; ok is false when it says nothing.
	Status() (st readsplit.Status, ok bool)
	// Close ends what opening it began.
	Close(ctx context.Context) error
}

// Servers are those that a trial runs on, apart from any router.
type Servers interface {
	// CaughtUp returns when every replica shows all that is committed.
	CaughtUp(ctx context.Context) error
	// Reset sets the counters of every server to zero.
	Reset(ctx context.Context) error
	// Lists returns how often each server has run the list query since Reset, by the
	// names that the servers give themselves; nil where nobody has counted.
	Lists(ctx context.Context) (map[string]int, error)
}
