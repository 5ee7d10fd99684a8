package tsql

// query reads a SELECT with its UNIONs and its ORDER BY.
func (p *parser) query() *Select {
	defer p.enter()()
	s := p.selectCore()
	for p.word("union") {
		u := Union{All: p.word("all")}
		u.Sel = p.selectCore()
		s.Unions = append(s.Unions, u)
	}
	if p.isWord("except") || p.isWord("intersect") {
		p.fail("EXCEPT and INTERSECT")
	}
	if p.word("order", "by") {
		for {
			o := Order{Expr: p.expr()}
			if !p.word("asc") {
				o.Desc = p.word("desc")
			}
			s.OrderBy = append(s.OrderBy, o)
			if !p.symbol(",") {
				break
			}
		}
		if p.word("offset") {
			s.Offset = p.sum()
			if !p.word("rows") {
				p.wantWord("row")
			}
			if p.word("fetch") {
				if !p.word("next") {
					p.wantWord("first")
				}
				s.Fetch = p.sum()
				if !p.word("rows") {
					p.wantWord("row")
				}
				p.wantWord("only")
			}
		}
	}
	if p.isWord("for") || p.isWord("option") {
		p.fail("FOR and OPTION")
	}
	return s
}

func (p *parser) selectCore() *Select {
	p.wantWord("select")
	s := &Select{}
	if !p.word("all") {
		s.Distinct = p.word("distinct")
	}
	if p.word("top") {
		if p.symbol("(") {
			s.Top = p.expr()
			p.want(")")
		} else {
			s.Top = p.primary()
		}
		if p.isWord("percent") || p.isWord("with", "ties") {
			p.fail("TOP with PERCENT or TIES")
		}
	}
	s.Items = p.items()
	if p.isWord("into") {
		p.fail("SELECT INTO")
	}
	if p.word("from") {
		s.From = p.sources()
	}
	if p.word("where") {
		s.Where = p.expr()
	}
	if p.word("group", "by") {
		s.GroupBy = p.exprs()
	}
	if p.word("having") {
		s.Having = p.expr()
	}
	return s
}

func (p *parser) items() []Item {
	items := []Item{p.item()}
	for p.symbol(",") {
		items = append(items, p.item())
	}
	return items
}

func (p *parser) item() Item {
	if p.symbol("*") {
		return Item{Expr: &Star{}}
	}
	if p.peek().kind == tokVariable && p.peekAt(1).kind == tokSymbol && p.peekAt(1).text == "=" {
		name := p.take().text
		p.take()
		return Item{Expr: p.expr(), Assign: name}
	}
	if t := p.peekAt(1); p.isName() && t.kind == tokSymbol {
		switch t.text {
		case "=": // alias = expression
			alias := p.name()
			p.take()
			return Item{Expr: p.expr(), Alias: alias}
		case ".":
			if s := p.peekAt(2); s.kind == tokSymbol && s.text == "*" {
				star := &Star{Table: p.name()}
				p.at += 2
				return Item{Expr: star}
			}
		}
	}
	item := Item{Expr: p.expr()}
	item.Alias = p.alias()
	return item
}

// alias reads [AS] name, or [AS] 'name'.
func (p *parser) alias() string {
	as := p.word("as")
	switch t := p.peek(); {
	case p.isName():
		return p.name()
	case t.kind == tokString:
		return p.take().text
	case as:
		p.unexpected()
	}
	return ""
}

func (p *parser) sources() Source {
	left := p.joined()
	for p.symbol(",") {
		left = &Join{Kind: "cross", L: left, R: p.joined()}
	}
	return left
}

func (p *parser) joined() Source {
	defer p.enter()()
	left := p.source()
	for {
		switch {
		case p.word("cross", "join"):
			left = &Join{Kind: "cross", L: left, R: p.source()}
			continue
		case p.word("join"), p.word("inner", "join"):
			left = &Join{Kind: "inner", L: left, R: p.source()}
		case p.word("left", "join"), p.word("left", "outer", "join"):
			left = &Join{Kind: "left", L: left, R: p.source()}
		case p.isWord("right"), p.isWord("full"), p.isWord("cross"), p.isWord("outer"):
			p.fail("this kind of join")
		default:
			return left
		}
		p.wantWord("on")
		left.(*Join).On = p.expr()
	}
}

func (p *parser) source() Source {
	if p.symbol("(") {
		d := &Derived{}
		switch {
		case p.isWord("select"):
			d.Sub = p.query()
		case p.word("values"):
			d.Values = p.rows()
		default:
			inner := p.sources()
			p.want(")")
			return inner
		}
		p.want(")")
		d.Alias = p.alias()
		if d.Alias == "" {
			p.unexpected()
		}
		if p.isSymbol("(") {
			d.Cols = p.names()
		}
		return d
	}
	t := p.table()
	if p.symbol("(") {
		t.IsFn = true
		if !p.isSymbol(")") {
			t.Args = p.exprs()
		}
		p.want(")")
	}
	t.Alias = p.alias()
	p.hints(t)
	return t
}

// hints reads WITH (NOLOCK, ..).
func (p *parser) hints(t *Table) {
	if !p.isWord("with") {
		return
	}
	p.take()
	p.want("(")
	for {
		switch w := p.take(); w.text {
		case "nolock", "readuncommitted", "updlock", "xlock", "holdlock", "serializable", "rowlock", "paglock", "tablock",
			"tablockx", "readcommitted", "readcommittedlock", "repeatableread", "nowait", "readpast":
			t.Hints = append(t.Hints, w.text)
		default:
			p.at--
			p.fail("this table hint")
		}
		if !p.symbol(",") && p.isSymbol(")") {
			break
		}
	}
	p.want(")")
}

// rows reads (a, b), (c, d); DEFAULT is nil.
func (p *parser) rows() [][]Expr {
	var rows [][]Expr
	for {
		p.want("(")
		var row []Expr
		for {
			if p.word("default") {
				row = append(row, nil)
			} else {
				row = append(row, p.expr())
			}
			if !p.symbol(",") {
				break
			}
		}
		p.want(")")
		rows = append(rows, row)
		if !p.symbol(",") {
			return rows
		}
	}
}
