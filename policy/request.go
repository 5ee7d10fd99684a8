package policy

// The rules whose answer is the same for every replica.

func ruleStatement(q *Query) Reason {
	switch q.Statement {
	case Read:
		return ReasonNone
	case LockingRead:
		return ReasonLockingRead
	case Write:
		return ReasonWrite
	default:
		return ReasonUnknownStatement
	}
}

// ruleContext answers for a mode that it does not know as for Fresh: a mode
// that is added and forgotten here must not read stale data.
func ruleContext(q *Query, s *Snapshot) Reason {
	switch {
	case q.Mode == Fresh || q.Mode > AnyReplica:
		return ReasonFresh
	case s.empty():
		return ReasonNoReplicas
	case q.Group != "" && !s.has(q.Group):
		return ReasonGroupEmpty
	case q.PreferPrimary && q.Mode == Normal && q.AtMost == 0 && q.Group == "":
		return ReasonPreferPrimary
	}
	return ReasonNone
}

// ruleTraffic answers for what an operator has set, whatever the read asks for.
func ruleTraffic(q *Query) Reason { return q.Withheld }

// empty reports whether there is no replica, or none any more.
func (s *Snapshot) empty() bool {
	for i := range s.Replicas {
		if !s.Replicas[i].Gone {
			return false
		}
	}
	return true
}

func (s *Snapshot) has(group string) bool {
	for i := range s.Replicas {
		if !s.Replicas[i].Gone && s.Replicas[i].in(group) {
			return true
		}
	}
	return false
}

func ruleSession(q *Query) Reason {
	switch {
	case q.Mode == AnyReplica:
		return ReasonNone
	case q.Unsure:
		return ReasonUnsure
	case q.Foreign:
		return ReasonOtherHistory
	case q.Sticky:
		return ReasonStickyWindow
	case q.Pending:
		return ReasonPositionPending
	}
	return ReasonNone
}

// request returns the first objection against using any replica.
func (d *Decider) request(in *input) Reason {
	t := in.trace
	if reason := t.request("statement", ruleStatement(in.q)); reason != ReasonNone {
		return reason
	}
	if reason := t.request("context", ruleContext(in.q, in.s)); reason != ReasonNone {
		return reason
	}
	if reason := t.request("traffic", ruleTraffic(in.q)); reason != ReasonNone {
		return reason
	}
	if reason := t.request("session", ruleSession(in.q)); reason != ReasonNone {
		return reason
	}
	for i := range d.once {
		reason := objection(d.once[i].JudgeQuery(in.q, in.now))
		if t != nil {
			t.request(d.once[i].Name(), reason)
		}
		if reason != ReasonNone {
			return reason
		}
	}
	return ReasonNone
}
