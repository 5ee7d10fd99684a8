package policy

// ruleLogical keeps reads away from a server that is fed by logical replication unless
// they gave up everything that it cannot prove: it has no position that could be
// compared with the primary's, so nothing is known of its age, nor of whether it has a
// certain write.
func ruleLogical(q *Query, r *Replica) Reason {
	switch {
	case r.Role != RoleLogical:
		return ReasonNone
	case q.Group == "":
	case q.Mode == AnyReplica:
		return ReasonNone
	case q.Mode == Stale && q.Need.Zero() && !q.Monotonic:
		return ReasonNone
	}
	return ReasonLogical
}

func (in *input) logicalDetail() string {
	switch {
	case in.q.Group == "":
		return "without a group"
	case in.q.Mode != Stale && in.q.Mode != AnyReplica:
		return "neither Stale nor AnyReplica"
	case in.q.Mode == Stale && !in.q.Need.Zero():
		return "its session's writes cannot be proven there"
	case in.q.Mode == Stale && in.q.Monotonic:
		return "its session may not go back in time"
	}
	return ""
}
