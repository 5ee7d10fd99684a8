package sqlclass

// label handles a word behind AS. PostgreSQL takes every word there for a label, except
// for the two that belong to WITH queries.
func (s *scan) label(m *mark) {
	if s.st.query && s.lex.dialect == PostgreSQL && m.kw != kwNot && m.kw != kwMaterialized {
		m.kw = kwNone
		m.ident = true
	}
}

// word applies the rules for one unquoted word.
func (s *scan) word(m *mark) {
	if s.top().kind == frameOptions {
		s.st.analyze = s.st.analyze || m.kw == kwAnalyze
		return
	}
	if !s.st.started {
		s.begin(m)
		return
	}
	if s.lex.dialect == SQLServer {
		s.transactWord(m)
	} else {
		s.queryWord(m)
	}
	if !s.st.query {
		s.refine(m)
	}
}

// queryWord follows the structure of a PostgreSQL query and finds what makes it
// more than a read.
func (s *scan) queryWord(m *mark) {
	st, top := &s.st, s.top()
	switch m.kw {
	case kwNone:
		return
	case kwSelect, kwValues, kwTable:
		top.grouped = false
		if !top.with || !s.prev().isPunct(')') && !st.searches {
			return // a WITH query may be called values
		}
		top.with = false
		if s.depth == st.withDepth && st.verb == Select {
			st.verb, _, _ = statementVerb(PostgreSQL, m.kw)
		}
	case kwWith:
		top.with = s.prev().isPunct('(') || !st.query
	case kwInsert, kwUpdate, kwDelete, kwMerge:
		s.commandWord(m)
	case kwShare:
		if s.prev().kw == kwFor || s.prev().kw == kwKey && s.prev2().kw == kwFor {
			st.locks = true
		}
	case kwInto:
		s.selectInto()
	case kwTemp:
		if s.prev().kw == kwInto {
			st.session = true
		}
	case kwSearch, kwCycle:
		st.searches = st.searches || s.prev().isPunct(')')
	case kwOrdinality:
		m.ident = s.prev().kw == kwWith
	case kwGroup:
		top.grouped = s.prev().kw != kwWithin
	case kwFrom, kwWhere, kwHaving, kwWindow, kwOrder, kwLimit, kwOffset, kwFetch, kwFor,
		kwUnion, kwIntersect, kwExcept:
		top.grouped, top.with = false, false
	}
}

// selectInto notes INTO: SELECT .. INTO creates a table, INSERT INTO does not.
func (s *scan) selectInto() {
	if !s.st.query {
		return
	}
	s.st.write = true
	if s.prev().kw != kwInsert && s.prev().kw != kwMerge {
		s.st.flags |= DDL
	}
}

// commandWord decides about INSERT, UPDATE, DELETE and MERGE within a query. They
// are not reserved: a column, a table or an alias may have that name. They are
// commands after an opening parenthesis, and after the list of WITH queries.
func (s *scan) commandWord(m *mark) {
	st := &s.st
	if !st.query {
		return
	}
	if m.kw == kwUpdate && (s.prev().kw == kwFor || s.prev().kw == kwKey && s.prev2().kw == kwNo) {
		st.locks = true
		return
	}
	switch {
	case s.prev().isPunct('('):
		st.pending, st.pendingTop = m.kw, false
	case s.top().with && (s.prev().isPunct(')') || st.searches):
		st.pending, st.pendingTop = m.kw, true
	case st.searches || !columnMayFollow(s.prev()) && !s.prev().isPunct(')'):
		st.other = true
	}
}

// columnMayFollow reports whether a column or table name, but no command, may
// stand after m.
func columnMayFollow(m *mark) bool {
	if m.isPunct(',') || m.kind == tokOp {
		return true
	}
	switch m.kw {
	case kwSelect, kwDistinct, kwAll, kwWhere, kwAnd, kwOr, kwNot, kwBy, kwOn, kwHaving, kwCase, kwWhen,
		kwThen, kwElse, kwFrom, kwJoin, kwWith, kwRecursive, kwTable:
		return true
	}
	return false
}
