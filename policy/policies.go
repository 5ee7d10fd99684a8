package policy

import "time"

type sticky struct{ window time.Duration }

// Sticky keeps a session on the primary for window after its last write; for
// engines that have no position, and for whoever wants a margin by time. The
// window must be at least MaxLag + MaxSampleAge to mean anything. AnyReplica
// lifts it.
func Sticky(window time.Duration) Policy { return sticky{window} }

func (sticky) Name() string { return "sticky" }

func (p sticky) JudgeQuery(q *Query, now time.Time) Reason {
	if q.Mode == AnyReplica || q.LastWrite.IsZero() || now.Sub(q.LastWrite) >= p.window {
		return ReasonNone
	}
	return ReasonStickyWindow
}

func (p sticky) Judge(q *Query, _ *Snapshot, _ *Replica, now time.Time) Reason {
	return p.JudgeQuery(q, now)
}

type restOfRequest struct{}

// RestOfRequest keeps a request on the primary once it has written. AnyReplica
// lifts it.
func RestOfRequest() Policy { return restOfRequest{} }

func (restOfRequest) Name() string { return "rest_of_request" }

func (restOfRequest) JudgeQuery(q *Query, _ time.Time) Reason {
	if q.Wrote && q.Mode != AnyReplica {
		return ReasonRestOfRequest
	}
	return ReasonNone
}

func (p restOfRequest) Judge(q *Query, _ *Snapshot, _ *Replica, now time.Time) Reason {
	return p.JudgeQuery(q, now)
}

type oneServer struct{}

// OneServer keeps a request on the server of its first statement, so that all
// its reads see one server's state: on the replica while that may be used, else
// on the primary. AnyReplica lifts it.
func OneServer() Policy { return oneServer{} }

func (oneServer) Name() string { return "one_server" }

func (oneServer) Judge(q *Query, s *Snapshot, r *Replica, _ time.Time) Reason {
	return ruleHeld(q, s, r)
}

type maxLag struct{ d time.Duration }

// MaxLag objects to replicas whose staleness may be over d; as the rule of the
// core, with a bound of its own. Stale and AnyReplica lift it.
func MaxLag(d time.Duration) Policy { return maxLag{d} }

func (maxLag) Name() string { return "max_lag" }

func (p maxLag) Judge(q *Query, _ *Snapshot, r *Replica, now time.Time) Reason {
	return ruleLag(q, r, now, p.d)
}

type maxBytes struct{ n uint64 }

// MaxBytes objects to replicas that have more than n bytes of the primary's log
// to replay. Stale and AnyReplica lift it. On SQL Server it sees at least how many in
// the newest virtual log file, and with a marker table none at all: use MaxLag there.
func MaxBytes(n uint64) Policy { return maxBytes{n} }

func (maxBytes) Name() string { return "max_bytes" }

func (p maxBytes) Judge(q *Query, _ *Snapshot, r *Replica, _ time.Time) Reason {
	return ruleBytes(q, r, p.n)
}

type sampleAge struct{ d time.Duration }

// SampleAge objects to replicas whose newest sample is older than d.
func SampleAge(d time.Duration) Policy { return sampleAge{d} }

func (sampleAge) Name() string { return "sample_age" }

func (p sampleAge) Judge(_ *Query, _ *Snapshot, r *Replica, now time.Time) Reason {
	return ruleNews(r, now, p.d)
}

type caughtUp struct{}

// CaughtUp objects to replicas that do not show the session's own writes: the
// rule of the core under a name, for whoever composes policies of their own.
func CaughtUp() Policy { return caughtUp{} }

func (caughtUp) Name() string { return "caught_up" }

func (caughtUp) Judge(q *Query, _ *Snapshot, r *Replica, _ time.Time) Reason {
	return rulePosition(q, r)
}

type function struct {
	name  string
	judge func(q *Query, s *Snapshot, r *Replica, now time.Time) Reason
}

// Func makes a [Policy] of a function.
func Func(name string, judge func(q *Query, s *Snapshot, r *Replica, now time.Time) Reason) Policy {
	return function{name, judge}
}

func (f function) Name() string { return f.name }

func (f function) Judge(q *Query, s *Snapshot, r *Replica, now time.Time) Reason {
	return f.judge(q, s, r, now)
}
