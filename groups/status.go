package groups

import (
	"database/sql"
	"time"

	"github.com/readsplit/readsplit/policy"
)

// Status is what became of the reads of one group, outside of transactions.
type Status struct {
	Name      string
	Otherwise Otherwise
	// Replicas is how many replicas are in the group, Up how many of them answer and are
	// in service.
	Replicas, Up int
	// Served are the reads that replicas of the group served, Outside those that other
	// replicas did, OnPrimary those that the primary did, and Refused those that failed
	// with ErrRefused.
	Served, Outside, OnPrimary, Refused uint64
	// Because counts Outside, OnPrimary and Refused by what kept the group from serving.
	// ReasonSchemaBehind of a group that is fed by logical replication: a table or column
	// is missing there, which DDL on the primary does not bring.
	Because map[policy.Reason]uint64
}

// PoolStatus is the pool of one group on one replica.
type PoolStatus struct {
	Group string
	// Reads is how many reads the group ran there, InFlight how many it runs now.
	Reads    uint64
	InFlight int64
	// Latency is how long one of its reads is expected to take there until its first
	// row; 0: not known.
	Latency time.Duration
	Pool    sql.DBStats
}
