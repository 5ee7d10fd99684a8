package sqlclass

// name reads a whole dotted name and reports it where a relation may stand.
func (r *relations) name(m *mark) {
	top := r.top()
	expected := top.expect
	top.expect = false
	if !expected || r.prev.isPunct('.') {
		return
	}
	start := int(m.start)
	end, next := r.restOfName(m)
	if next.kind == tokPunct && next.char == '(' && top.call && r.lex.dialect == PostgreSQL {
		return // a function, or (VALUES (1))
	}
	if next.kind == tokPunct && next.char == '(' && m.kw == kwValues {
		return
	}
	name := dottedText(r.lex.dialect, r.lex.sql, start, end)
	if r.lex.dialect == SQLServer && (top.verb == kwUpdate || top.verb == kwDelete) && r.fromFollows() {
		r.late = append(r.late, name)
		return
	}
	r.report(name)
}

// restOfName moves past .b.c behind a name. It returns where the name ends and
// the token that follows it.
func (r *relations) restOfName(m *mark) (end int, next token) {
	end, next = int(m.end), r.lex.peek()
	for next.kind == tokPunct && next.char == '.' {
		r.lex.next()
		next = r.lex.peek()
		switch next.kind {
		case tokWord, tokQuoted, tokOpaque:
			r.lex.next()
			m.kw = kwNone
			end = int(next.end)
			next = r.lex.peek()
		}
	}
	return end, next
}

// fromFollows reports whether the statement of SQL Server at hand has a FROM of
// its own behind its target, which then names the table that the target stands for.
func (r *relations) fromFollows() bool {
	if r.prev.kw == kwFrom {
		return false // DELETE FROM t
	}
	ahead, depth := r.lex, 0
	for {
		t := ahead.next()
		switch t.kind {
		case tokEOF, tokBad:
			return false
		case tokPunct:
			switch t.char {
			case '(':
				depth++
			case ')':
				depth--
			case ';':
				return false
			}
		case tokWord:
			if depth != 0 {
				continue
			}
			switch keywordOf(SQLServer, ahead.sql[t.start:t.end]) {
			case kwFrom:
				return true
			case kwSelect, kwInsert, kwUpdate, kwDelete, kwMerge, kwWhere:
				return false
			}
		}
		if depth < 0 {
			return false
		}
	}
}

// transactFiller is filler for SQL Server: TOP (1) t, IF EXISTS t, STATISTICS t.
func (r *relations) transactFiller(text string, next token, named bool) bool {
	switch {
	case equalFold(text, "top") && next.kind == tokPunct && next.char == '(':
		r.skipParentheses()
		return true
	case equalFold(text, "if"), equalFold(text, "exists"), equalFold(text, "statistics"):
		return named
	}
	return false
}

// skipParentheses moves past what stands in parentheses, or to the end of the text.
func (r *relations) skipParentheses() {
	for depth := 0; ; {
		t := r.lex.next()
		switch {
		case t.kind == tokEOF, t.kind == tokBad:
			r.lex.pos = len(r.lex.sql)
			return
		case t.kind == tokPunct && t.char == '(':
			depth++
		case t.kind == tokPunct && t.char == ')':
			if depth--; depth == 0 {
				return
			}
		}
	}
}
