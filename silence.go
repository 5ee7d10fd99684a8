package readsplit

// silenceOf says why a server tells no position, as far as what asks it has found out;
// empty: it tells one, or nobody knows.
func silenceOf(e engine) string {
	if s, ok := e.(interface{ silence() string }); ok {
		return s.silence()
	}
	return ""
}

func (r *sqlServerReplica) silence() string {
	r.mu.Lock()
	several, unmarked, none := r.several, r.unmarked, r.none
	r.mu.Unlock()
	switch {
	case several:
		return "its name leads to several servers"
	case unmarked:
		return "it does not show the table of Config.SQLServer.Marker"
	}
	if why := r.d.without(); why != "" {
		return why // of the primary's: nothing could be compared with
	}
	return none
}

// primarySilence is the same of the primary.
func (rt *router) primarySilence() string {
	if d, ok := rt.database.(*sqlServer); ok {
		return d.without()
	}
	return ""
}
