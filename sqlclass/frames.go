package sqlclass

// maxDepth bounds the nesting of parentheses and brackets. A text that is nested
// more deeply is Unknown; a bound keeps the scan on the stack.
const maxDepth = 64

type frameKind uint8

const (
	frameGroup      frameKind = iota // expressions, subqueries, arguments
	frameBracket                     // [ ]
	frameOptions                     // EXPLAIN ( )
	frameDistinctOn                  // DISTINCT ON ( ): an expression follows, no alias
	frameOperator                    // OPERATOR( ): an expression follows, no alias
	frameColumns                     // column list of a WITH query: AS follows
)

// frame is one level of parentheses; level 0 is the statement itself.
type frame struct {
	kind    frameKind
	with    bool // in the list of WITH queries, before the main query
	grouped bool // in the list of GROUP BY or of GROUPING SETS
}

func (s *scan) top() *frame { return &s.frames[s.depth] }

// punct handles brackets, dots, and semicolons within parentheses.
func (s *scan) punct(m *mark) {
	switch m.char {
	case '[':
		s.push(frame{kind: frameBracket})
	case ']':
		if s.depth == 0 || s.top().kind != frameBracket {
			s.broken = true
			return
		}
		s.depth--
		m.ident = true
	case '.':
		s.dot()
	case ';':
		// Within parentheses only the body of a rule has semicolons.
		s.st.other = true
	}
}

func (s *scan) push(f frame) {
	if s.depth+1 >= maxDepth {
		s.broken = true
		return
	}
	s.depth++
	s.frames[s.depth] = f
}

// close handles a closing parenthesis.
func (s *scan) close(m *mark) {
	kind := s.top().kind
	if s.depth == 0 || kind == frameBracket {
		s.broken = true
		return
	}
	s.depth--
	s.st.needAs = kind == frameColumns
	m.ident = kind == frameGroup || kind == frameColumns
}

// open handles an opening parenthesis.
func (s *scan) open() {
	if !s.st.started && s.st.explain && !s.startsQuery(s.lex.peek()) {
		s.push(frame{kind: frameOptions})
		return
	}
	f := frame{}
	if s.prev().isName() {
		f = s.parenAfterName()
	}
	if top := s.top(); top.with && f.kind != frameColumns && !s.opensWithBody() {
		top.with = false // WITH x AS (..) (SELECT ..): the main query begins
	}
	s.push(f)
}

// opensWithBody reports whether ( follows AS or [NOT] MATERIALIZED.
func (s *scan) opensWithBody() bool {
	return s.prev().kw == kwAs || s.prev().kw == kwMaterialized && (s.prev2().kw == kwAs || s.prev2().kw == kwNot)
}

// startsQuery reports whether t opens a query rather than a list of options.
func (s *scan) startsQuery(t token) bool {
	if t.kind == tokPunct {
		return t.char == '('
	}
	if t.kind != tokWord {
		return false
	}
	switch keywordOf(s.lex.dialect, s.lex.sql[t.start:t.end]) {
	case kwSelect, kwValues, kwTable, kwWith:
		return true
	}
	return false
}

// longerName adds what stands behind a dot to a.b and a.b.c.
func (s *scan) longerName() {
	s.name.parts++
	s.name.key = s.lex.key
	if s.name.parts > 3 && s.lex.dialect == SQLServer {
		s.st.other = true // server.database.schema.object: another server
	}
	if s.name.parts > unnameable && s.lex.dialect == PostgreSQL {
		s.attribute()
	}
}

// unnameable is more parts than a name can have: of what follows (x).
const unnameable = 100

// attribute looks at the name in (x).f, which may be a column, and as well a call
// f(x) of a built-in function with an effect.
func (s *scan) attribute() {
	if s.lex.kindsOf(s.at(s.seq).token)&(nameWrites|nameSession|nameRefused) != 0 {
		s.st.other = true
	}
}

// dot keeps a name open, or spoils it where it does not follow a name: (x).f.
func (s *scan) dot() {
	switch {
	case s.seq-s.name.first > marksKept-4:
		s.broken = true // longer than any name; what stands before it is out of reach
	case s.prev().isName():
	case s.prev().isPunct('.') && s.lex.dialect == SQLServer:
		s.name.parts++ // database..table
	default:
		s.name.parts = unnameable
	}
}
