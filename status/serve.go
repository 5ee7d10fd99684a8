package status

import (
	"embed"
	"encoding/json"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed page.html page.css page.js
var assets embed.FS

// ServeHTTP serves the page, what it consists of, and what it may do, by the last part
// of the request's path.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	if strings.HasSuffix(r.URL.Path, "/") {
		p.asset(w, r, "page.html", "text/html; charset=utf-8")
		return
	}
	switch last := path.Base(r.URL.Path); last {
	case "page.css":
		p.asset(w, r, last, "text/css; charset=utf-8")
	case "page.js":
		p.asset(w, r, last, "text/javascript; charset=utf-8")
	case "status.json":
		if reads(w, r) {
			p.json(w, r)
		}
	case "events":
		if reads(w, r) {
			p.events(w, r)
		}
	case "drain", "resume", "traffic":
		p.operate(w, r, last)
	default:
		http.NotFound(w, r)
	}
}

// reads refuses what is neither GET nor HEAD.
func reads(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, "readsplit: this can only be read", http.StatusMethodNotAllowed)
	return false
}

func (p *Page) asset(w http.ResponseWriter, r *http.Request, name, kind string) {
	if !reads(w, r) {
		return
	}
	b, err := assets.ReadFile(name)
	if err != nil {
		http.NotFound(w, r) // never: it is compiled in
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(b)
}

// full is a report with the past.
type full struct {
	Report
	Every   float64   `json:"every_seconds"`
	Keep    int       `json:"keep_points"` // how many points History has at most
	History []History `json:"history,omitempty"`
}

func (p *Page) full(r *http.Request, report Report, history bool) full {
	report.MayOperate = p.opts.Authorize != nil && p.opts.Authorize(r)
	f := full{Report: report, Every: p.opts.Every.Seconds(), Keep: p.keep}
	if history {
		f.History = p.history()
	}
	return f
}

func (p *Page) json(w http.ResponseWriter, r *http.Request) {
	report, _ := p.now()
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(p.full(r, report, r.URL.Query().Has("history")))
}

// sendWithin is how long a client of the stream may take to accept one event: one that
// does not read must not hold memory for ever.
const sendWithin = 10 * time.Second

// events streams reports until the client goes away: first with the past, then without.
func (p *Page) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects them shows nothing
	out := http.NewResponseController(w)
	history := true
	for {
		report, newer := p.now()
		_ = out.SetWriteDeadline(time.Now().Add(sendWithin)) // where the server can
		b, err := json.Marshal(p.full(r, report, history))
		if err != nil {
			return
		}
		history = false
		if _, err := w.Write(append(append([]byte("data: "), b...), "\n\n"...)); err != nil {
			return
		}
		if r.Method == http.MethodHead || out.Flush() != nil {
			return
		}
		select {
		case <-newer:
		case <-r.Context().Done():
			return
		case <-p.stop:
			return
		}
	}
}
