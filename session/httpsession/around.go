package httpsession

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"time"
)

// Unwrap is how http.ResponseController finds what the writer underneath can do. What
// sends something comes by here all the same.
func (w *response) Unwrap() http.ResponseWriter { return beneath{w} }

// beneath is the writer underneath for http.ResponseController: it can do all that one
// asks for, wherever in the chain of writers it is done.
type beneath struct{ w *response }

// Header implements http.ResponseWriter.
func (b beneath) Header() http.Header { return b.w.Header() }

// WriteHeader implements http.ResponseWriter.
func (b beneath) WriteHeader(status int) { b.w.WriteHeader(status) }

// Write implements http.ResponseWriter.
func (b beneath) Write(p []byte) (int, error) { return b.w.Write(p) }

// FlushError is what http.ResponseController calls.
func (b beneath) FlushError() error { return b.w.flush() }

// Hijack implements http.Hijacker.
func (b beneath) Hijack() (net.Conn, *bufio.ReadWriter, error) { return b.w.hijack() }

func (b beneath) below() *http.ResponseController { return http.NewResponseController(b.w.under) }

// SetReadDeadline is what http.ResponseController calls.
func (b beneath) SetReadDeadline(t time.Time) error { return b.below().SetReadDeadline(t) }

// SetWriteDeadline is what http.ResponseController calls.
func (b beneath) SetWriteDeadline(t time.Time) error { return b.below().SetWriteDeadline(t) }

// EnableFullDuplex is what http.ResponseController calls.
func (b beneath) EnableFullDuplex() error { return b.below().EnableFullDuplex() }

// Unwrap is for code that looks for a writer of its own.
func (b beneath) Unwrap() http.ResponseWriter { return b.w.under }

// hijack gives the connection away. Libraries that write the response to an upgrade by
// themselves take what stands in the header, or do not: then nothing is told.
func (w *response) hijack() (net.Conn, *bufio.ReadWriter, error) {
	if w.phase.Load() < sent {
		w.mu.Lock()
		defer w.mu.Unlock()
	}
	switch w.phase.Load() {
	case open:
		w.rq.tell(w.under.Header(), w.rq.session.InTransaction())
	case held:
		w.release()
	}
	conn, buffered, err := http.NewResponseController(w.under).Hijack()
	if err != nil {
		return conn, buffered, err // nothing was sent: the response is still to come
	}
	if w.phase.Load() == open && w.rq.spoke {
		w.rq.of.counters.hijacked.Add(1)
	}
	w.phase.Store(seized)
	return conn, buffered, nil
}

// readFrom copies a body, by sendfile where the writer underneath can.
func (w *response) readFrom(src io.Reader) (int64, error) {
	if w.keeps(0) {
		w.mu.Unlock()
	}
	var kept int64
	for w.phase.Load() < sent {
		if n, err := io.CopyN(only{w}, src, chunk); err != nil {
			if err == io.EOF {
				err = nil
			}
			return kept + n, err
		} else {
			kept += n
		}
	}
	n, err := w.under.(io.ReaderFrom).ReadFrom(src)
	return kept + n, err
}

// chunk is how much is copied at once while a response is kept back.
const chunk = 4 << 10

// only hides all but Write.
type only struct{ io.Writer }
