package httpsession

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// Code asks a writer what it can do by asserting interfaces. So each handler is
// offered what the writer underneath has, and nothing else: a Flush that does nothing
// would be taken for one that does.

type flusher struct{ w *response }

// Flush implements http.Flusher.
func (f flusher) Flush() { _ = f.w.flush() }

// FlushError is what http.ResponseController calls.
func (f flusher) FlushError() error { return f.w.flush() }

type hijacker struct{ w *response }

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.w.hijack() }

type readerFrom struct{ w *response }

// ReadFrom implements io.ReaderFrom.
func (r readerFrom) ReadFrom(src io.Reader) (int64, error) { return r.w.readFrom(src) }

type pusher struct{ w *response }

// Push implements http.Pusher.
func (p pusher) Push(target string, opts *http.PushOptions) error {
	return p.w.under.(http.Pusher).Push(target, opts)
}

type closeNotifier struct{ w *response }

// notifiesClose is http.CloseNotifier, which is deprecated and which frameworks assert
// all the same.
type notifiesClose interface{ CloseNotify() <-chan bool }

// CloseNotify implements http.CloseNotifier.
func (c closeNotifier) CloseNotify() <-chan bool { return c.w.under.(notifiesClose).CloseNotify() }

// What a writer can do beside writing.
const (
	canFlush = 1 << iota
	canHijack
	canReadFrom
	canPush
	canNotify
	canAll = 1<<iota - 1
)

func abilities(w http.ResponseWriter) (can int) {
	if _, ok := w.(http.Flusher); ok {
		can |= canFlush
	}
	if _, ok := w.(http.Hijacker); ok {
		can |= canHijack
	}
	if _, ok := w.(io.ReaderFrom); ok {
		can |= canReadFrom
	}
	if _, ok := w.(http.Pusher); ok {
		can |= canPush
	}
	if _, ok := w.(notifiesClose); ok {
		can |= canNotify
	}
	return can
}

// offered returns w with the optional interfaces of the writer underneath.
func (w *response) offered() http.ResponseWriter { return w.with(abilities(w.under)) }

func (w *response) with(can int) http.ResponseWriter {
	f, h, r, p, c := flusher{w}, hijacker{w}, readerFrom{w}, pusher{w}, closeNotifier{w}
	switch can {
	case canFlush:
		return struct {
			*response
			flusher
		}{w, f}
	case canHijack:
		return struct {
			*response
			hijacker
		}{w, h}
	case canFlush | canHijack:
		return struct {
			*response
			flusher
			hijacker
		}{w, f, h}
	case canReadFrom:
		return struct {
			*response
			readerFrom
		}{w, r}
	case canFlush | canReadFrom:
		return struct {
			*response
			flusher
			readerFrom
		}{w, f, r}
	case canHijack | canReadFrom:
		return struct {
			*response
			hijacker
			readerFrom
		}{w, h, r}
	case canFlush | canHijack | canReadFrom:
		return struct {
			*response
			flusher
			hijacker
			readerFrom
		}{w, f, h, r}
	case canPush:
		return struct {
			*response
			pusher
		}{w, p}
	case canFlush | canPush:
		return struct {
			*response
			flusher
			pusher
		}{w, f, p}
	case canHijack | canPush:
		return struct {
			*response
			hijacker
			pusher
		}{w, h, p}
	case canFlush | canHijack | canPush:
		return struct {
			*response
			flusher
			hijacker
			pusher
		}{w, f, h, p}
	case canReadFrom | canPush:
		return struct {
			*response
			readerFrom
			pusher
		}{w, r, p}
	case canFlush | canReadFrom | canPush:
		return struct {
			*response
			flusher
			readerFrom
			pusher
		}{w, f, r, p}
	case canHijack | canReadFrom | canPush:
		return struct {
			*response
			hijacker
			readerFrom
			pusher
		}{w, h, r, p}
	case canFlush | canHijack | canReadFrom | canPush:
		return struct {
			*response
			flusher
			hijacker
			readerFrom
			pusher
		}{w, f, h, r, p}
	case canNotify:
		return struct {
			*response
			closeNotifier
		}{w, c}
	case canFlush | canNotify:
		return struct {
			*response
			flusher
			closeNotifier
		}{w, f, c}
	case canHijack | canNotify:
		return struct {
			*response
			hijacker
			closeNotifier
		}{w, h, c}
	case canFlush | canHijack | canNotify:
		return struct {
			*response
			flusher
			hijacker
			closeNotifier
		}{w, f, h, c}
	case canReadFrom | canNotify:
		return struct {
			*response
			readerFrom
			closeNotifier
		}{w, r, c}
	case canFlush | canReadFrom | canNotify:
		return struct {
			*response
			flusher
			readerFrom
			closeNotifier
		}{w, f, r, c}
	case canHijack | canReadFrom | canNotify:
		return struct {
			*response
			hijacker
			readerFrom
			closeNotifier
		}{w, h, r, c}
	case canFlush | canHijack | canReadFrom | canNotify:
		return struct {
			*response
			flusher
			hijacker
			readerFrom
			closeNotifier
		}{w, f, h, r, c}
	case canPush | canNotify:
		return struct {
			*response
			pusher
			closeNotifier
		}{w, p, c}
	case canFlush | canPush | canNotify:
		return struct {
			*response
			flusher
			pusher
			closeNotifier
		}{w, f, p, c}
	case canHijack | canPush | canNotify:
		return struct {
			*response
			hijacker
			pusher
			closeNotifier
		}{w, h, p, c}
	case canFlush | canHijack | canPush | canNotify:
		return struct {
			*response
			flusher
			hijacker
			pusher
			closeNotifier
		}{w, f, h, p, c}
	case canReadFrom | canPush | canNotify:
		return struct {
			*response
			readerFrom
			pusher
			closeNotifier
		}{w, r, p, c}
	case canFlush | canReadFrom | canPush | canNotify:
		return struct {
			*response
			flusher
			readerFrom
			pusher
			closeNotifier
		}{w, f, r, p, c}
	case canHijack | canReadFrom | canPush | canNotify:
		return struct {
			*response
			hijacker
			readerFrom
			pusher
			closeNotifier
		}{w, h, r, p, c}
	case canFlush | canHijack | canReadFrom | canPush | canNotify:
		return struct {
			*response
			flusher
			hijacker
			readerFrom
			pusher
			closeNotifier
		}{w, f, h, r, p, c}
	}
	return w
}
