package orderlab

import (
	"context"

	"github.com/readsplit/readsplit"
)

// Sessions holds a session for each customer, as a web application keeps one behind its
// cookie. Nil: no session and no mark anywhere.
type Sessions []*readsplit.Session

// NewSessions returns a session for each of so many customers, who count from 1.
func NewSessions(customers int) Sessions {
	s := make(Sessions, customers+1)
	for i := range s {
		s[i] = readsplit.NewSession()
	}
	return s
}

// Request returns the context of one request of a customer.
func (s Sessions) Request(ctx context.Context, customer int64) context.Context {
	if s == nil {
		return ctx
	}
	return readsplit.WithSession(ctx, s[customer])
}
