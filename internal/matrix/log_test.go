package matrix

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/readsplit/readsplit/lsn"
)

// application marks the connections of the application in the servers' logs.
const application = "matrix"

// linePrefix is the servers' log_line_prefix: time in ms, backend, database, application.
const linePrefix = "@%n|%p|%d|%a|"

var (
	logLine = regexp.MustCompile(`(?s)^@(\d+)\.(\d{3})\|(\d+)\|([^|]*)\|([^|]*)\|([A-Z]+):  (.*)$`)
	// planned is what the plugin adds to the text of a prepared statement after a change of the schema.
	planned = regexp.MustCompile(` /\* plan \d+ \*/$`)
	ran     = regexp.MustCompile(`(?s)^(?:statement|execute [^:]+): (.*)$`)
)

// notTheirs are the plugin's own questions, word for word, and what the driver asks by itself.
var notTheirs = map[string]bool{
	lsn.FullSQL: true, lsn.CaptureSQL: true, lsn.ReplaySQL: true, lsn.ConnectSQL: true, lsn.NudgeSQL: true,
	lsn.ConflictsSQL:                     true,
	"SHOW default_transaction_isolation": true,
	"-- ping":                            true, ";": true,
}

// serverLog is the log of one server, read up to a point.
type serverLog struct {
	server string
	file   *os.File
	at     int64
	rest   []byte // an entry that may go on
}

// entry is one entry of a log.
type entry struct {
	server      string
	ms          int64
	pid         int
	level, text string
}

// read returns the new entries of one database's application connections.
func (l *serverLog) read(database string) ([]entry, error) {
	more, err := io.ReadAll(io.NewSectionReader(l.file, l.at, 1<<40))
	if err != nil {
		return nil, err
	}
	l.at += int64(len(more))
	l.rest = append(l.rest, more...)
	var entries []entry
	for len(l.rest) > 0 {
		end := entryEnd(l.rest)
		if end < 0 {
			break
		}
		text := strings.ReplaceAll(strings.TrimSuffix(string(l.rest[:end]), "\n"), "\n\t", "\n")
		m := logLine.FindStringSubmatch(text)
		if m != nil && end == len(l.rest) && halfQuestion(m[7]) {
			break
		}
		l.rest = l.rest[end:]
		if m == nil || m[4] != database || m[5] != application {
			continue
		}
		ms, _ := strconv.ParseInt(m[1]+m[2], 10, 64)
		pid, _ := strconv.Atoi(m[3])
		entries = append(entries, entry{server: l.server, ms: ms, pid: pid, level: m[6], text: m[7]})
	}
	return entries, nil
}

// halfQuestion: the plugin asks while others read the log, which may show the first lines of its question alone.
func halfQuestion(text string) bool {
	m := ran.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	for q := range notTheirs {
		if q != m[1] && strings.HasPrefix(q, m[1]) {
			return true
		}
	}
	return false
}

// entryEnd is where the first entry ends: at the first line break that no tab follows. The server writes an entry in
// one piece, so one that ends with the file is whole.
func entryEnd(b []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
		if at == len(b) || b[at] != '\t' {
			return at
		}
	}
}

// before puts the next lines of two servers into order. Of one millisecond, the end of a transaction is first: GORM
// tells of it only with what comes next. Then the replicas: what is run for one statement is run there first, whether
// it is run again on the primary or a hook, or a preload, goes on there.
func (e entry) before(f entry) bool {
	if e.ms != f.ms {
		return e.ms < f.ms
	}
	return e.rank() < f.rank()
}

func (e entry) rank() int {
	primary := e.server == "primary"
	m := ran.FindStringSubmatch(e.text)
	switch {
	case primary && m != nil && (statement{text: m[1]}).ends():
		return 0
	case !primary:
		return 1
	default:
		return 2
	}
}
