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
func Classify(d Dialect, sql string) Info {
	var s scan
	s.lex = lexer{sql: sql, dialect: d}
	s.run()
	if s.lex.ambiguous {
		return classifyBoth(&s)
	}
	return s.result()
}

// classifyBoth judges a text whose literals end elsewhere when
// standard_conforming_strings is off: LIKE $1 ESCAPE '\' and a literal after it.
// The text is what both readings say it is; a reading in which a literal does not
// end, or a backslash stands outside of one, says nothing: a server that read it so
// would refuse the text.
func classifyBoth(s *scan) Info {
	var other scan
	other.lex = lexer{sql: s.lex.sql, dialect: s.lex.dialect, escapes: true}
	other.run()
	first, second := s.result(), other.result()
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
	return s.result()
}

// result turns what the scan has collected into the answer.
func (s *scan) result() Info {
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
	if info.Flags.Has(SetsLocal) && info.Verb != Set && namesRelation(s.lex.dialect, s.lex.sql) {
		info.Flags &^= SetsLocal // it may be a view, and do anything
	}
	if info.Flags.Has(DDL) && redefines(s.lex.sql) {
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

// mayCommitAsync looks at the whole text, literals and comments included: the
// setting may stand in the body of a function or in a DO block. Taking too many
// texts for one that sets it costs a short wait, missing one loses a write.
func (s *scan) mayCommitAsync() bool {
	sql := s.lex.sql
	if s.lex.dialect == SQLServer {
		return mentions(sql, "delayed", "_durability")
	}
	return s.hiddenSetting || mentions(sql, "synchronous", "_commit") || mentions(sql, "pg", "_settings")
}

// run drives the lexer to the end of the text.
func (s *scan) run() {
	if len(s.lex.sql) > math.MaxInt32 || strings.IndexByte(s.lex.sql, 0) >= 0 || !utf8.ValidString(s.lex.sql) {
		s.broken = true
		return
	}
	for {
		t := s.lex.next()
		switch t.kind {
		case tokEOF:
			s.broken = s.broken || s.depth != 0
			s.endStatement()
			return
		case tokBad:
			s.broken = true
			s.endStatement()
			return
		case tokPunct:
			if t.char == ';' && s.depth == 0 {
				s.endStatement()
				continue
			}
		}
		m := s.at(s.seq)
		*m = mark{token: t}
		s.classifyToken(t.kind, m)
		if s.broken || s.stopped {
			s.endStatement()
			return
		}
		s.seq++
	}
}

// classifyToken dispatches one token that is neither the end nor a separator. The
// kind comes beside the mark, which was just written and is slow to read back.
func (s *scan) classifyToken(kind tokenKind, m *mark) {
	switch kind {
	case tokWord:
		s.resolveWord(m)
		s.startName()
		s.settle(m)
		s.word(m)
		return
	case tokQuoted, tokOpaque:
		m.ident = true
		s.startName()
		s.settle(m)
		if kind == tokOpaque {
			s.st.opaque = true
		}
		if s.lex.dialect == SQLServer {
			s.temporary(m)
		}
		return
	}
	s.settle(m)
	switch kind {
	case tokParam:
		m.ident = true
		s.parameter(m)
	case tokString, tokEscape, tokNumber:
		m.ident = true
	case tokPunct:
		s.punct(m)
	}
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
