package sqlclass

// Relations calls visit with the name of every relation that the text names where
// a relation may stand, in the order in which they appear and as often, until
// visit returns false: FROM with all its commas, JOIN, APPLY, TABLE, ONLY, INTO,
// UPDATE, DELETE FROM, USING of DELETE and MERGE, COPY, TRUNCATE, LOCK and ON of
// CREATE INDEX, GRANT and their like. A text that cannot be followed to its end
// yields the names up to that point.
//
// A name has the form that Functions gives it: public.users, "My Schema".users,
// [my schema].users.
//
// The names are a superset. They hold those of WITH queries and, here and there, a
// column; a function in FROM is left out except on SQL Server, where FROM t (NOLOCK)
// looks like one. The first name is the table that a plain SELECT, INSERT, UPDATE,
// DELETE, MERGE, TRUNCATE or COPY works on; UPDATE u SET .. FROM users u and its
// like on SQL Server give u last.
//
// Relations may allocate; Classify does not.
func Relations(d Dialect, sql string, visit func(name string) bool) {
	r := relations{lex: lexer{sql: sql, dialect: d}, visit: visit, frames: make([]relationFrame, 1, 8)}
	r.run()
}

// relations is the state of one pass over a text.
type relations struct {
	lex     lexer
	visit   func(name string) bool
	frames  []relationFrame
	prev    mark
	stopped bool
	late    []string // targets of UPDATE and DELETE that FROM may name again
}

// relationFrame is one level of parentheses; the first is the statement itself.
type relationFrame struct {
	started bool
	query   bool    // SELECT, INSERT, ... was seen: FROM is a clause, not part of extract(a FROM b)
	verb    keyword // the command at hand
	expect  bool    // a relation may stand here
	call    bool    // name( would be a function
	list    bool    // a comma is followed by another relation
}

func (r *relations) top() *relationFrame { return &r.frames[len(r.frames)-1] }

func (r *relations) run() {
	for !r.stopped {
		t := r.lex.next()
		m := mark{token: t}
		switch t.kind {
		case tokEOF, tokBad:
			r.endStatement()
			return
		case tokWord:
			r.word(&m)
		case tokQuoted, tokOpaque:
			r.name(&m)
		case tokPunct:
			r.punct(&m)
		default:
			r.top().expect = false
		}
		if t.kind != tokPunct {
			r.top().started = true
		}
		r.prev = m
	}
}

func (r *relations) punct(m *mark) {
	top := r.top()
	switch m.char {
	case '(':
		// FROM (a JOIN b), ONLY (a), FROM (SELECT ..): what may stand outside may stand inside.
		inner := relationFrame{expect: top.expect, call: top.expect}
		top.expect, top.started = false, true
		r.frames = append(r.frames, inner)
	case '[':
		top.expect = false
		r.frames = append(r.frames, relationFrame{})
	case ')', ']':
		if len(r.frames) > 1 {
			r.frames = r.frames[:len(r.frames)-1]
		}
	case ',':
		top.expect, top.call = top.list, true
	case ';':
		r.endStatement()
		r.frames = append(r.frames[:0], relationFrame{})
	default:
		top.expect = false
	}
}

func (r *relations) endStatement() {
	for _, name := range r.late {
		r.report(name)
	}
	r.late = nil
}

func (r *relations) report(name string) {
	if !r.stopped && !r.visit(name) {
		r.stopped = true
	}
}

// word reads an unquoted word: a keyword where it can be one, else a name.
func (r *relations) word(m *mark) {
	top := r.top()
	m.kw = keywordOf(r.lex.dialect, r.lex.sql[m.start:m.end])
	if r.prev.isPunct('.') || r.prev.kw == kwAs && top.query {
		m.kw, top.expect = kwNone, false
		return
	}
	if r.command(m) || r.clause(m) || top.expect && r.filler(m) {
		return
	}
	r.name(m)
}

