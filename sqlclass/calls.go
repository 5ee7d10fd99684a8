package sqlclass

// callKind is what the lists say about a function.
type callKind uint8

const (
	callUnlisted callKind = iota // on no list: a user's own, an extension's, a newer server's
	callHarmless
	callWrites  // changes something that others can see
	callSession // changes or locks something for its own connection
	callRefused // must not run on a replica for another reason
)

// call returns what the lists say about a function. No function is on two of them.
func (k nameKinds) call() callKind {
	switch {
	case k&nameHarmless != 0:
		return callHarmless
	case k&nameWrites != 0:
		return callWrites
	case k&nameSession != 0:
		return callSession
	case k&nameRefused != 0:
		return callRefused
	}
	return callUnlisted
}

// parenAfterName decides what "name (" is: a function call, a list of columns
// after an alias, a type with modifiers, or a piece of syntax. A call is noted.
//
// The rule that keeps this safe without a grammar: in both languages a call can
// only stand where an operand may begin. Behind something that ends an operand
// (a plain identifier, a literal, a closing parenthesis) the name is an alias.
func (s *scan) parenAfterName() frame {
	last, before := s.prev(), s.before()
	if s.top().with && s.name.parts == 1 && startsWithQuery(before) {
		return frame{kind: frameColumns} // WITH values (a, b) AS
	}
	kinds := s.lastKinds()
	if s.visit == nil && s.name.parts == 1 && kinds&nameHarmless != 0 && last.kw == kwNone && s.lex.dialect == PostgreSQL {
		return frame{} // a call or not: it makes no difference
	}
	if s.name.parts == 1 && last.kind == tokWord {
		if f, ok := s.syntaxParen(kinds); ok {
			return f
		}
	}
	switch {
	case before.kw == kwAs || before.kw == kwInto:
		return frame{}
	case before.kind == tokCast && s.lex.dialect == PostgreSQL:
		return frame{}
	case s.endsOperand(before) && !s.suspicious(kinds):
		return frame{}
	}
	s.call(kinds)
	return frame{}
}

// startsWithQuery reports whether the name behind m is that of a WITH query.
func startsWithQuery(m *mark) bool {
	return m.kw == kwWith || m.kw == kwRecursive || m.isPunct(',')
}

// suspicious reports whether a name is that of a built-in function that no replica
// must run. Nobody calls an alias so, and the server might see more than an alias.
func (s *scan) suspicious(kinds nameKinds) bool {
	return s.lex.dialect == PostgreSQL && kinds&(nameWrites|nameSession|nameRefused) != 0
}

// endsOperand reports whether an operand ends with m. Of an unquoted word that
// is only known when it is no keyword in any version of the server.
func (s *scan) endsOperand(m *mark) bool {
	if m.ident || m.kind != tokWord || m.kw != kwNone {
		return m.ident
	}
	return s.lex.kindsOf(m.token)&nameKeyword == 0
}

// syntaxParen recognises the words that stand before a parenthesis without being
// a function: IN (, COALESCE (, numeric(10,2), OVER (, and the like.
func (s *scan) syntaxParen(kinds nameKinds) (frame, bool) {
	b, b2 := s.before(), s.before2()
	if s.lex.dialect == SQLServer {
		return s.transactParen(kinds)
	}
	if kinds&nameReserved != 0 {
		if s.prev().kw == kwOn && b.kw == kwDistinct {
			return frame{kind: frameDistinctOn}, true
		}
		return frame{}, true
	}
	switch s.prev().kw {
	case kwJoin:
		// JOIN may also be the name of a function; a call cannot follow these.
		return frame{}, b.kw == kwJoinSide || s.queryFollows()
	case kwBy:
		return frame{}, b.kw == kwGroup || b.kw == kwOrder || b.kw == kwPartition
	case kwSets:
		return frame{grouped: true}, b.kw == kwGrouping
	case kwRollup, kwCube:
		return frame{}, s.top().grouped && (b.kw == kwBy || b.kw == kwDistinct || b.kw == kwAll ||
			b.isPunct(',') || b.isPunct('('))
	case kwMaterialized:
		return frame{}, b.kw == kwAs || b.kw == kwNot && b2.kw == kwAs
	case kwFirst, kwNext:
		return frame{}, b.kw == kwFetch
	case kwZone:
		return frame{}, b.kw == kwTime
	case kwLike, kwIlike:
		return frame{}, b.kw == kwNot && s.endsOperand(b2)
	case kwVarying:
		return frame{}, b.kw == kwCharacter
	case kwOperator:
		return s.operatorParen()
	}
	if b.kw == kwTablesample && (s.lastIs("system") || s.lastIs("bernoulli")) {
		return frame{}, true
	}
	return frame{}, s.queryFollows()
}

