package httpsession

import (
	"io"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
)

// response is the writer that a handler gets. It puts the token into the header at
// the last moment at which that is possible, and while a transaction of the request
// is open it keeps the response back, so that this moment is after its commit.
type response struct {
	under http.ResponseWriter
	rq    *request

	phase atomic.Int32
	mu    sync.Mutex // until the header has gone out
	// What is kept back: the header as it was when it was written, the status (0:
	// none was given) and the body.
	header http.Header
	status int
	body   []byte
}

const (
	open   int32 = iota // nothing was written
	held                // something was, and is kept back
	sent                // the header has gone out
	seized              // the connection was taken over
)

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header { return w.under.Header() }

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if w.phase.Load() >= sent || status < 100 || status > 999 {
		w.under.WriteHeader(status) // superfluous or wrong: that is for the server to say
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case status < 200 && status != http.StatusSwitchingProtocols:
		if w.phase.Load() == open {
			w.under.WriteHeader(status) // informational: the header is still to come
		}
		return
	case w.phase.Load() == held:
		return // superfluous
	case w.phase.Load() == open:
		// After a change of protocol nobody waits for a response.
		if w.mustWait() && status != http.StatusSwitchingProtocols {
			w.hold(status)
			return
		}
		w.tell()
	}
	w.under.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.keeps(len(p)) {
		return w.append(p)
	}
	return w.under.Write(p)
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(s string) (int, error) {
	if w.keeps(len(s)) {
		return w.append([]byte(s))
	}
	return io.WriteString(w.under, s)
}

// keeps begins the response, if need be, and reports whether n bytes of its body are
// to be kept back. If so, the caller holds mu.
func (w *response) keeps(n int) bool {
	if w.phase.Load() >= sent {
		return false
	}
	w.mu.Lock()
	switch w.phase.Load() {
	case open:
		if w.mustWait() && n <= w.rq.of.opts.Hold {
			w.hold(0)
			return true
		}
		w.tell()
	case held:
		if w.mustWait() && len(w.body)+n <= w.rq.of.opts.Hold {
			return true
		}
		w.release()
	}
	w.mu.Unlock()
	return false
}

// append keeps bytes of the body back. The caller holds mu, which is given back.
func (w *response) append(p []byte) (int, error) {
	defer w.mu.Unlock()
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// mustWait reports whether what the header has to say is not known yet.
func (w *response) mustWait() bool {
	return w.rq.of.opts.Hold >= 0 && w.rq.session.InTransaction()
}

// hold begins to keep the response back. What the handler changes in the header from
// now on is not of this response, except for trailers.
func (w *response) hold(status int) {
	w.rq.of.counters.held.Add(1)
	w.status, w.header = status, w.under.Header().Clone()
	w.phase.Store(held)
}

// tell puts the token into the header, which goes out next.
func (w *response) tell() {
	now := w.rq.session.InTransaction()
	if now {
		w.rq.of.counters.sentTooEarly.Add(1)
		w.rq.of.mistake(sentTooEarly, w.rq.place(), remedyEarly)
	}
	w.rq.tell(w.under.Header(), now)
	w.phase.Store(sent)
}

// release lets go of what was kept back.
func (w *response) release() {
	h := w.under.Header()
	later := h.Clone()
	replace(h, w.header)
	w.tell()
	status, body := w.status, w.body
	w.header, w.body = nil, nil
	if status != 0 || len(body) == 0 {
		w.under.WriteHeader(max(status, http.StatusOK))
	}
	if len(body) > 0 {
		_, _ = w.under.Write(body) // the next Write fails as this one did
	}
	replace(h, later)
}

// replace makes h, which others hold, what other is.
func replace(h, other http.Header) {
	clear(h)
	maps.Copy(h, other)
}

// flush sends what there is.
func (w *response) flush() error {
	w.begin()
	return http.NewResponseController(w.under).Flush()
}

// begin sends the header, if it has not gone out.
func (w *response) begin() {
	if w.phase.Load() >= sent {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.phase.Load() {
	case open:
		w.tell()
	case held:
		w.release()
	}
}

// end ends the response after the handler has returned, or was left by a panic: then
// what was kept back is dropped, as if it had not been written, and whoever answers
// for the handler has the token in the header.
func (w *response) end(panics bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rq := w.rq
	if rq.session.InTransaction() && w.phase.Load() != seized {
		rq.of.counters.openAtReturn.Add(1)
		rq.of.mistake(openAtReturn, rq.place(), remedyOrder)
	}
	switch w.phase.Load() {
	case held:
		if !panics {
			w.release()
			return
		}
		w.header, w.body = nil, nil
		fallthrough
	case open:
		rq.tell(w.under.Header(), rq.session.InTransaction())
		w.phase.Store(sent)
	default:
		late, covered := rq.late()
		if late && !covered {
			rq.of.counters.late.Add(1)
			rq.of.mistake(wroteLate, rq.place(), remedyLate)
		}
		if late {
			rq.keep(rq.export(false)) // the store can still be told
		}
	}
}
