package catalog

import "github.com/readsplit/readsplit/sqlclass"

// snapshot is what is known at one moment. It is never changed.
type snapshot struct {
	version uint64
	said    *declared
	// safe tells of every function whether all that its name can mean reads only. A
	// name is there with and without its schema. nil: nothing is known, or no longer.
	safe map[name]bool
	// shadowed are built-in functions of whose name a user has a risky one.
	shadowed map[string]bool
	// relations are the risky ones, with and without their schema.
	relations map[name]bool
	// rows are the relations whose row is risky as a type.
	rows []string
	// attributes are the functions that a dot may call.
	attributes map[string]bool
	operators  []string
	words      wordIndex
	risks      []Risk
	functions  int
}

// newSnapshot draws the conclusions from f, which is nil before anything was loaded.
func newSnapshot(f *facts, d *declared) *snapshot {
	s := &snapshot{said: d, shadowed: map[string]bool{}, relations: map[name]bool{}, attributes: map[string]bool{}}
	for base := range d.byBase[1] {
		s.watchCall(base)
		s.watchAttribute(base)
	}
	if f == nil {
		return s
	}
	why := risky(f, d)
	s.judgeFunctions(f, why)
	operators := map[string]bool{}
	for _, o := range f.objects {
		if why[o.node] == "" || f.hidden(o) {
			continue
		}
		switch {
		case o.holds == holdsColumns:
			s.watchRow(o.name.base)
		case o.class == classRelation:
			s.relations[o.name], s.relations[name{base: o.name.base}] = true, true
			s.words.add(o.name.base, foundRelation)
		case o.class == classOperator:
			if !operators[o.name.base] {
				operators[o.name.base] = true
				s.operators = append(s.operators, o.name.base)
			}
		default:
			s.words.add(o.name.base, foundWord)
		}
	}
	s.risks = report(f, why)
	s.functions = len(f.functions)
	return s
}

func (s *snapshot) judgeFunctions(f *facts, why map[node]string) {
	s.safe = make(map[name]bool, 2*len(f.functions))
	for _, fn := range f.functions {
		bare := name{base: fn.name.base}
		ok := why[node{classFunction, fn.oid}] == ""
		for _, key := range [...]name{fn.name, bare} {
			before, known := s.safe[key]
			s.safe[key] = ok && (before || !known)
		}
		if ok {
			continue
		}
		if sqlclass.Harmless(sqlclass.PostgreSQL, fn.name.base) {
			s.shadowed[fn.name.base] = true
			s.watchCall(fn.name.base)
		}
		if fn.attribute {
			s.watchAttribute(fn.name.base)
		}
	}
	// A call by the bare name may mean the server's own function. What the lexer's lists
	// have is left out: it is never asked for here.
	own := map[string]bool{}
	for oid, b := range f.builtins {
		if !sqlclass.Harmless(sqlclass.PostgreSQL, b.base) {
			before, known := own[b.base]
			own[b.base] = why[node{classFunction, oid}] == "" && (before || !known)
		}
	}
	for base, ok := range own {
		bare := name{base: base}
		before, known := s.safe[bare]
		switch {
		case ok:
			s.safe[name{"pg_catalog", base}] = true
			s.safe[bare] = before || !known
		case known:
			s.safe[bare] = false
		}
	}
}

// watchCall has reads looked at that call a built-in function of this name.
func (s *snapshot) watchCall(base string) {
	if !sqlclass.Harmless(sqlclass.PostgreSQL, base) && !sqlclass.Harmless(sqlclass.PostgreSQL, "information_schema."+base) {
		return
	}
	found := foundWord // SUBSTRING and its like are syntax too, and no calls to the lexer
	sqlclass.Functions(sqlclass.PostgreSQL, "SELECT "+base+"(1)", func(string) bool {
		found = foundCall
		return false
	})
	s.words.add(base, found)
}

// forgotten is s after a change of the schema: without what it knows of functions.
// The risks stay: without them nothing would be safer.
func (s *snapshot) forgotten() *snapshot {
	if s.safe == nil {
		return s
	}
	next := *s
	next.safe = nil
	return &next
}

// readsOnly reports whether every function that the text calls is known to read only.
func (s *snapshot) readsOnly(sql string) bool {
	ok := true
	sqlclass.Functions(sqlclass.PostgreSQL, sql, func(text string) bool {
		ok = s.callReadsOnly(text)
		return ok
	})
	return ok
}

func (s *snapshot) callReadsOnly(text string) bool {
	if !sqlclass.Harmless(sqlclass.PostgreSQL, text) {
		return s.unlistedReadsOnly(text)
	}
	n, ok := lookUp(text)
	return ok && !s.said.isWrite(n) && (n.schema != "" || !s.shadowed[n.base])
}

// unlistedReadsOnly is callReadsOnly for a function on none of the lexer's lists.
func (s *snapshot) unlistedReadsOnly(text string) bool {
	n, ok := lookUp(text)
	if !ok || s.said.isWrite(n) {
		return false
	}
	if safe, known := s.safe[n]; known {
		return safe
	}
	return s.said.isRead(n)
}

// risky reports whether a text that is a read as such names something risky.
func (s *snapshot) risky(sql string) bool { return s.riskyBy(s.find(sql), sql) }

// find returns of what kinds the risky names are whose words stand in the text.
func (s *snapshot) find(sql string) found {
	if s.words.kinds == 0 {
		return 0
	}
	return s.words.scan(sql)
}

// riskyBy is risky by what find has found.
func (s *snapshot) riskyBy(found found, sql string) bool {
	return found&foundWord != 0 ||
		found&foundCall != 0 && !s.readsOnly(sql) ||
		found&foundRelation != 0 && s.namesRisky(sql) ||
		found&foundAttribute != 0 && s.callsAttribute(sql) ||
		found&foundRow != 0 && s.namesRow(sql) ||
		s.usesOperator(sql)
}

func (s *snapshot) namesRisky(sql string) bool {
	risky := false
	sqlclass.Relations(sqlclass.PostgreSQL, sql, func(text string) bool {
		n, ok := lookUp(text)
		risky = !ok || s.relations[n]
		return !risky
	})
	return risky
}
