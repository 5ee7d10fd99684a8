package sqlclass

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Classify reports what a text is. It reads the text once, allocates nothing
// and never fails: what it cannot follow is Unknown.
//
// Parameters may be written in any style ($1, ?, @name); their values are never
// seen.
func Classify(d Dialect, sql string) Info { return ClassifyCalls(d, sql, nil) }

// ClassifyCalls is Classify, and on its way calls visit with the name of every function
// on no list that the text calls, in the form that Functions gives it. If the answer has
// UnlistedCalls, these are all that it lacks to be a Read; else the names say nothing.
// A name may allocate.
func ClassifyCalls(d Dialect, sql string, visit func(name string)) Info {
	var s scan
	s.lex = lexer{sql: sql, dialect: d}
	if visit != nil {
		s.unlisted = func(start, end int) { visit(dottedText(d, sql, start, end)) }
	}
	s.run()
	if s.lex.ambiguous {
		return classifyBoth(&s, sql)
	}
	return s.result(sql)
}

// classifyBoth judges a text whose literals end elsewhere when
// standard_conforming_strings is off: LIKE $1 ESCAPE '\' and a literal after it.
// The text is what both readings say it is; a reading in which a literal does not
// end, or a backslash stands outside of one, says nothing: a server that read it so
// would refuse the text.
func classifyBoth(s *scan, sql string) Info {
	var other scan
	other.lex = lexer{sql: sql, dialect: s.lex.dialect, escapes: true}
	other.run()
	first, second := s.result(sql), other.result(sql)
	switch {
	case other.lex.refused, first == second && first.Class == Read:
		return first
	case first.Class == Write && second.Class == Write:
		first.Flags |= second.Flags
		return first
	}
	s.broken = true
	s.info.Flags |= other.info.Flags
	s.hiddenSetting = s.hiddenSetting || other.hiddenSetting
	return s.result(sql)
}

// result turns what the scan of the text has collected into the answer.
func (s *scan) result(sql string) Info {
	info := s.info
	if s.statements > 1 {
		info.Flags |= Multi
	}
	if s.broken {
		info.Class = Unknown
	}
	if info.Flags&Multi != 0 && info.Class != Write {
		info.Class = Unknown
	}
	if info.Class != Unknown || info.Flags&Multi != 0 || s.broken {
		info.Flags &^= UnlistedCalls | SetsLocal
	}
	if info.Flags.Has(SetsLocal) && info.Verb != Set && namesRelation(s.lex.dialect, sql) {
		info.Flags &^= SetsLocal // it may be a view, and do anything
	}
	if info.Flags.Has(DDL) && redefines(sql) {
		info.Flags |= Redefines
	}
	if info.Class != Read && s.mayCommitAsync() {
		info.Flags |= AsyncCommit
	}
	return info
}

func namesRelation(d Dialect, sql string) (named bool) {
	Relations(d, sql, func(string) bool {
		named = true
		return false
	})
	return named
}

// redefiners are words of DDL by which something else may do another thing, or be
// kept elsewhere, under the name that it had. "view" also finds views, and a column
// of that name: that costs a look at the catalogue.
var redefiners = [...]string{
	"view", "function", "routine", "aggregate", "language", "polic", "security", "operator", "domain", "type", "cast",
	"rule", "extension", "logged", "inherit", "partition", "schema", "rename", "execute",
}

func redefines(sql string) bool {
	for _, word := range redefiners {
		for i := 0; i+len(word) <= len(sql); i++ {
			if equalFold(sql[i:i+len(word)], word) {
				return true
			}
		}
	}
	return false
}

var (
	asyncSettings     = []underscored{{"synchronous", "_commit"}, {"pg", "_settings"}}
	delayedDurability = []underscored{{"delayed", "_durability"}}
)

// mayCommitAsync looks at the whole text, literals and comments included: the
// setting may stand in the body of a function or in a DO block. Taking too many
// texts for one that sets it costs a short wait, missing one loses a write.
func (s *scan) mayCommitAsync() bool {
	sql := s.lex.sql
	if s.lex.dialect == SQLServer {
		return mentions(sql, delayedDurability)
	}
	return s.hiddenSetting || mentions(sql, asyncSettings)
}

// run drives the lexer to the end of the text.
func (s *scan) run() {
	if len(s.lex.sql) > math.MaxInt32 || strings.IndexByte(s.lex.sql, 0) >= 0 || !utf8.ValidString(s.lex.sql) {
		s.broken = true
		return
	}
	for !s.broken {
		t := s.lex.next()
		if t.kind <= tokBad {
			s.broken = t.kind == tokBad || s.depth != 0
			break
		}
		m := s.at(s.seq)
		*m = mark{token: t, ident: tokQuoted <= t.kind && t.kind <= tokParam}
		switch t.kind {
		case tokWord:
			s.plainWord(m)
			s.seq++
			s.dotFollows()
		case tokQuoted, tokOpaque:
			s.quoted(m)
			s.seq++
			s.dotFollows()
		case tokPunct:
			if t.char == ';' && s.depth == 0 {
				s.endStatement()
				continue
			}
			s.settle(m)
			switch t.char {
			case ',':
			case '(':
				s.open()
			case ')':
				s.close(m)
			default:
				s.punct(m)
			}
			s.operand(m)
			s.seq++
			if s.lex.is('"', s.lex.pos) || s.lex.is('$', s.lex.pos) {
				s.list()
			}
		default:
			s.settle(m)
			if t.kind == tokParam {
				s.parameter(m)
			}
			s.operand(m)
			s.seq++
		}
	}
	s.foldStatement()
}

// plainWord handles a word that stands without quotes.
func (s *scan) plainWord(m *mark) {
	if prev := s.prev(); prev.isPunct('.') {
		m.ident = true
		s.longerName()
	} else {
		s.name = dottedName{parts: 1, first: s.seq, key: s.lex.key}
		if mayBeKeyword(s.lex.key, int(m.end-m.start)) {
			m.kw = keywordBy(s.lex.dialect, s.lex.key, s.lex.sql[m.start:m.end])
		}
		if prev.kw == kwAs {
			s.label(m)
		}
	}
	s.settle(m)
	if m.kw == kwNone && s.st.query && s.lex.dialect == PostgreSQL {
		return // a name, which changes nothing
	}
	s.word(m)
}

func (s *scan) quoted(m *mark) {
	if s.prev().isPunct('.') {
		s.longerName()
	} else {
		s.name = dottedName{parts: 1, first: s.seq}
	}
	s.settle(m)
	if m.kind == tokOpaque {
		s.st.opaque = true
	}
	if s.lex.dialect == SQLServer {
		s.temporary(m)
	}
	s.operand(m) // [p] calls a procedure where a batch begins with it
}

// operand notes a statement that begins with something else than a word.
func (s *scan) operand(m *mark) {
	if !s.st.started && !s.isPrefix(m) {
		s.st.started, s.st.other = true, true
	}
}

// isPrefix reports whether m may stand before the first word of a statement.
func (s *scan) isPrefix(m *mark) bool {
	if s.top().kind == frameOptions {
		return true
	}
	return m.kind == tokPunct && (m.char == '(' || m.char == ')' && s.st.explain)
}
