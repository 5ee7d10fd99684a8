package sqlclass

// statementVerb tells what a statement is that begins with kw. Class is Read for
// statements that may be reads; everything in them still has to be looked at.
func statementVerb(d Dialect, kw keyword) (Verb, Class, Flags) {
	switch kw {
	case kwSelect, kwWith:
		return Select, Read, 0
	case kwInsert:
		return Insert, Write, 0
	case kwUpdate:
		return Update, Write, 0
	case kwDelete:
		return Delete, Write, 0
	case kwMerge:
		return Merge, Write, 0
	case kwSet:
		return Set, Unknown, SetsSession
	case kwCommit:
		return Commit, Unknown, TxControl
	case kwRollback:
		return Rollback, Unknown, TxControl
	case kwCreate, kwAlter, kwDrop, kwTruncate, kwGrant, kwRevoke:
		return Define, Write, DDL
	case kwDeclare, kwFetch, kwClose:
		if d == SQLServer {
			return Other, Unknown, 0
		}
		return Cursor, Unknown, 0
	case kwCheckpoint:
		return Maintenance, Unknown, 0
	}
	if d == SQLServer {
		return transactVerb(kw)
	}
	return postgresVerb(kw)
}

func postgresVerb(kw keyword) (Verb, Class, Flags) {
	switch kw {
	case kwValues:
		return Values, Read, 0
	case kwTable:
		return Table, Read, 0
	case kwShow:
		return Show, Read, 0
	case kwReset:
		return Reset, Unknown, SetsSession
	case kwDiscard:
		return Discard, Unknown, SetsSession
	case kwBegin, kwStart:
		return Begin, Unknown, TxControl
	case kwEnd:
		return Commit, Unknown, TxControl
	case kwAbort:
		return Rollback, Unknown, TxControl
	case kwSavepoint:
		return Savepoint, Unknown, TxControl
	case kwRelease:
		return Release, Unknown, TxControl
	case kwPrepare:
		return Prepare, Unknown, SetsSession
	case kwExecute:
		return Execute, Unknown, 0
	case kwDeallocate:
		return Deallocate, Unknown, SetsSession
	case kwComment, kwSecurity, kwImport, kwReassign:
		return Define, Write, DDL
	case kwVacuum, kwAnalyze, kwReindex, kwCluster, kwRefresh:
		return Maintenance, Write, 0
	case kwCopy:
		return Copy, Unknown, 0
	case kwCall:
		return Call, Unknown, 0
	case kwDo:
		return Do, Unknown, 0
	case kwListen, kwUnlisten:
		return Listen, Unknown, SetsSession
	case kwNotify:
		return Notify, Write, 0
	case kwLock:
		return Lock, Unknown, 0
	case kwMove:
		return Cursor, Unknown, 0
	case kwLoad:
		return Other, Unknown, SetsSession
	}
	return Other, Unknown, 0
}

func transactVerb(kw keyword) (Verb, Class, Flags) {
	switch kw {
	case kwBulk:
		return Copy, Write, 0
	case kwExec, kwExecute:
		return Call, Unknown, 0
	case kwSave:
		return Savepoint, Unknown, TxControl
	case kwUse:
		return Other, Unknown, SetsSession
	}
	return Other, Unknown, 0
}

// begin handles the first word of a statement, or of what EXPLAIN explains.
func (s *scan) begin(m *mark) {
	st := &s.st
	if !st.explain && m.kw == kwExplain && s.depth == 0 && s.lex.dialect == PostgreSQL {
		st.explain, st.verb = true, Explain
		return
	}
	if st.explain && m.kw == kwAnalyze {
		st.analyze = true
		return
	}
	if st.explain && m.kw == kwVerbose {
		return
	}
	st.started = true
	verb, class, flags := statementVerb(s.lex.dialect, m.kw)
	if !st.explain {
		st.verb = verb
	}
	st.query = class == Read
	st.write = class == Write
	if verb == Show && (st.explain || s.depth > 0) {
		st.query = false
	}
	if flags&SetsSession != 0 {
		flags &^= SetsSession
		st.session = true
	}
	if !st.explain || st.analyze {
		st.flags |= flags
	}
	if m.kw == kwWith {
		st.withDepth = s.depth
		s.top().with = true
	}
}

// refine looks at the words after the first of a statement that is no query.
func (s *scan) refine(m *mark) {
	st := &s.st
	st.words++
	if s.depth > 0 || st.explain {
		return
	}
	second := st.words == 1
	switch st.verb {
	case Set:
		s.refineSet(m, second)
	case Commit:
		if second && m.kw == kwPrepared {
			st.verb, st.write = CommitPrepared, true
		}
	case Rollback:
		s.refineRollback(m, second)
	case Prepare:
		if second && m.kw == kwTransaction && s.lex.peek().kind == tokString {
			st.verb, st.session, st.flags = PrepareTransaction, false, st.flags|TxControl
		}
	case Copy:
		st.write = st.write || m.kw == kwFrom
	case Define:
		if m.kw == kwTemp && s.tempFollows() {
			st.session = true
		}
	case Other:
		if second && s.lex.dialect == SQLServer && s.prev().kw == kwBegin && (m.kw == kwTran || m.kw == kwTransaction) {
			st.verb, st.flags = Begin, st.flags|TxControl
		}
	}
}

// tempFollows reports whether TEMP at this place belongs to CREATE rather than
// being a name: CREATE TEMP, CREATE LOCAL TEMP, CREATE OR REPLACE TEMP.
func (s *scan) tempFollows() bool {
	switch s.prev().kw {
	case kwCreate, kwLocal:
		return true
	}
	text := s.lex.sql[s.prev().start:s.prev().end]
	return equalFold(text, "replace") || equalFold(text, "global")
}

func (s *scan) refineSet(m *mark, second bool) {
	st := &s.st
	if s.lex.dialect == SQLServer {
		return
	}
	switch {
	case second && m.kw == kwLocal:
		st.session, st.local = false, true
	case second && m.kw == kwTransaction:
		st.verb, st.session, st.flags = SetTransaction, false, st.flags|TxControl
	case second && equalFold(s.lex.sql[m.start:m.end], "constraints"):
		st.session, st.flags = false, st.flags|TxControl
	}
}

func (s *scan) refineRollback(m *mark, second bool) {
	st := &s.st
	switch {
	case s.lex.dialect == SQLServer:
		// ROLLBACK TRAN name goes back to a savepoint, or names the transaction.
		if next := s.lex.peek(); m.kw == kwTran || m.kw == kwTransaction {
			if next.kind == tokWord || next.kind == tokQuoted || next.kind == tokParam {
				st.verb = RollbackTo
			}
		}
	case second && m.kw == kwPrepared:
		st.verb, st.write = RollbackPrepared, true
	case m.kw == kwTo:
		st.verb = RollbackTo
	}
}
