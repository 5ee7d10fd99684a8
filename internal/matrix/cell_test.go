package matrix

import (
	"fmt"
	"regexp"
	"strings"
)

// Where the statements of a cell belong, as a regular expression over one letter for each statement in the order in
// which they ran: P for the primary, R for a replica, p and r for one that the server refused. BEGIN, COMMIT, ROLLBACK
// and savepoints have no letter; the rules that hold for all cells judge them.
const (
	reads   = `R+` // all of it on replicas
	writes  = `P+` // all of it on the primary
	nothing = ``   // nothing is sent
)

// cell is one entry point of GORM.
type cell struct {
	area string
	call string // how the entry point is called
	want string // where its statements belong
	do   func(p *probe)

	setup  string // what the primary runs before it, past the plugin
	remove string // what the primary runs after it, past the plugin

	// apart: the statements of the cell need not run on one and the same replica.
	apart bool
	// anyOrder: GORM sends its statements in the order of a map.
	anyOrder bool
	// plainOnly: prepared statements cannot do it.
	plainOnly bool
	// unseen: a part of it goes around GORM, where no read session can refuse it.
	unseen bool
	// readSession: where it belongs in a read session, if it is no read and is not refused there.
	readSession string
	// anyReplica: where it belongs under AnyReplica, if it is no read and that pulls it away.
	anyReplica string
	// harmless: its text has words that only writes have, and does not write. The rules do not read it.
	harmless bool
}

func (c *cell) name() string { return c.area + ": " + c.call }

// area gives cells their area.
func area(name string, cells ...*cell) []*cell {
	for _, c := range cells {
		c.area = name
	}
	return cells
}

// read is a cell that belongs to replicas.
func read(call string, do func(p *probe)) *cell { return &cell{call: call, want: reads, do: do} }

// write is a cell that belongs to the primary.
func write(call string, do func(p *probe)) *cell { return &cell{call: call, want: writes, do: do} }

// none is a cell that sends nothing.
func none(call string, do func(p *probe)) *cell { return &cell{call: call, want: nothing, do: do} }

// mixed is a cell whose statements belong to several servers.
func mixed(call, want string, do func(p *probe)) *cell { return &cell{call: call, want: want, do: do} }

// with changes a cell where it is listed.
func (c *cell) with(change func(c *cell)) *cell {
	change(c)
	return c
}

// outcome is what came of one run of a cell.
type outcome struct {
	statements []statement
	failed     []string // what the cell itself found wrong
	refused    bool     // a read session refused it
	reasons    string   // the plugin's own, for whoever looks for what went wrong
}

// judge is the oracle: what is wrong with an outcome, by what the cell declares and by the rules that hold for all.
func (c *cell) judge(got outcome) []string { return c.judgeAs(c.want, got) }

func (c *cell) judgeAs(want string, got outcome) []string {
	verdict := append([]string(nil), got.failed...)
	if got.refused {
		verdict = append(verdict, "refused as in a read session")
	}
	if letters := letters(got.statements); !regexp.MustCompile(`^(?:` + want + `)$`).MatchString(letters) {
		verdict = append(verdict, fmt.Sprintf("ran on %q, belongs to %q (%s):\n%s", letters, want, got.reasons, lines(got.statements)))
	}
	return append(verdict, c.rules(got.statements)...)
}

// letters names the servers of all statements but those that begin and end transactions.
func letters(statements []statement) string {
	var b strings.Builder
	for _, s := range statements {
		if s.control() {
			continue
		}
		letter := s.letter()
		if s.refused != "" {
			letter = strings.ToLower(letter)
		}
		b.WriteString(letter)
	}
	return b.String()
}

func lines(statements []statement) string {
	var b strings.Builder
	for _, s := range statements {
		fmt.Fprintf(&b, "      %-9s %s\n", s.server, s.text)
	}
	return b.String()
}

func joined(s []string, with string) string { return strings.Join(s, with) }
