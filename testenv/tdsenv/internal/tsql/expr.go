package tsql

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

func lower(s string) string { return strings.ToLower(s) }

func (p *parser) expr() Expr {
	defer p.enter()()
	left := p.conjunction()
	for p.word("or") {
		left = &Binary{"or", left, p.conjunction()}
	}
	return left
}

func (p *parser) conjunction() Expr {
	left := p.negation()
	for p.word("and") {
		left = &Binary{"and", left, p.negation()}
	}
	return left
}

func (p *parser) negation() Expr {
	if p.word("not") {
		defer p.enter()()
		return &Unary{"not", p.negation()}
	}
	return p.comparison()
}

var comparisons = map[string]string{"=": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "!<": ">=", "!>": "<="}

func (p *parser) comparison() Expr {
	left := p.sum()
	for {
		if op, ok := comparisons[p.peek().text]; ok && p.peek().kind == tokSymbol {
			p.take()
			if p.isWord("any") || p.isWord("all") || p.isWord("some") {
				p.fail("a comparison with ALL or ANY")
			}
			left = &Binary{op, left, p.sum()}
			continue
		}
		if p.word("is") {
			not := p.word("not")
			p.wantWord("null")
			left = &IsNull{left, not}
			continue
		}
		not := p.isWord("not", "in") || p.isWord("not", "like") || p.isWord("not", "between")
		if not {
			p.take()
		}
		switch {
		case p.word("in"):
			left = p.in(left, not)
		case p.word("like"):
			l := &Like{X: left, Pattern: p.sum(), Not: not}
			if p.word("escape") {
				l.Escape = p.sum()
			}
			left = l
		case p.word("between"):
			b := &Between{X: left, Lo: p.sum(), Not: not}
			p.wantWord("and")
			b.Hi = p.sum()
			left = b
		default:
			return left
		}
	}
}

func (p *parser) in(x Expr, not bool) Expr {
	p.want("(")
	in := &In{X: x, Not: not}
	if p.isWord("select") {
		in.Sub = p.query()
	} else {
		in.List = p.exprs()
	}
	p.want(")")
	return in
}

func (p *parser) exprs() []Expr {
	list := []Expr{p.expr()}
	for p.symbol(",") {
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) sum() Expr {
	left := p.product()
	for {
		switch t := p.peek(); {
		case t.kind == tokSymbol && slices.Contains([]string{"+", "-", "&", "|", "^"}, t.text):
			p.take()
			left = &Binary{t.text, left, p.product()}
		default:
			return left
		}
	}
}

func (p *parser) product() Expr {
	left := p.unary()
	for {
		switch t := p.peek(); {
		case t.kind == tokSymbol && slices.Contains([]string{"*", "/", "%"}, t.text):
			p.take()
			left = &Binary{t.text, left, p.unary()}
		default:
			return left
		}
	}
}

func (p *parser) unary() Expr {
	for _, op := range []string{"-", "+", "~"} {
		if p.symbol(op) {
			defer p.enter()()
			return &Unary{op, p.unary()}
		}
	}
	x := p.primary()
	if p.word("collate") {
		p.name() // there is one collation
	}
	return x
}

func (p *parser) primary() Expr {
	switch t := p.peek(); t.kind {
	case tokNumber:
		p.take()
		return numberLit(t.text)
	case tokString:
		p.take()
		kind := sqlval.VarChar
		if t.national {
			kind = sqlval.NVarChar
		}
		size := max(1, len([]rune(t.text)))
		if size > 4000 {
			size = sqlval.Max
		}
		return &Lit{t.text, sqlval.Type{Kind: kind, Size: size}}
	case tokHex:
		p.take()
		text := t.text
		if len(text)%2 == 1 {
			text = "0" + text
		}
		b, err := hex.DecodeString(text)
		if err != nil {
			p.unexpected()
		}
		return &Lit{b, sqlval.Type{Kind: sqlval.VarBinary, Size: max(1, len(b))}}
	case tokVariable:
		p.take()
		return &Var{t.text}
	case tokGlobal:
		p.take()
		return &Global{t.text}
	}
	if p.symbol("(") {
		if p.isWord("select") {
			q := p.query()
			p.want(")")
			return &Sub{q}
		}
		x := p.expr()
		p.want(")")
		return x
	}
	switch {
	case p.word("null"):
		return &Lit{nil, sqlval.NullType}
	case p.word("case"):
		return p.caseExpr()
	case p.word("exists"):
		p.want("(")
		q := p.query()
		p.want(")")
		return &Exists{q}
	case p.isWord("left") || p.isWord("right"):
		return p.call(p.take().text)
	case p.word("current_timestamp"):
		return &Call{Name: "getdate"}
	case p.word("system_user"), p.word("current_user"), p.word("session_user"):
		return &Call{Name: "suser_sname"}
	}
	path := p.path()
	if p.isSymbol("(") {
		return p.call(lower(strings.Join(path, ".")))
	}
	return &Col{path}
}

func numberLit(text string) Expr {
	if strings.ContainsAny(text, "eE") {
		f, err := strconv.ParseFloat(text, 64)
		if err == nil {
			return &Lit{f, sqlval.FloatType}
		}
	}
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return &Lit{n, sqlval.IntType}
	}
	d, ok := sqlval.ParseDec(text)
	if !ok || sqlval.TypeOf(d).Prec > 38 {
		panic(failure{sqlval.Errorf(1007, "The number '%s' is out of the range for numeric representation (maximum precision 38).", clip(text))})
	}
	return &Lit{d, sqlval.TypeOf(d)}
}

