package httpsession

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
)

// http.TimeoutHandler inside of the sessions: the transaction that it leaves behind is
// told as a doubt.
func TestTimeoutHandlerLeavesATransactionOpen(t *testing.T) {
	s, log := faked(t, Options{})
	gone := make(chan struct{})
	slow := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		of(r).begin()
		<-gone
	})
	server := serve(t, s.Handler(http.TimeoutHandler(slow, tick, "too slow")), false)
	defer close(gone)
	got := do(t, server, "POST")
	assert.Equal(t, 503, got.res.StatusCode)
	assert.Equal(t, "too slow", got.body)
	set, _ := tokens(got.res.Header)
	assert.Equal(t, []string{unsure}, set)
	assert.Equal(t, uint64(1), s.Stats().OpenAtReturn)
	assert.Len(t, log.with("was still open when the response was complete"), 1)
}

// While a response is held its writer says what the server's would say.
func TestHeldResponseRefusesABody(t *testing.T) {
	for _, status := range []int{204, 304, 200} {
		s, _ := faked(t, Options{})
		server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			of(r).begin()
			defer of(r).commit("w")
			w.WriteHeader(status)
			n, err := io.WriteString(w, "body")
			if status == 200 {
				assert.Equal(t, 4, n)
				assert.NoError(t, err)
			} else {
				assert.Zero(t, n)
				assert.ErrorIs(t, err, http.ErrBodyNotAllowed)
			}
		})), false)
		assert.Equal(t, status, do(t, server, "POST").res.StatusCode)
	}
}

// A transaction that a middleware has begun without the context of its request may be
// this request's. It is waited for until the handler has returned, and no longer: it may
// be another's.
func TestTransactionsOfNobodyAreWaitedFor(t *testing.T) {
	for name, c := range map[string]struct {
		method  string
		handler func(w http.ResponseWriter, f *fake)
		want    []string
		held    uint64
	}{
		"committed before the handler returns": {http.MethodPost, func(w http.ResponseWriter, f *fake) {
			f.nobody(1)
			_, _ = w.Write([]byte("held"))
			f.nobody(-1)
			f.wrote("w")
		}, []string{"w"}, 1},
		"another's": {http.MethodPost, func(w http.ResponseWriter, f *fake) {
			f.nobody(1)
			_, _ = w.Write([]byte("held"))
			f.wrote("w")
		}, []string{"w"}, 1},
		"flushed": {http.MethodPost, func(w http.ResponseWriter, f *fake) {
			f.nobody(1)
			_ = http.NewResponseController(w).Flush()
			f.nobody(-1)
		}, []string{unsure}, 0},
		"of a GET": {http.MethodGet, func(w http.ResponseWriter, f *fake) {
			f.nobody(1)
			_, _ = w.Write([]byte("sent"))
		}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := faked(t, Options{})
			server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.handler(w, of(r)) })), false)
			set, _ := tokens(do(t, server, c.method).res.Header)
			assert.Equal(t, c.want, set)
			assert.Equal(t, c.held, s.Stats().Held)
			assert.Zero(t, s.Stats().OpenAtReturn)
		})
	}
}
