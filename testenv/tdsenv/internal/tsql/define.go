package tsql

import (
	"strconv"
	"strings"
)

func (p *parser) create() Stmt {
	switch {
	case p.word("table"):
		return p.createTable()
	case p.isWord("unique"), p.isWord("clustered"), p.isWord("nonclustered"), p.isWord("index"):
		s := &CreateIndex{Unique: p.word("unique")}
		if !p.word("clustered") {
			p.word("nonclustered")
		}
		p.wantWord("index")
		s.Name = p.name()
		p.wantWord("on")
		s.Table = p.table()
		s.Cols = p.names()
		if p.word("include") {
			p.names()
		}
		if p.word("where") {
			s.Where = p.expr()
		}
		return s
	}
	p.fail("this CREATE")
	return nil
}

func (p *parser) createTable() Stmt {
	s := &CreateTable{Table: p.table()}
	p.want("(")
	for !p.symbol(")") {
		if c := p.constraint(); c != nil {
			s.Constraints = append(s.Constraints, *c)
		} else {
			s.Cols = append(s.Cols, p.column())
		}
		if !p.symbol(",") && !p.isSymbol(")") {
			p.unexpected()
		}
	}
	if s.Cols == nil {
		p.unexpected()
	}
	return s
}

// constraint reads a constraint of a table, or nothing.
func (p *parser) constraint() *Constraint {
	c := &Constraint{}
	if p.word("constraint") {
		c.Name = p.name()
	}
	switch {
	case p.word("primary", "key"):
		c.Kind = "primary"
		p.clustering()
		c.Cols = p.names()
	case p.word("unique"):
		c.Kind = "unique"
		p.clustering()
		c.Cols = p.names()
	case p.word("check"):
		p.check(c)
	case p.word("foreign", "key"):
		c.Kind = "foreign"
		c.Cols = p.names()
		p.references(c)
	default:
		if c.Name != "" {
			p.fail("this constraint")
		}
		return nil
	}
	return c
}

func (p *parser) clustering() {
	if !p.word("clustered") {
		p.word("nonclustered")
	}
}

func (p *parser) check(c *Constraint) {
	c.Kind = "check"
	p.want("(")
	start := p.peek().pos
	c.Check = p.expr()
	c.Text = strings.TrimSpace(p.text[start:p.peek().pos])
	p.want(")")
}

func (p *parser) references(c *Constraint) {
	p.wantWord("references")
	c.RefTable = p.table()
	if p.isSymbol("(") {
		c.RefCols = p.names()
	}
	for p.word("on") {
		if !p.word("delete") {
			p.wantWord("update")
		}
		if !p.word("no", "action") {
			p.fail("a foreign key that does something")
		}
	}
}

func (p *parser) column() Column {
	c := Column{Name: p.name()}
	c.Type = p.dataType()
	for {
		name := ""
		if p.word("constraint") {
			name = p.name()
		}
		switch {
		case p.word("not", "null"):
			c.NotNull = true
		case p.word("null"):
		case p.word("identity"):
			c.Identity, c.NotNull, c.Seed, c.Step = true, true, 1, 1
			if p.symbol("(") {
				c.Seed = p.integer()
				p.want(",")
				c.Step = p.integer()
				p.want(")")
			}
		case p.word("primary", "key"):
			p.clustering()
			c.Primary, c.NotNull = true, true
		case p.word("unique"):
			p.clustering()
			c.Unique = true
		case p.word("default"):
			start := p.peek().pos
			c.Default = p.sum()
			c.DefaultText = strings.TrimSpace(p.text[start:p.peek().pos])
		case p.word("check"):
			c.Check = &Constraint{Name: name}
			p.check(c.Check)
		case p.isWord("references"):
			c.References = &Constraint{Name: name, Kind: "foreign", Cols: []string{c.Name}}
			p.references(c.References)
		default:
			if name != "" {
				p.unexpected()
			}
			return c
		}
	}
}

func (p *parser) integer() int64 {
	negative := p.symbol("-")
	n, err := strconv.ParseInt(p.peek().text, 10, 64)
	if err != nil || p.peek().kind != tokNumber {
		p.unexpected()
	}
	p.take()
	if negative {
		return -n
	}
	return n
}

func (p *parser) alter() Stmt {
	if !p.word("table") {
		p.fail("this ALTER")
	}
	s := &AlterTable{Table: p.table()}
	switch {
	case p.word("add"):
		if c := p.constraint(); c != nil {
			s.Action, s.Constr = "add constraint", c
			return s
		}
		s.Action, s.Col = "add", p.column()
	case p.word("alter", "column"):
		s.Action, s.Col = "alter", p.column()
	case p.word("drop", "column"):
		s.Action, s.Names = "drop column", []string{p.name()}
	case p.word("drop"):
		p.word("constraint")
		s.Action, s.Names = "drop constraint", []string{p.name()}
	default:
		p.fail("this ALTER TABLE")
	}
	if p.isSymbol(",") {
		p.fail("an ALTER TABLE of several")
	}
	return s
}

func (p *parser) drop() Stmt {
	switch {
	case p.word("table"):
		s := &DropTable{IfExists: p.word("if", "exists")}
		s.Tables = append(s.Tables, p.table())
		for p.symbol(",") {
			s.Tables = append(s.Tables, p.table())
		}
		return s
	case p.word("index"):
		s := &DropIndex{IfExists: p.word("if", "exists")}
		path := p.path()
		s.Name = path[len(path)-1]
		if len(path) > 1 {
			s.Table = &Table{Parts: path[:len(path)-1]}
			return s
		}
		p.wantWord("on")
		s.Table = p.table()
		return s
	}
	p.fail("this DROP")
	return nil
}
