package otel

import "go.opentelemetry.io/otel/attribute"

// What metrics and spans are told apart by. Each takes its values from one closed
// list, or from the names of the configuration: what a user or a statement brings
// along would make a series for each.
const (
	keyResolver   = attribute.Key("readsplit.resolver.name")
	keyServer     = attribute.Key("readsplit.server.name")
	keyRole       = attribute.Key("readsplit.server.role")
	keyState      = attribute.Key("readsplit.server.state")
	keyOperation  = attribute.Key("readsplit.operation")
	keyReason     = attribute.Key("readsplit.reason")
	keyCause      = attribute.Key("readsplit.retry.cause")
	keyConflict   = attribute.Key("readsplit.conflict.kind")
	keyToken      = attribute.Key("readsplit.token.outcome")
	keyFailover   = attribute.Key("readsplit.failover.state")
	keyLimit      = attribute.Key("readsplit.pool.limit")
	keyConnecting = attribute.Key("readsplit.connections.server")
	keyAttempts   = attribute.Key("readsplit.attempts")
	keyWait       = attribute.Key("readsplit.wait")
	keyBegins     = attribute.Key("readsplit.begins_transaction")
	keyRefused    = attribute.Key("readsplit.refused")

	// Of OpenTelemetry's conventions.
	keyPool      = attribute.Key("db.client.connection.pool.name")
	keyPoolState = attribute.Key("db.client.connection.state")
	keyError     = attribute.Key("error.type")
)

const primaryName = "primary"

// role is what the configuration has a server for.
func role(replica bool) attribute.KeyValue {
	if replica {
		return keyRole.String("replica")
	}
	return keyRole.String("primary")
}

func operation(read bool) attribute.KeyValue {
	if read {
		return keyOperation.String("read")
	}
	return keyOperation.String("write")
}

// labels are the attributes that a group of series has in common.
type labels []attribute.KeyValue

// with returns l and more. What it returns may be kept.
func (l labels) with(more ...attribute.KeyValue) labels {
	return append(l[:len(l):len(l)], more...)
}

// of returns l for a resolver; the plugin's own servers have no name.
func (l labels) of(resolver string) labels {
	if resolver == "" {
		return l
	}
	return l.with(keyResolver.String(resolver))
}

func (l labels) set() attribute.Set { return attribute.NewSet(l...) }