// command handles the words that begin a statement or a subquery.
func (r *relations) command(m *mark) bool {
	top, transact := r.top(), r.lex.dialect == SQLServer
	switch m.kw {
	case kwSelect, kwWith:
		if m.kw == kwSelect && top.verb != kwGrant {
			top.query, top.verb, top.list = true, kwSelect, false
		}
		top.expect = false
		return true
	case kwInsert, kwUpdate, kwDelete, kwMerge:
		if r.noCommand() {
			return false
		}
		*top = relationFrame{started: true, query: true, verb: m.kw, expect: m.kw == kwUpdate || transact}
		return true
	case kwCreate, kwAlter, kwDrop, kwGrant, kwRevoke, kwComment, kwSecurity:
		if top.started {
			return false
		}
		top.verb = kwCreate
		if m.kw == kwGrant || m.kw == kwRevoke {
			top.verb = kwGrant // SELECT and UPDATE are privileges in it
		}
		return true
	case kwCopy, kwLock, kwTruncate:
		if top.started && !(transact && m.kw == kwTruncate) {
			return false
		}
		top.verb, top.expect, top.list = m.kw, true, m.kw != kwCopy
		return true
	case kwTable:
		if !top.expect && top.verb != kwCreate && top.verb != kwGrant {
			top.query, top.list = true, false
		}
		top.expect, top.call = true, false
		return true
	}
	return false
}

// noCommand reports whether UPDATE and its like are no command behind r.prev: FOR
// UPDATE, ON CONFLICT DO UPDATE, WHEN MATCHED THEN DELETE, GRANT INSERT, a column.
func (r *relations) noCommand() bool {
	switch r.prev.kw {
	case kwFor:
		return r.top().query
	case kwKey, kwDo, kwThen:
		return true
	}
	return r.top().verb == kwCreate || r.top().verb == kwGrant || r.top().started && r.lex.dialect == PostgreSQL && columnMayFollow(&r.prev)
}

// clause handles the words within a statement that a relation follows, and those
// that end a list of relations. The latter must be reserved: another word may be
// an alias, and the list goes on behind it.
func (r *relations) clause(m *mark) bool {
	top, transact := r.top(), r.lex.dialect == SQLServer
	switch m.kw {
	case kwFrom:
		top.expect = top.query && r.prev.kw != kwDistinct || top.verb == kwDelete
		top.list, top.call = top.list || top.expect, true
		return true
	case kwJoin, kwApply:
		top.expect, top.call = true, true
		return true
	case kwInto:
		top.expect, top.call, top.list = true, false, false
		return true
	case kwOn:
		top.expect, top.call = !top.query && (top.verb == kwCreate || top.verb == kwGrant), false
		return true
	case kwWhere, kwGroup, kwHaving, kwOrder, kwFor, kwUnion, kwIntersect, kwExcept:
		top.expect, top.list = false, false
		return true
	case kwLimit, kwOffset, kwFetch, kwWindow:
		if transact {
			return false
		}
		top.expect, top.list = false, false
		return true
	}
	text := r.lex.sql[m.start:m.end]
	switch {
	case equalFold(text, "using"):
		top.expect = top.verb == kwDelete || top.verb == kwMerge
		top.list, top.call = top.list || top.expect, true
		return true
	case equalFold(text, "returning") && !transact, equalFold(text, "option") && transact:
		top.expect, top.list = false, false
		return true
	}
	return false
}

// filler reports whether a relation is still to come behind m: ONLY t, LATERAL
// (..), ROWS FROM (..), INTO TEMP TABLE t, IF NOT EXISTS t, TOP (1) t.
func (r *relations) filler(m *mark) bool {
	text, next := r.lex.sql[m.start:m.end], r.lex.peek()
	following := r.lex.sql[next.start:next.end]
	named := next.kind == tokWord || next.kind == tokQuoted || next.kind == tokOpaque
	switch {
	case r.lex.dialect == SQLServer:
		return r.transactFiller(text, next, named)
	case equalFold(text, "only"), equalFold(text, "lateral"):
		return true
	case equalFold(text, "rows"):
		return keywordOf(PostgreSQL, following) == kwFrom
	case m.kw == kwTemp, equalFold(text, "unlogged"), equalFold(text, "binary"):
		return named && !equalFold(following, "from") && !equalFold(following, "to")
	case equalFold(text, "if"):
		return m.kw == kwNone && (equalFold(following, "exists") || equalFold(following, "not"))
	case m.kw == kwNot, equalFold(text, "exists"):
		return named
	}
	return false
}
