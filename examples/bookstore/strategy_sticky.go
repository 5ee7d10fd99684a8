package main

import (
	"time"

	"github.com/readsplit/readsplit/internal/orderlab"
	"github.com/readsplit/readsplit/policy"
)

// stickyWindow is how long a customer stays on the primary after a write.
const stickyWindow = 5 * time.Second

// newSticky returns the strategy "sticky": for five seconds after a write a
// customer reads from the primary. Everybody who splits reads by hand ends here,
// with a cookie that holds a time.
func newSticky(customers int) *routed {
	return &routed{
		label:    "sticky",
		policies: []policy.Policy{policy.Sticky(stickyWindow)},
		sessions: orderlab.NewSessions(customers),
	}
}
