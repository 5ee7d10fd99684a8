package otel

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// Bounds of the histograms, in seconds. The ones of OpenTelemetry are made for
// milliseconds: every wait would be in the first.
var (
	waitBounds    = metric.WithExplicitBucketBoundaries(.0005, .001, .002, .005, .01, .02, .05, .1, .5, 1, 5)
	captureBounds = metric.WithExplicitBucketBoundaries(.0001, .0005, .001, .005, .01, .05, .1, .5, 1, 5)
)

// instruments are those of docs/metrics.md, in its order.
type instruments struct {
	wait, capture metric.Float64Histogram

	statements, transactions, refused, retries, conflicts, refusals, voided metric.Int64ObservableCounter
	conflicting                                                             metric.Int64ObservableUpDownCounter
	share                                                                   metric.Float64ObservableGauge
	shadowReads, shadowStale                                                metric.Int64ObservableCounter

	up                metric.Int64ObservableGauge
	state             metric.Int64ObservableUpDownCounter
	age, lag, catchUp metric.Float64ObservableGauge
	behind            metric.Int64ObservableGauge
	inFlight          metric.Int64ObservableUpDownCounter
	serverConflicts   metric.Int64ObservableCounter

	fallback struct {
		limit, inUse, waiting       metric.Int64ObservableUpDownCounter
		waits, refused, servedStale metric.Int64ObservableCounter
		waitTime                    metric.Float64ObservableCounter
	}
	failover struct {
		state    metric.Int64ObservableUpDownCounter
		moves    metric.Int64ObservableCounter
		timeline metric.Int64ObservableGauge
	}
	catalog struct {
		current          metric.Int64ObservableGauge
		functions, risks metric.Int64ObservableUpDownCounter
		loads            metric.Int64ObservableCounter
	}

	tokens, unsure, otherHistory metric.Int64ObservableCounter

	allowed, killSwitch, shadow metric.Int64ObservableGauge

	connections, connectionsMax metric.Int64ObservableUpDownCounter
	poolWaits, poolClosed       metric.Int64ObservableCounter
	poolWaitTime                metric.Float64ObservableCounter
	available, needed           metric.Int64ObservableUpDownCounter

	observed []metric.Observable // all that a collection fills
}

// maker makes instruments, and keeps the errors for the end.
type maker struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

func newInstruments(meter metric.Meter) (in instruments, err error) {
	m := &maker{meter: meter}
	m.statementsOf(&in)
	m.serversOf(&in)
	m.primaryOf(&in)
	m.processOf(&in)
	m.connectionsOf(&in)
	in.observed = m.all
	if err := errors.Join(m.errs...); err != nil {
		return in, fmt.Errorf("readsplit: otel.Options.MeterProvider: %w", err)
	}
	return in, nil
}

func made[I metric.Observable](m *maker, i I, err error) I {
	m.all, m.errs = append(m.all, i), append(m.errs, err)
	return i
}

func (m *maker) counter(name, unit, tells string) metric.Int64ObservableCounter {
	i, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(tells))
	return made(m, i, err)
}

func (m *maker) seconds(name, tells string) metric.Float64ObservableCounter {
	i, err := m.meter.Float64ObservableCounter(name, metric.WithUnit("s"), metric.WithDescription(tells))
	return made(m, i, err)
}

func (m *maker) number(name, unit, tells string) metric.Int64ObservableUpDownCounter {
	i, err := m.meter.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(tells))
	return made(m, i, err)
}

func (m *maker) gauge(name, unit, tells string) metric.Int64ObservableGauge {
	i, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(tells))
	return made(m, i, err)
}

func (m *maker) measure(name, unit, tells string) metric.Float64ObservableGauge {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(tells))
	return made(m, i, err)
}

func (m *maker) histogram(name, tells string, bounds metric.HistogramOption) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(tells), bounds)
	m.errs = append(m.errs, err)
	return i
}

func (m *maker) statementsOf(in *instruments) {
	in.statements = m.counter("readsplit.statements", "{statement}", "Statements outside of transactions, by who served them and why.")
	in.refused = m.counter("readsplit.reads.refused", "{read}", "Reads that failed because no replica was right and the primary was lost or had no room.")
	in.transactions = m.counter("readsplit.transactions", "{transaction}", "Transactions, by where they began and why.")
	in.share = m.measure("readsplit.reads.replica.share", "1", "Share of the reads of the last minute that replicas served.")
	in.wait = m.histogram("readsplit.decision.wait", "How long reads waited for the position of a write or for a replica, of those that waited.", waitBounds)
	in.retries = m.counter("readsplit.retries", "{read}", "Reads that failed on a replica and were run again.")
	in.conflicts = m.counter("readsplit.conflicts", "{read}", "Reads that replay cancelled, as the plugin saw them.")
	in.conflicting = m.number("readsplit.conflicting_statements", "{statement}", "Statements that are kept from replicas now, because replay kept cancelling them.")
	in.refusals = m.counter("readsplit.refusals", "{statement}", "Statements that were taken for reads and that a replica refused as writes.")
	in.voided = m.counter("readsplit.answers.voided", "{answer}", "Answers that were dropped because their replica came back in another state.")
	in.shadowReads = m.counter("readsplit.shadow.reads", "{read}", "Reads in shadow mode, by where they would have gone.")
	in.shadowStale = m.counter("readsplit.shadow.stale", "{read}", "Reads in shadow mode that taking replicas in turn would have served stale.")
}

