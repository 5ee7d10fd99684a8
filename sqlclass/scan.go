package sqlclass

// scan is the state of one pass over a text. It lives on the caller's stack.
type scan struct {
	lex    lexer
	marks  [marksKept]mark // the last tokens, a ring
	seq    uint32          // number of the token at hand, its place in the ring
	name   dottedName
	depth  int
	frames [maxDepth]frame
	st     statement

	info          Info
	statements    int
	broken        bool // not lexable, not balanced or nested too deeply
	hiddenSetting bool // a setting is changed whose name the text does not show

	// Where the name of a function begins and ends: of every call, until visit returns
	// false, and of those on no list. Both may be nil. They get no text, with which all
	// that they refer to would go to the heap.
	visit    func(start, end int) bool
	unlisted func(start, end int)
}

// mark is a token with what is known of its role.
type mark struct {
	token
	kw keyword
	// ident says that the token ends an operand: an identifier for certain (in
	// quotes, after a dot, after AS), a literal, a closing parenthesis. A word
	// in front of a parenthesis is an alias there, not a function.
	ident bool
}

// isPunct reports whether m is the character c, which is that of no operator.
func (m *mark) isPunct(c byte) bool { return m.char == c }

func (m *mark) isName() bool {
	return m.kind == tokWord || m.kind == tokQuoted || m.kind == tokOpaque
}

// marksKept is enough for the longest name that matters, server.database.schema.f
// with its dots, and the tokens before it.
const marksKept = 16

// Tokens are looked at where they lie: copying them costs more than reading them.
func (s *scan) at(seq uint32) *mark { return &s.marks[seq%marksKept] }
func (s *scan) prev() *mark         { return s.at(s.seq - 1) }
func (s *scan) prev2() *mark        { return s.at(s.seq - 2) }

// dottedName is the name that was read last, a or a.b.
type dottedName struct {
	parts int
	first uint32  // number of its first token; the last one is that before (
	key   wordKey // of its last part, if that is a word
}

// before and before2 are the tokens in front of the name.
func (s *scan) before() *mark  { return s.at(s.name.first - 1) }
func (s *scan) before2() *mark { return s.at(s.name.first - 2) }

// statement is what is known of the statement at hand.
type statement struct {
	started bool // its first word was seen
	query   bool // it may still turn out to be a read
	explain bool
	analyze bool
	words   int
	verb    Verb
	flags   Flags

	write    bool // changes something, for certain
	other    bool // not proven to be a read
	locks    bool // asks for row locks
	unlisted bool // calls a function that is on no list
	session  bool // changes its connection
	local    bool // changes its transaction's settings
	opaque   bool // has a name that the text does not show
	searches bool // has a SEARCH or CYCLE clause

	withDepth  int     // where the WITH of the statement stands
	pending    keyword // INSERT, UPDATE, ... that the next token decides on
	pendingTop bool
	needAs     bool // a column list of a WITH query was closed
}

// settle decides what the previous tokens left open.
func (s *scan) settle(m *mark) {
	if s.st.needAs || s.st.pending != kwNone {
		s.settleOpen(m)
	}
}

func (s *scan) settleOpen(m *mark) {
	st := &s.st
	if st.needAs {
		st.needAs = false
		st.other = st.other || m.kw != kwAs
	}
	if st.pending == kwNone {
		return
	}
	kw := st.pending
	st.pending = kwNone
	if !completes(kw, m) {
		st.other = st.other || st.pendingTop
		return
	}
	st.write = true
	if st.pendingTop && s.depth == st.withDepth && st.verb != Explain {
		st.verb, _, _ = statementVerb(s.lex.dialect, kw)
	}
}

// completes reports whether m makes a command of the word before it: a column
// may be called update, but UPDATE name is a command.
func completes(kw keyword, m *mark) bool {
	switch kw {
	case kwInsert, kwMerge:
		return m.kw == kwInto
	case kwDelete:
		return m.kw == kwFrom
	}
	return m.isName()
}

// endStatement folds the statement into the answer and prepares for the next.
func (s *scan) endStatement() {
	if s.foldStatement() {
		s.st = statement{}
		s.marks = [marksKept]mark{}
		s.depth = 0
		s.frames[0] = frame{}
	}
}

// foldStatement folds the statement into the answer. It reports false where none was
// begun.
func (s *scan) foldStatement() bool {
	st := &s.st
	if !st.started && !st.explain {
		return false
	}
	s.statements++
	class := st.class()
	flags := st.flags
	if st.session {
		flags |= SetsSession
	}
	if class == Unknown && st.onlyUnlisted() {
		flags |= UnlistedCalls
	}
	if class == Unknown && st.onlyLocal() {
		flags |= SetsLocal
	}
	if st.opaque && class != Read {
		s.hiddenSetting = true
	}
	if s.statements == 1 {
		s.info.Verb, s.info.Class = st.verb, class
	} else if class == Write {
		s.info.Class = Write
	}
	s.info.Flags |= flags
	return true
}

func (st *statement) class() Class {
	switch {
	case st.write && (!st.explain || st.analyze):
		return Write
	case st.write, st.other, st.session, !st.query, !st.started, st.pending != kwNone && st.pendingTop, st.needAs:
		return Unknown
	case st.unlisted, st.local:
		return Unknown
	case st.locks:
		return LockingRead
	}
	return Read
}

// onlyUnlisted reports whether nothing but functions on no list stands between
// the statement and a Read.
func (st *statement) onlyUnlisted() bool {
	bare := *st
	bare.unlisted = false
	return st.unlisted && bare.class() == Read
}

// onlyLocal reports whether nothing but settings that end with the transaction
// stands between the statement and a Read.
func (st *statement) onlyLocal() bool {
	bare := *st
	bare.local = false
	return st.local && (bare.class() == Read || st.verb == Set && !st.session && !st.write && !st.explain)
}
