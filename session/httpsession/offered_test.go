package httpsession

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bare is a writer that can do nothing but what every writer can.
type bare struct {
	rec   *httptest.ResponseRecorder
	calls *[]string
}

func (b bare) Header() http.Header         { return b.rec.Header() }
func (b bare) Write(p []byte) (int, error) { return b.rec.Write(p) }
func (b bare) WriteHeader(status int)      { b.rec.WriteHeader(status) }

func (b bare) called(what string) {
	*b.calls = append(*b.calls, fmt.Sprintf("%s %v", what, len(b.rec.Header()["Set-Cookie"]) > 0))
}

type (
	flushes  struct{ b bare }
	hijacks  struct{ b bare }
	reads    struct{ b bare }
	pushes   struct{ b bare }
	notifies struct{ b bare }
)

func (f flushes) Flush()            { f.b.called("flush") }
func (f flushes) FlushError() error { f.b.called("flush"); return errStop }
func (h hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	h.b.called("hijack")
	return nil, nil, nil
}
func (r reads) ReadFrom(src io.Reader) (int64, error) {
	r.b.called("read")
	return io.Copy(only{r.b}, src)
}
func (p pushes) Push(string, *http.PushOptions) error { p.b.called("push"); return nil }
func (n notifies) CloseNotify() <-chan bool           { n.b.called("notify"); return nil }

// What a writer underneath can do is what the handler is offered, in every
// combination, and each of them comes by the sessions.
func TestHandlersAreOfferedWhatTheWriterUnderneathHas(t *testing.T) {
	b := bare{}
	for name, c := range map[string]struct {
		under http.ResponseWriter
		can   int
	}{
		"nothing":  {b, 0},
		"recorder": {httptest.NewRecorder(), canFlush},
		"flush": {struct {
			bare
			flushes
		}{}, canFlush},
		"hijack": {struct {
			bare
			hijacks
		}{}, canHijack},
		"read": {struct {
			bare
			reads
		}{}, canReadFrom},
		"push": {struct {
			bare
			pushes
		}{}, canPush},
		"notify": {struct {
			bare
			notifies
		}{}, canNotify},
	} {
		require.Equal(t, c.can, abilities(c.under), name)
	}
	for can := range canAll + 1 {
		w := (&response{under: b}).with(can)
		require.Equal(t, can, abilities(w))
		require.Equal(t, can, abilities((&response{under: w}).offered()))
		_, flushError := w.(interface{ FlushError() error })
		require.Equal(t, can&canFlush != 0, flushError)
		require.Implements(t, (*io.StringWriter)(nil), w)
		require.Equal(t, beneath{w.(interface{ Unwrap() http.ResponseWriter }).Unwrap().(beneath).w}, w.(interface{ Unwrap() http.ResponseWriter }).Unwrap())
	}
	eachProtocol(t, func(t *testing.T, http2 bool) {
		want := canFlush | canHijack | canReadFrom | canNotify
		if http2 {
			want = canFlush | canPush | canNotify
		}
		got := 0
		s, _ := faked(t, Options{})
		do(t, serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = abilities(w) })), http2), "GET")
		assert.Equal(t, want, got)
	})
}

// through runs a handler that has written over a writer that can do everything, and
// returns what was called there and whether the header had the token by then.
func through(t *testing.T, under func(b bare) http.ResponseWriter, handler http.HandlerFunc) (calls []string, body string, s *Sessions) {
	t.Helper()
	s, _ = faked(t, Options{})
	b := bare{httptest.NewRecorder(), &calls}
	s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of(r).wrote("w")
		handler(w, r)
	})).ServeHTTP(under(b), httptest.NewRequest("GET", "/", nil))
	return calls, b.rec.Body.String(), s
}

func everything(b bare) http.ResponseWriter {
	return struct {
		bare
		flushes
		hijacks
		reads
		pushes
		notifies
	}{b, flushes{b}, hijacks{b}, reads{b}, pushes{b}, notifies{b}}
}

