package lsn

import (
	"fmt"
	"strings"
	"time"
)

// SubscriptionSQL asks a server that is fed by logical replication how far its
// subscriptions into the database of the connection are. [ParseSubscription] reads its
// answer. It works for an ordinary role from PostgreSQL 14 on, unless somebody took the
// views away from it; before, which subscriptions there are is for superusers alone.
const SubscriptionSQL = `SELECT concat_ws(' ', 'u1', count(DISTINCT s.oid), count(DISTINCT s.oid) FILTER (WHERE w.pid IS NOT NULL),
 coalesce(min(w.latest_end_lsn)::text, '-'),
 coalesce(least(greatest((extract(epoch FROM max(clock_timestamp() - w.last_msg_receipt_time)) * 1000)::bigint, 0), 3600000)::text, '-'))
FROM pg_catalog.pg_subscription AS s LEFT JOIN pg_catalog.pg_stat_subscription AS w ON w.subid = s.oid AND w.relid IS NULL
WHERE s.subdbid = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())`

// Subscription is how far the subscriptions of one database are. It proves nothing:
// which publisher they are of is not known, and a position that was received is not one
// that was applied in every table.
type Subscription struct {
	// Count is how many there are, Running how many of them have a worker.
	Count, Running int
	// Received is the position of the publisher up to which the slowest of those with a
	// worker has received, and said so; 0: unknown. It moves when the publisher asks,
	// which it does seldom while nothing is written.
	Received LSN
	// Heard is how long ago the publisher was heard of, by the subscriber's clock, in the
	// subscription that waits longest, at most an hour; HeardKnown is false where no
	// worker runs.
	Heard      time.Duration
	HeardKnown bool
}

// ParseSubscription reads the answer to [SubscriptionSQL].
func ParseSubscription(text string) (Subscription, error) {
	f := strings.Split(text, " ")
	if len(f) != 5 || f[0] != "u1" {
		return Subscription{}, fmt.Errorf("readsplit: subscriptions: %d fields, want 5", len(f))
	}
	p := fields{name: "subscriptions", f: f}
	s := Subscription{Count: p.count(1), Running: p.count(2), Received: p.lsn(3), HeardKnown: f[4] != "-"}
	if s.HeardKnown {
		s.Heard = p.millis(4)
	}
	return s, p.err
}
