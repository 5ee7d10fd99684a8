package tsql

func (p *parser) insert() Stmt {
	p.word("into")
	s := &Insert{Table: p.table()}
	p.hints(s.Table)
	if p.isSymbol("(") {
		s.Cols = p.names()
	}
	s.Output = p.output()
	switch {
	case p.word("default", "values"):
		s.Default = true
	case p.word("values"):
		s.Rows = p.rows()
	case p.isWord("select"):
		s.Query = p.query()
	default:
		p.unexpected()
	}
	return s
}

func (p *parser) output() []Item {
	if !p.word("output") {
		return nil
	}
	items := p.items()
	if p.isWord("into") {
		p.fail("OUTPUT INTO")
	}
	return items
}

func (p *parser) update() Stmt {
	s := &Update{Table: p.table()}
	p.hints(s.Table)
	p.wantWord("set")
	s.Sets = p.sets()
	s.Output = p.output()
	if p.isWord("from") {
		p.fail("UPDATE with FROM")
	}
	if p.word("where") {
		s.Where = p.expr()
	}
	return s
}

func (p *parser) sets() []Set {
	var sets []Set
	for {
		path := p.path()
		set := Set{Col: path[len(path)-1]}
		switch t := p.peek(); {
		case p.symbol("="):
			set.Value = p.expr()
		case t.kind == tokSymbol && len(t.text) == 2 && t.text[1] == '=' && comparisons[t.text] == "":
			p.take()
			set.Value = &Binary{t.text[:1], &Col{[]string{set.Col}}, p.expr()}
		default:
			p.unexpected()
		}
		sets = append(sets, set)
		if !p.symbol(",") {
			return sets
		}
	}
}

func (p *parser) delete() Stmt {
	if p.isWord("top") {
		p.fail("DELETE TOP")
	}
	p.word("from")
	s := &Delete{Table: p.table()}
	p.hints(s.Table)
	s.Output = p.output()
	if p.isWord("from") {
		p.fail("DELETE with a second FROM")
	}
	if p.word("where") {
		s.Where = p.expr()
	}
	return s
}

// merge reads the MERGE that an upsert is.
func (p *parser) merge() Stmt {
	p.word("into")
	s := &Merge{Table: p.table()}
	p.hints(s.Table)
	if p.word("as") {
		s.Table.Alias = p.name()
	}
	p.wantWord("using")
	using, ok := p.source().(*Derived)
	if !ok {
		p.fail("MERGE from a table")
	}
	s.Using = using
	p.wantWord("on")
	s.On = p.expr()
	for p.word("when") {
		switch {
		case p.word("matched", "then", "update", "set"):
			s.Update, s.Matched = true, p.sets()
		case p.word("not", "matched", "then", "insert"), p.word("not", "matched", "by", "target", "then", "insert"):
			s.Insert, s.Cols = true, p.names()
			p.wantWord("values")
			p.want("(")
			s.Values = p.exprs()
			p.want(")")
		default:
			p.fail("this WHEN of MERGE")
		}
	}
	s.Output = p.output()
	if !p.isSymbol(";") {
		p.unexpected() // a MERGE must end with a semicolon
	}
	return s
}