func (m *maker) serversOf(in *instruments) {
	in.up = m.gauge("readsplit.server.up", "{server}", "Whether the server answers.")
	in.state = m.number("readsplit.server.state", "{server}", "1 for the state that the server is in, 0 for each other.")
	in.age = m.measure("readsplit.server.sample.age", "s", "Age of the newest news of the server.")
	in.lag = m.measure("readsplit.replica.lag", "s", "Upper bound of the staleness of what the replica shows.")
	in.behind = m.gauge("readsplit.replica.behind", "By", "WAL that the primary has written and the replica has not replayed.")
	in.catchUp = m.measure("readsplit.replica.catch_up", "s", "How long the replica recently took to reach a position of the primary.")
	in.inFlight = m.number("readsplit.replica.in_flight", "{read}", "Reads that run on the replica now.")
	in.serverConflicts = m.counter("readsplit.server.conflicts", "{query}", "Queries that replay cancelled, as the replica counts them.")
}

func (m *maker) primaryOf(in *instruments) {
	in.capture = m.histogram("readsplit.capture.duration", "Questions to the primary for its position.", captureBounds)
	f := &in.fallback
	f.limit = m.number("readsplit.fallback.limit", "{read}", "Reads that wanted a replica and may run on the primary at once.")
	f.inUse = m.number("readsplit.fallback.in_use", "{read}", "Reads that wanted a replica and run on the primary now.")
	f.waiting = m.number("readsplit.fallback.waiting", "{read}", "Reads that wait for a place on the primary now.")
	f.waits = m.counter("readsplit.fallback.waits", "{read}", "Reads that had to wait for a place on the primary.")
	f.waitTime = m.seconds("readsplit.fallback.wait_time", "How long reads waited for a place on the primary, together.")
	f.refused = m.counter("readsplit.fallback.refused", "{read}", "Reads that failed because the primary was busy.")
	f.servedStale = m.counter("readsplit.fallback.served_stale", "{read}", "Reads that a replica served beyond the bound on staleness.")
	in.failover.state = m.number("readsplit.failover.state", "{primary}", "1 for what the election of the primary came to, 0 for each other.")
	in.failover.moves = m.counter("readsplit.failover.moves", "{move}", "How often the primary became another server, or another run of one.")
	in.failover.timeline = m.gauge("readsplit.failover.timeline", "{timeline}", "Timeline that the primary writes.")
	in.catalog.current = m.gauge("readsplit.catalog.current", "{catalog}", "Whether what is known of the database's functions and views is up to date.")
	in.catalog.functions = m.number("readsplit.catalog.functions", "{function}", "Functions of the database that are known.")
	in.catalog.risks = m.number("readsplit.catalog.risks", "{name}", "Names that send a statement to the primary.")
	in.catalog.loads = m.counter("readsplit.catalog.loads", "{load}", "How often the catalogue was read.")
}

func (m *maker) processOf(in *instruments) {
	in.tokens = m.counter("readsplit.tokens", "{token}", "Session tokens that were joined, by what became of them.")
	in.unsure = m.counter("readsplit.writes.unsure", "{write}", "Writes whose outcome was unknown.")
	in.otherHistory = m.counter("readsplit.sessions.other_history", "{session}", "Sessions whose position was of another history than the primary's.")
	in.allowed = m.gauge("readsplit.traffic.allowed", "%", "Of a hundred reads, how many the rules decide about.")
	in.killSwitch = m.gauge("readsplit.traffic.kill_switch", "{switch}", "Whether every read is kept on the primary.")
	in.shadow = m.gauge("readsplit.traffic.shadow", "{switch}", "Whether decisions are made and not followed.")
}

func (m *maker) connectionsOf(in *instruments) {
	in.connections = m.number("db.client.connection.count", "{connection}", "The number of connections that are currently in state described by the state attribute.")
	in.connectionsMax = m.number("db.client.connection.max", "{connection}", "The maximum number of open connections allowed.")
	in.poolWaits = m.counter("readsplit.pool.waits", "{wait}", "Statements that waited for a connection.")
	in.poolWaitTime = m.seconds("readsplit.pool.wait_time", "How long statements waited for a connection, together.")
	in.poolClosed = m.counter("readsplit.pool.closed", "{connection}", "Connections that the pool closed because of one of its limits.")
	in.available = m.number("readsplit.connections.available", "{connection}", "What the server's max_connections leaves for all processes.")
	in.needed = m.number("readsplit.connections.needed", "{connection}", "What the pools of all processes may open on the server.")
}