func (p *parser) caseExpr() Expr {
	defer p.enter()()
	c := &Case{}
	if !p.isWord("when") {
		c.Operand = p.expr()
	}
	for p.word("when") {
		w := When{If: p.expr()}
		p.wantWord("then")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if p.word("else") {
		c.Else = p.expr()
	}
	p.wantWord("end")
	if c.Whens == nil {
		p.unexpected()
	}
	return c
}

func (p *parser) call(name string) Expr {
	defer p.enter()()
	p.want("(")
	switch name {
	case "cast", "try_cast":
		c := &Cast{X: p.expr(), Try: name == "try_cast"}
		p.wantWord("as")
		c.To = p.dataType()
		p.want(")")
		return c
	case "convert", "try_convert":
		c := &Cast{To: p.dataType(), Try: name == "try_convert"}
		if !c.To.IsString() && c.To.Size == 1 {
			c.To.Size = 30
		}
		p.want(",")
		c.X = p.expr()
		iso := false
		if p.symbol(",") {
			n, ok := p.expr().(*Lit)
			if iso = ok && n.Value == int64(126); !ok || n.Value != int64(0) && n.Value != int64(121) && n.Value != int64(126) && n.Value != int64(127) {
				p.fail("this style of CONVERT")
			}
		}
		p.want(")")
		if iso && c.To.IsString() { // a T between date and time
			blank, t := &Lit{" ", sqlval.NVarCharType(1)}, &Lit{"T", sqlval.NVarCharType(1)}
			return &Call{Name: "replace", Args: []Expr{c, blank, t}}
		}
		return c
	case "dateadd", "datediff", "datepart", "datename":
		c := &Call{Name: name, Args: []Expr{&Lit{lower(p.take().text), sqlval.NVarCharType(20)}}}
		for p.symbol(",") {
			c.Args = append(c.Args, p.expr())
		}
		p.want(")")
		return c
	}
	c := &Call{Name: name}
	switch {
	case p.symbol("*"):
		c.Star = true
	case !p.isSymbol(")"):
		c.Distinct = p.word("distinct")
		c.Args = p.exprs()
	}
	p.want(")")
	if p.isWord("over") {
		p.fail("window functions")
	}
	return c
}
