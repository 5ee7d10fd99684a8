package matrix

import (
	"regexp"
	"strings"
)

// statement is one statement as the server that ran it logged it.
type statement struct {
	server  string // cluster_name
	pid     int    // of the backend
	text    string
	refused string // the server's error
	tx      txKind // the transaction that it ran in
}

// txKind is a transaction that a statement runs in.
type txKind uint8

const (
	noTx txKind = iota
	mayWrite
	readOnly
)

func (s statement) primary() bool { return s.server == "primary" }

// letter is the server's in the transcript, where the replicas are all one.
func (s statement) letter() string {
	if s.primary() {
		return "P"
	}
	return "R"
}

// place is the server with the transaction.
func (s statement) place() string {
	switch {
	case s.tx == mayWrite:
		return s.letter() + "(tx)"
	case s.tx == readOnly:
		return s.letter() + "(ro)"
	default:
		return s.letter()
	}
}

// verb is the first word.
func (s statement) verb() string {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(s.text)), " ")
	return strings.TrimRight(word, ";")
}

func (s statement) begins() bool { return s.verb() == "begin" || s.verb() == "start" }

func (s statement) ends() bool {
	return s.verb() == "commit" || s.verb() == "rollback" && !strings.HasPrefix(strings.ToLower(s.text), "rollback to")
}

// control: the statement begins or ends a transaction or a part of one, and has no letter.
func (s statement) control() bool {
	switch s.verb() {
	case "begin", "start", "commit", "rollback", "savepoint", "release":
		return true
	}
	return false
}

var (
	blanks    = regexp.MustCompile(`\s+`)
	addresses = regexp.MustCompile(`\bsp\d{4,}`)
)

// shown is a text as the transcript shows it: without quotes, one line, short.
func shown(text string, width int) string {
	text = strings.ReplaceAll(text, `"`, "")
	text = addresses.ReplaceAllString(text, "sp")
	text = strings.TrimSpace(blanks.ReplaceAllString(text, " "))
	if runes := []rune(text); len(runes) > width {
		text = string(runes[:width-1]) + "…"
	}
	return text
}
