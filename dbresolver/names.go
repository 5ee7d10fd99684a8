package dbresolver

import (
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	upstream "gorm.io/plugin/dbresolver"
)

// Config is what Register takes: Sources are the primary, Replicas its replicas.
//
// Several Sources must be addresses of one server: readsplit promises that users
// see their own writes, which nobody can over two primaries. The first one that
// answers is used. Policy chooses among the replicas that are right for a read,
// and is never asked for less than two. TraceResolverMode puts [source] or
// [replica] before the statements in GORM's log.
type Config = upstream.Config

// Policy chooses among pools. Calls of one Policy never overlap.
type Policy = upstream.Policy

// PolicyFunc is a function as a Policy.
type PolicyFunc = upstream.PolicyFunc

// RandomPolicy chooses at random. It is the default, as it is in dbresolver.
type RandomPolicy = upstream.RandomPolicy

// Operation is a clause: [Write] or [Read].
type Operation = upstream.Operation

// Write and Read are clauses of a statement, a handle or a transaction that is
// about to begin. Write is the primary. Read is a replica as far as the rules of
// readsplit allow it: the statement must be a read, and the replica must have
// what its session wrote. A transaction after Read is a read-only one.
const (
	Write = upstream.Write
	Read  = upstream.Read
)

// ResolverModeKey is the type of the key under which a context has the mode.
type ResolverModeKey = upstream.ResolverModeKey

// ResolverMode is where a statement ran, for a logger.
type ResolverMode = upstream.ResolverMode

// Modes.
const (
	ResolverModeSource  = upstream.ResolverModeSource
	ResolverModeReplica = upstream.ResolverModeReplica
)

// Use is the clause that names a resolver, by one of the tables or names that it
// was registered with, or a group of replicas.
func Use(name string) clause.Expression { return upstream.Use(name) }

// RoundRobinPolicy takes one after the other.
func RoundRobinPolicy() Policy { return upstream.RoundRobinPolicy() }

// StrictRoundRobinPolicy takes one after the other.
func StrictRoundRobinPolicy() Policy { return upstream.StrictRoundRobinPolicy() }

// NewResolverModeLogger puts the mode of a statement before it.
func NewResolverModeLogger(l logger.Interface) logger.Interface {
	return upstream.NewResolverModeLogger(l)
}