// behind hides everything, so that only http.ResponseController finds it.
type behind struct {
	bare
	under http.ResponseWriter
}

func (b behind) Unwrap() http.ResponseWriter { return b.under }

func hidden(b bare) http.ResponseWriter { return behind{b, everything(b)} }

// Each of them comes by the sessions: the token is in the header before.
func TestNothingGoesAroundTheHeader(t *testing.T) {
	for name, c := range map[string]struct {
		under   func(b bare) http.ResponseWriter
		handler http.HandlerFunc
		calls   []string
		body    string
	}{
		"flush":  {everything, func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() }, []string{"flush true"}, ""},
		"hijack": {everything, func(w http.ResponseWriter, _ *http.Request) { _, _, _ = w.(http.Hijacker).Hijack() }, []string{"hijack true"}, ""},
		"read": {everything, func(w http.ResponseWriter, _ *http.Request) {
			n, err := io.Copy(w, only2{strings.NewReader("abc")})
			assert.NoError(t, err)
			assert.EqualValues(t, 3, n)
		}, []string{"read true"}, "abc"},
		"push":   {everything, func(w http.ResponseWriter, _ *http.Request) { _ = w.(http.Pusher).Push("/x", nil) }, []string{"push false"}, ""},
		"notify": {everything, func(w http.ResponseWriter, _ *http.Request) { w.(notifiesClose).CloseNotify() }, []string{"notify false"}, ""},
		"flush by controller": {everything, func(w http.ResponseWriter, _ *http.Request) {
			assert.Equal(t, errStop, http.NewResponseController(w).Flush(), "the error of the writer underneath")
		}, []string{"flush true"}, ""},
		"flush that only a controller finds": {hidden, func(w http.ResponseWriter, _ *http.Request) {
			assert.Zero(t, abilities(w))
			assert.Equal(t, errStop, http.NewResponseController(w).Flush())
		}, []string{"flush true"}, ""},
		"hijack that only a controller finds": {hidden, func(w http.ResponseWriter, _ *http.Request) {
			_, _, err := http.NewResponseController(w).Hijack()
			assert.NoError(t, err)
		}, []string{"hijack true"}, ""},
		"write to what is unwrapped": {everything, func(w http.ResponseWriter, _ *http.Request) {
			u := w.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
			u.WriteHeader(201)
			_, _ = u.Write([]byte("abc"))
		}, nil, "abc"},
		"not supported": {func(b bare) http.ResponseWriter { return b }, func(w http.ResponseWriter, _ *http.Request) {
			c := http.NewResponseController(w)
			assert.ErrorIs(t, c.EnableFullDuplex(), http.ErrNotSupported)
			assert.ErrorIs(t, c.SetReadDeadline(time.Time{}), http.ErrNotSupported)
			assert.ErrorIs(t, c.SetWriteDeadline(time.Time{}), http.ErrNotSupported)
			_, _, err := c.Hijack()
			assert.ErrorIs(t, err, http.ErrNotSupported)
			assert.ErrorIs(t, c.Flush(), http.ErrNotSupported)
			_, _ = io.WriteString(w, "abc")
		}, nil, "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			calls, body, s := through(t, c.under, c.handler)
			assert.Equal(t, c.calls, calls)
			assert.Equal(t, c.body, body)
			assert.Equal(t, uint64(1), s.Stats().Carried)
		})
	}
}

type only2 struct{ io.Reader }

// A writer of the application's own is found by those who unwrap.
func TestUnwrapFindsTheWriterUnderneath(t *testing.T) {
	var found any
	through(t, hidden, func(w http.ResponseWriter, _ *http.Request) {
		for found == nil {
			w = w.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
			if own, ok := w.(behind); ok {
				found = own
			}
		}
	})
	require.NotNil(t, found)
}
