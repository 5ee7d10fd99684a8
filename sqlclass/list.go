package sqlclass

// list moves past what an ORM writes most of: columns and parameters with commas behind
// them, "users"."id","users"."name", and $1,$2,. None of them can be anything else, so
// that they are only noted. It stops before whatever is not written exactly so.
func (s *scan) list() {
	if !s.settled() || s.prev().isPunct('.') || s.lex.dialect != PostgreSQL {
		return
	}
	for {
		start := s.lex.pos
		end := s.lex.plainName(start)
		switch {
		case end == 0:
			if end = s.lex.plainParameter(start); end == 0 || !s.lex.is(',', end) {
				return
			}
			s.put(newToken(tokParam, start, end), true)
		case s.lex.is(',', end):
			s.name = dottedName{parts: 1, first: s.seq}
			s.put(newToken(tokQuoted, start, end), true)
		case s.lex.is('.', end):
			second := s.lex.plainName(end + 1)
			if second == 0 || !s.lex.is(',', second) {
				return
			}
			s.name = dottedName{parts: 2, first: s.seq}
			s.put(newToken(tokQuoted, start, end), true)
			s.put(newCharToken(tokPunct, '.', end, end+1), false)
			s.put(newToken(tokQuoted, end+1, second), true)
			end = second
		default:
			return
		}
		s.put(newCharToken(tokPunct, ',', end, end+1), false)
		s.lex.pos = end + 1
	}
}

// dotFollows moves past a dot directly behind a name that another name follows.
func (s *scan) dotFollows() {
	i := s.lex.pos
	if !s.lex.is('.', i) || i+1 == len(s.lex.sql) || !startsName(s.lex.sql[i+1]) || !s.settled() || s.seq-s.name.first > marksKept-4 {
		return
	}
	s.put(newCharToken(tokPunct, '.', i, i+1), false)
	s.lex.pos++
}

// settled reports whether a statement has begun and nothing in it waits for the next token
// to be decided: see settle.
func (s *scan) settled() bool {
	return s.st.started && !s.st.needAs && s.st.pending == kwNone
}

func (s *scan) put(t token, ident bool) {
	*s.at(s.seq) = mark{token: t, ident: ident}
	s.seq++
}

func (l *lexer) is(c byte, at int) bool { return at < len(l.sql) && l.sql[at] == c }

// plainName returns where the name in quotes that begins at i ends, or 0 if none does. A
// quote behind it would be part of it.
func (l *lexer) plainName(i int) int {
	s := l.sql
	if i+1 >= len(s) || s[i] != '"' || s[i+1] == '"' {
		return 0
	}
	for i++; i < len(s); i++ {
		if s[i] == '"' {
			return i + 1
		}
	}
	return 0
}

// plainParameter returns where the parameter that begins at i ends, or 0.
func (l *lexer) plainParameter(i int) int {
	s := l.sql
	if i+1 >= len(s) || s[i] != '$' || charGroup[s[i+1]] != chDigit {
		return 0
	}
	for i++; i < len(s) && charGroup[s[i]] == chDigit; i++ {
	}
	return i
}

func startsName(c byte) bool { return charGroup[c] == chLetter || c == '"' }
