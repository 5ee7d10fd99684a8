package sqlclass

// transactWord looks for everything in a SQL Server batch that is not part of
// one query. Statements need nothing between them there, so a keyword that
// begins a statement and stands where a query has no use for it begins another.
func (s *scan) transactWord(m *mark) {
	st, top := &s.st, s.top()
	if s.temporary(m) {
		return
	}
	switch m.kw {
	case kwNone:
		if s.endsConversation(m) {
			s.another()
		}
		return
	case kwSelect:
		if !s.selectMayFollow() {
			s.another()
		}
		top.with = false
	case kwWith:
		top.with = s.prev().isPunct('(') || !st.query
	case kwGroup:
		top.grouped = s.prev().kw != kwWithin
	case kwFrom, kwWhere, kwHaving, kwOrder, kwUnion, kwIntersect, kwExcept:
		top.grouped = false
	case kwInsert, kwUpdate, kwDelete, kwMerge:
		s.transactCommand(m)
	case kwCreate, kwAlter, kwDrop, kwTruncate, kwGrant, kwRevoke:
		if st.query {
			s.another()
		}
		st.write, st.flags = true, st.flags|DDL
	case kwCommit, kwRollback, kwSave:
		if st.query {
			s.another()
		}
		st.flags |= TxControl
	case kwInto:
		s.selectInto()
	case kwFor:
		if s.prev().kw == kwValue && s.prev2().kw == kwNext {
			st.write = true // NEXT VALUE FOR a sequence
		}
	case kwLockHint:
		st.locks = true
	case kwUse:
		if !s.prev().isPunct('(') && !s.prev().isPunct(',') { // OPTION (USE HINT (..))
			s.another()
		}
	case kwFetch:
		if !s.afterRows() {
			s.another()
		}
	case kwBegin, kwBulk, kwCheckpoint, kwClose, kwDBCC, kwDeallocate, kwDeclare, kwExec, kwExecute,
		kwLoad, kwSet, kwStartsAnother:
		s.another()
	}
}

// temporary notes #t, [#t] and "#t": a temporary table lives on one server, most of
// them on one connection.
func (s *scan) temporary(m *mark) bool {
	at := m.start
	if m.kind == tokQuoted {
		at++
	}
	if s.lex.sql[at] != '#' {
		return false
	}
	s.st.other = true
	s.st.session = s.st.session || s.st.verb == Define
	return true
}

// endsConversation recognises END, GET and MOVE CONVERSATION by their second word:
// the first one ends a CASE or names a column elsewhere.
func (s *scan) endsConversation(m *mark) bool {
	if !s.prev().isName() || s.prev().ident || !equalFold(s.lex.sql[m.start:m.end], "conversation") {
		return false
	}
	first := s.lex.sql[s.prev().start:s.prev().end]
	return equalFold(first, "end") || equalFold(first, "get") || equalFold(first, "move")
}

// another notes that a second statement begins within what looked like a query.
func (s *scan) another() {
	if s.st.query {
		s.st.other = true
		s.st.flags |= Multi
	}
}

func (s *scan) transactCommand(m *mark) {
	st := &s.st
	if m.kw == kwMerge && (s.prev().kw == kwJoinSide || s.prev().isPunct('(') || s.prev().isPunct(',')) {
		return // a join hint: LEFT MERGE JOIN, OPTION (MERGE JOIN)
	}
	if st.query && s.top().with {
		st.verb, _, _ = statementVerb(SQLServer, m.kw)
		st.query, s.top().with = false, false
	} else {
		s.another()
	}
	st.write = true
}

// selectMayFollow reports whether SELECT can belong to the query at hand.
func (s *scan) selectMayFollow() bool {
	switch {
	case s.prev().isPunct('('), s.top().with && s.prev().isPunct(')'):
		return true
	}
	switch s.prev().kw {
	case kwUnion, kwExcept, kwIntersect:
		return true
	case kwAll:
		return s.prev2().kw == kwUnion
	}
	return false
}

// afterRows reports whether FETCH belongs to OFFSET n ROWS FETCH NEXT.
func (s *scan) afterRows() bool {
	text := s.lex.sql[s.prev().start:s.prev().end]
	return equalFold(text, "rows") || equalFold(text, "row")
}

// parameter handles @name, and the @@name functions whose answer belongs to the
// connection or to the statement before.
func (s *scan) parameter(m *mark) {
	text := s.lex.sql[m.start:m.end]
	if s.lex.dialect != SQLServer || len(text) < 2 || text[1] != '@' {
		return
	}
	if transactNames.of(keyOf(text[2:]), text[2:])&nameVariable == 0 {
		s.st.other = true
	}
}

// transactParen recognises the words of Transact-SQL that stand before a
// parenthesis without being a function.
func (s *scan) transactParen(kinds nameKinds) (frame, bool) {
	b := s.before()
	switch s.prev().kw {
	case kwSets:
		return frame{grouped: true}, b.kw == kwGrouping
	case kwRollup, kwCube:
		return frame{}, s.top().grouped && (b.kw == kwBy || b.isPunct(',') || b.isPunct('('))
	}
	if kinds&nameReserved != 0 {
		return frame{}, true
	}
	if b.kw == kwFrom || b.kw == kwJoin {
		// FROM t (NOLOCK): a table hint without WITH.
		t := s.lex.peek()
		if t.kind == tokWord {
			switch keywordOf(SQLServer, s.lex.sql[t.start:t.end]) {
			case kwSnapshotHint, kwLockHint:
				return frame{}, true
			}
		}
	}
	return frame{}, false
}
