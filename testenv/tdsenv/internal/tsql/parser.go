package tsql

import (
	"strings"

	"github.com/readsplit/readsplit/testenv/tdsenv/internal/sqlval"
)

// maxDepth bounds the nesting of a statement: a server has a bound too, and Go's stack ends the
// process.
const maxDepth = 200

type parser struct {
	text   string
	tokens []token
	at     int
	depth  int
}

// failure carries an error out of the descent.
type failure struct{ err *sqlval.Error }

// Parse reads a batch.
func Parse(text string) (stmts []Stmt, err error) {
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	defer p.recover(&err)
	for {
		for p.symbol(";") {
			continue
		}
		if p.peek().kind == tokEnd {
			return stmts, nil
		}
		stmts = append(stmts, p.statement()...)
	}
}

// ParseParams reads the declarations that sp_executesql has as its second argument.
func ParseParams(text string) (params []Declare, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p, err := newParser(text)
	if err != nil {
		return nil, err
	}
	defer p.recover(&err)
	for {
		d := Declare{Name: p.variable()}
		p.word("as")
		d.Type = p.dataType()
		if p.word("output") || p.word("out") {
			p.fail("an OUTPUT parameter")
		}
		params = append(params, d)
		if !p.symbol(",") {
			break
		}
	}
	if p.peek().kind != tokEnd {
		p.unexpected()
	}
	return params, nil
}

func newParser(text string) (*parser, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	return &parser{text: text, tokens: tokens}, nil
}

func (p *parser) recover(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.err
	default:
		panic(r)
	}
}

func (p *parser) enter() func() {
	if p.depth++; p.depth > maxDepth {
		panic(failure{sqlval.Errorf(191, "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.")})
	}
	return func() { p.depth-- }
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) peekAt(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokEnd {
		p.at++
	}
	return t
}

// fail says what the double does not model, and where in the text it stands.
func (p *parser) fail(what string) {
	panic(failure{sqlval.NotModelled("%s, near '%s'", what, clip(p.text[p.peek().pos:]))})
}

func (p *parser) unexpected() {
	t := p.peek()
	e := sqlval.Errorf(102, "Incorrect syntax near '%s', or nothing that the double models: '%s'.", t.raw, clip(p.text[t.pos:]))
	e.Class = 15
	panic(failure{e})
}

// isWord says whether the next tokens are these words.
func (p *parser) isWord(words ...string) bool {
	for i, w := range words {
		if t := p.peekAt(i); t.kind != tokWord || t.text != w {
			return false
		}
	}
	return true
}

func (p *parser) word(words ...string) bool {
	if !p.isWord(words...) {
		return false
	}
	p.at += len(words)
	return true
}

func (p *parser) wantWord(words ...string) {
	if !p.word(words...) {
		p.unexpected()
	}
}

func (p *parser) isSymbol(s string) bool {
	t := p.peek()
	return t.kind == tokSymbol && t.text == s
}

func (p *parser) symbol(s string) bool {
	if p.isSymbol(s) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(s string) {
	if !p.symbol(s) {
		p.unexpected()
	}
}

func (p *parser) variable() string {
	if p.peek().kind != tokVariable {
		p.unexpected()
	}
	return p.take().text
}

var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`all alter and as asc begin between by case check commit constraint create cross declare
		default delete desc distinct drop else end escape exec execute exists fetch for foreign from full group having if in
		inner insert into is join left like merge not null offset on option or order outer output primary print raiserror
		references right rollback save select set table then throw top truncate union unique update use using values waitfor when
		where with`) {
		reserved[w] = true
	}
}

// isName says whether the next token can be the name of something.
func (p *parser) isName() bool {
	t := p.peek()
	return t.kind == tokQuoted || t.kind == tokWord && !reserved[t.text]
}

func (p *parser) name() string {
	if !p.isName() {
		p.unexpected()
	}
	t := p.take()
	if t.kind == tokWord {
		return t.raw
	}
	return t.text
}

// path reads a.b.c; an empty part (a..b) is the default.
func (p *parser) path() []string {
	parts := []string{p.name()}
	for p.symbol(".") {
		if p.isSymbol(".") {
			parts = append(parts, "")
			continue
		}
		if t := p.peek(); t.kind == tokWord && reserved[t.text] { // after a dot every word is a name
			parts = append(parts, p.take().raw)
			continue
		}
		parts = append(parts, p.name())
	}
	return parts
}

func (p *parser) names() []string {
	p.want("(")
	names := []string{p.name()}
	for p.direction(); p.symbol(","); p.direction() {
		names = append(names, p.name())
	}
	p.want(")")
	return names
}

// direction passes ASC and DESC of an index' column.
func (p *parser) direction() {
	if !p.word("asc") {
		p.word("desc")
	}
}

func (p *parser) table() *Table {
	t := &Table{Parts: p.path()}
	if len(t.Parts) > 3 {
		p.fail("a name of four parts")
	}
	return t
}
