package tsql

import (
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// statement reads one statement, or several that a block or a DECLARE of several holds.
func (p *parser) statement() []Stmt {
	defer p.enter()()
	t := p.peek()
	if t.kind != tokWord {
		p.unexpected()
	}
	one := func(s Stmt) []Stmt { return []Stmt{s} }
	switch {
	case p.isWord("select"):
		return one(p.query())
	case p.word("insert"):
		return one(p.insert())
	case p.word("update"):
		return one(p.update())
	case p.word("delete"):
		return one(p.delete())
	case p.word("merge"):
		return one(p.merge())
	case p.word("create"):
		return one(p.create())
	case p.word("alter"):
		return one(p.alter())
	case p.word("drop"):
		return one(p.drop())
	case p.word("truncate", "table"):
		return one(&Truncate{p.table()})
	case p.word("begin", "tran"), p.word("begin", "transaction"):
		return one(&Begin{p.transactionName()})
	case p.isWord("begin", "try"), p.isWord("begin", "catch"):
		p.fail("TRY and CATCH")
	case p.word("begin"):
		return p.block()
	case p.word("commit"):
		return one(&Commit{p.ending()})
	case p.word("rollback"):
		return one(&Rollback{p.ending()})
	case p.word("save", "tran"), p.word("save", "transaction"):
		name := p.transactionName()
		if name == "" {
			p.unexpected()
		}
		return one(&Save{name})
	case p.word("set"):
		return one(p.set())
	case p.word("declare"):
		return p.declare()
	case p.word("if"):
		s := &If{Cond: p.expr()}
		s.Then = p.statement()
		if p.symbol(";"); p.word("else") {
			s.Else = p.statement()
		}
		return one(s)
	case p.word("waitfor", "delay"):
		return one(&WaitFor{p.primary()})
	case p.word("use"):
		return one(&Use{p.name()})
	case p.word("exec"), p.word("execute"):
		return one(p.exec())
	case p.word("print"):
		return one(&Print{p.expr()})
	case p.word("throw"):
		s := &Raise{Number: p.sum()}
		p.want(",")
		s.Message = p.sum()
		p.want(",")
		s.State = p.sum()
		return one(s)
	case p.word("raiserror"):
		p.want("(")
		s := &Raise{Message: p.sum()}
		p.want(",")
		s.Class = p.sum()
		p.want(",")
		s.State = p.sum()
		p.want(")")
		return one(s)
	case strings.HasPrefix(t.text, "sp_"): // a procedure may stand first without EXEC
		return one(p.exec())
	}
	p.unexpected()
	return nil
}

func (p *parser) block() []Stmt {
	var stmts []Stmt
	for {
		for p.symbol(";") {
			continue
		}
		if p.word("end") {
			return stmts
		}
		stmts = append(stmts, p.statement()...)
	}
}

func (p *parser) ending() string {
	if !p.word("tran") && !p.word("transaction") {
		p.word("work")
		return ""
	}
	return p.transactionName()
}

func (p *parser) transactionName() string {
	if p.isName() {
		return p.name()
	}
	return ""
}

func (p *parser) declare() []Stmt {
	var stmts []Stmt
	for {
		d := &Declare{Name: p.variable()}
		p.word("as")
		d.Type = p.dataType()
		if p.symbol("=") {
			d.Init = p.expr()
		}
		stmts = append(stmts, d)
		if !p.symbol(",") {
			return stmts
		}
	}
}

func (p *parser) set() Stmt {
	if p.peek().kind == tokVariable {
		name := p.take().text
		p.want("=")
		return &SetVar{Set{name, p.expr()}}
	}
	switch {
	case p.word("transaction", "isolation", "level"):
		for _, level := range []string{"read uncommitted", "read committed", "repeatable read", "serializable", "snapshot"} {
			if p.word(strings.Fields(level)...) {
				return &SetOption{Name: "isolation", Value: level}
			}
		}
		p.unexpected()
	case p.word("identity_insert"):
		s := &SetOption{Name: "identity_insert", Table: p.table()}
		s.On = p.onOff()
		return s
	case p.word("lock_timeout"):
		negative := p.symbol("-")
		s := &SetOption{Name: "lock_timeout", Value: p.take().text}
		if negative {
			s.Value = "-" + s.Value
		}
		return s
	case p.word("textsize"), p.word("language"), p.word("dateformat"), p.word("datefirst"), p.word("rowcount"),
		p.word("deadlock_priority"), p.word("context_info"):
		name := p.tokens[p.at-1].text
		p.symbol("-")
		return &SetOption{Name: name, Value: p.take().text}
	}
	s := &SetOption{Name: p.peek().text}
	switch s.Name {
	case "nocount", "xact_abort", "quoted_identifier", "ansi_nulls", "ansi_padding", "ansi_warnings", "ansi_defaults",
		"ansi_null_dflt_on", "ansi_null_dflt_off", "arithabort", "concat_null_yields_null", "cursor_close_on_commit",
		"implicit_transactions", "numeric_roundabort", "fmtonly":
		p.take()
		s.On = p.onOff()
		if s.On && (s.Name == "implicit_transactions" || s.Name == "fmtonly") {
			p.fail("SET " + strings.ToUpper(s.Name) + " ON")
		}
		return s
	}
	p.fail("this SET")
	return nil
}

func (p *parser) onOff() bool {
	if p.word("on") {
		return true
	}
	p.wantWord("off")
	return false
}

func (p *parser) exec() Stmt {
	if !p.isName() {
		p.fail("EXEC of a text or a variable")
	}
	s := &Exec{Proc: lower(strings.Join(p.path(), "."))}
	for !p.isSymbol(";") && p.peek().kind != tokEnd {
		var a Arg
		if p.peek().kind == tokVariable && p.peekAt(1).text == "=" {
			a.Name = p.take().text
			p.take()
		}
		a.Value = p.primary()
		if c, ok := a.Value.(*Col); ok { // a bare word is a string here
			a.Value = &Lit{c.Parts[len(c.Parts)-1], sqlval.NVarCharType(4000)}
		}
		if p.isWord("output") || p.isWord("out") {
			p.fail("an OUTPUT argument")
		}
		s.Args = append(s.Args, a)
		if !p.symbol(",") {
			break
		}
	}
	return s
}