// queryFollows reports whether the parenthesis opens a subquery. The argument of
// a function cannot begin with SELECT, so what stands before it is no function.
func (s *scan) queryFollows() bool {
	if !s.lex.mayFollow('s', 'w') {
		return false
	}
	t := s.lex.peek()
	if t.kind != tokWord {
		return false
	}
	switch keywordOf(s.lex.dialect, s.lex.sql[t.start:t.end]) {
	case kwSelect, kwWith:
		return true
	}
	return false
}

// operatorParen handles a OPERATOR(pg_catalog.+) b. An operator of another schema
// may call anything.
func (s *scan) operatorParen() (frame, bool) {
	ahead := s.lex
	schema := ahead.next()
	known := isName(PostgreSQL, s.lex.sql, schema, "pg_catalog")
	dot := ahead.next()
	if !known || dot.kind != tokPunct || dot.char != '.' || !s.endsOperand(s.before()) {
		s.st.other = true
	}
	return frame{kind: frameOperator}, true
}

// call notes the call of the function that s.name names.
func (s *scan) call(kinds nameKinds) {
	if s.visit != nil && !s.visit(s.callPlace()) {
		s.broken = true // nobody asks for the class
		return
	}
	kind := s.kindOf(kinds)
	switch kind {
	case callUnlisted:
		s.st.unlisted = true
		if s.unlisted != nil {
			s.unlisted(s.callPlace())
		}
	case callWrites:
		s.st.write = true
	case callSession:
		sets := s.lastIs("set_config")
		if sets && s.settingIsLocal() {
			s.st.local = true
		} else {
			s.st.session = true
		}
		s.hiddenSetting = s.hiddenSetting || sets && !s.settingIsShown()
	case callRefused:
		s.st.other = true
	}
}

// kindOf says what the name at hand calls, with its schema.
func (s *scan) kindOf(kinds nameKinds) callKind {
	switch {
	case s.lex.dialect == SQLServer && s.lastIs("rand") && !s.closes():
		return callSession // RAND(5) decides what RAND() answers on its connection
	case s.lex.dialect == SQLServer && s.name.parts == 1:
		return kinds.call()
	case s.lex.dialect == SQLServer:
		return callUnlisted
	case s.name.parts == 1, s.name.parts == 2 && s.inSchema("pg_catalog"):
		return kinds.call()
	case s.name.parts == 2 && s.inSchema("information_schema") && s.lastIsStandardView():
		return callHarmless
	}
	return callUnlisted
}

// closes reports whether the parenthesis at hand is closed at once.
func (s *scan) closes() bool {
	t := s.lex.peek()
	return t.kind == tokPunct && t.char == ')'
}

func (s *scan) inSchema(schema string) bool {
	return isName(PostgreSQL, s.lex.sql, s.at(s.name.first).token, schema)
}

// lastIs reports whether the name at hand, or its last part, is the lower-case name.
func (s *scan) lastIs(name string) bool {
	return isName(s.lex.dialect, s.lex.sql, s.prev().token, name)
}

// lastKinds returns on which lists the name at hand is, or its last part.
func (s *scan) lastKinds() nameKinds {
	if m := s.prev(); m.kind == tokWord {
		return s.lex.names().of(s.name.key, s.lex.sql[m.start:m.end])
	}
	return s.lex.kindsOf(s.prev().token)
}

// standardViews are the functions of information_schema that its own views are made
// of. JDBC's driver calls one to find primary keys.
var standardViews = [...]string{
	"_pg_expandarray", "_pg_index_position", "_pg_truetypid", "_pg_truetypmod", "_pg_char_max_length",
	"_pg_char_octet_length", "_pg_numeric_precision", "_pg_numeric_precision_radix", "_pg_numeric_scale",
	"_pg_datetime_precision", "_pg_interval_type",
}

func (s *scan) lastIsStandardView() bool {
	for _, name := range standardViews {
		if s.lastIs(name) {
			return true
		}
	}
	return false
}

// settingIsLocal reports whether the third and last argument of set_config is
// TRUE, with which it is SET LOCAL.
func (s *scan) settingIsLocal() bool {
	ahead := s.lex
	for depth, commas := 0, 0; ; {
		t := ahead.next()
		switch {
		case t.kind == tokEOF, t.kind == tokBad:
			return false
		case t.kind != tokPunct:
		case t.char == '(' || t.char == '[':
			depth++
		case t.char == ')' || t.char == ']':
			depth--
		case t.char == ',' && depth == 0:
			commas++
			if commas == 2 {
				word, end := ahead.next(), ahead.next()
				return word.kind == tokWord && equalFold(ahead.sql[word.start:word.end], "true") && end.kind == tokPunct && end.char == ')'
			}
		}
		if depth < 0 {
			return false
		}
	}
}

// settingIsShown reports whether the first argument of set_config is a literal
// that can be read as it stands.
func (s *scan) settingIsShown() bool {
	ahead := s.lex
	if ahead.next().kind != tokString {
		return false
	}
	t := ahead.next()
	return t.kind == tokPunct && t.char == ','
}
