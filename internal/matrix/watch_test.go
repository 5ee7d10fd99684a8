package matrix

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm/logger"

	"github.com/readsplit/readsplit/testenv"
)

// watch reads what the servers log. A server writes the line of a statement before it runs it, so whoever has the
// statement's answer finds the line in the file. What the servers wrote is put into one order by reading after every
// statement of GORM: the watch is GORM's logger.
type watch struct {
	mu       sync.Mutex
	database string
	logs     []*serverLog
	open     map[backend]txKind
	found    []statement
	refusal  string // the newest error
}

type backend struct {
	server string
	pid    int
}

func newWatch(c *testenv.Cluster) (*watch, error) {
	w := &watch{open: map[backend]txKind{}}
	for _, s := range c.Servers() {
		f, err := os.Open(s.LogFile())
		if err != nil {
			return nil, err
		}
		w.logs = append(w.logs, &serverLog{server: s.Name(), file: f})
	}
	return w, nil
}

func (w *watch) close() {
	for _, l := range w.logs {
		_ = l.file.Close()
	}
}

// begin forgets what was found and what the logs hold by now. From here on the statements in this database count.
func (w *watch) begin(database string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.read(); err != nil {
		return err
	}
	w.database, w.found = database, nil
	return nil
}

// end returns the statements since begin.
func (w *watch) end() ([]statement, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.read()
	found := w.found
	w.found = nil
	return found, err
}

// read takes in what was written since it was called last.
func (w *watch) read() error {
	news := make([][]entry, len(w.logs))
	for i, l := range w.logs {
		var err error
		if news[i], err = l.read(w.database); err != nil {
			return err
		}
	}
	for {
		first := -1
		for i := range news {
			if len(news[i]) > 0 && (first < 0 || news[i][0].before(news[first][0])) {
				first = i
			}
		}
		if first < 0 {
			return nil
		}
		w.take(news[first][0])
		news[first] = news[first][1:]
	}
}

func (w *watch) take(e entry) {
	switch e.level {
	case "LOG":
		m := ran.FindStringSubmatch(e.text)
		if m == nil || notTheirs[planned.ReplaceAllString(m[1], "")] || strings.HasPrefix(m[1], "/* readsplit: ") || strings.HasPrefix(m[1], "deallocate ") {
			return
		}
		w.add(statement{server: e.server, pid: e.pid, text: planned.ReplaceAllString(m[1], "")})
	case "ERROR":
		w.refusal = e.text // the text of its statement follows in an entry of its own
	case "STATEMENT":
		e.text = planned.ReplaceAllString(e.text, "")
		for i := len(w.found) - 1; i >= 0; i-- {
			if s := &w.found[i]; s.server == e.server && s.pid == e.pid && s.text == e.text {
				s.refused = w.refusal
				return
			}
		}
		// It was refused before it was executed, and has no line of its own.
		w.add(statement{server: e.server, pid: e.pid, text: e.text, refused: w.refusal})
	}
}

func (w *watch) add(s statement) {
	who := backend{s.server, s.pid}
	if !s.begins() && !s.ends() {
		s.tx = w.open[who]
	}
	switch {
	case s.begins() && strings.Contains(strings.ToLower(s.text), "read only"):
		w.open[who] = readOnly
	case s.begins():
		w.open[who] = mayWrite
	case s.ends():
		delete(w.open, who)
	}
	w.found = append(w.found, s)
}

// LogMode implements logger.Interface.
func (w *watch) LogMode(logger.LogLevel) logger.Interface { return w }

// Info implements logger.Interface.
func (w *watch) Info(context.Context, string, ...any) {}

// Warn implements logger.Interface.
func (w *watch) Warn(context.Context, string, ...any) {}

// Error implements logger.Interface.
func (w *watch) Error(context.Context, string, ...any) {}

// Trace implements logger.Interface: a statement has run.
func (w *watch) Trace(context.Context, time.Time, func() (string, int64), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.database != "" {
		_ = w.read() // an error comes again at the end
	}
}
