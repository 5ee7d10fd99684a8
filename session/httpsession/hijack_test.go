package httpsession

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Who takes the connection over may write what stands in the header, or not. It is
// counted, and what is written afterwards too.
func TestHijack(t *testing.T) {
	for name, hijack := range map[string]func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error){
		"interface": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) { return w.(http.Hijacker).Hijack() },
		"controller": func(w http.ResponseWriter) (net.Conn, *bufio.ReadWriter, error) {
			return http.NewResponseController(w).Hijack()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := faked(t, Options{})
			done := make(chan struct{})
			server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(done)
				of(r).wrote("w")
				header := w.Header()
				conn, buffered, err := hijack(w)
				if !assert.NoError(t, err) {
					return
				}
				_, _ = w.Write([]byte("refused"))
				_, _ = fmt.Fprintf(buffered, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n")
				_ = header.Write(buffered)
				_, _ = buffered.WriteString("\r\n")
				_ = buffered.Flush()
				of(r).wrote("later")
				_ = conn.Close()
			})), false)
			got := do(t, server, "GET", "Connection", "Upgrade", "Upgrade", "own")
			assert.Equal(t, 101, got.res.StatusCode)
			set, _ := tokens(got.res.Header)
			assert.Equal(t, []string{"w"}, set)
			<-done
			require.Eventually(t, func() bool { return s.handling.Load() == 0 }, wait, tick)
			assert.Equal(t, uint64(1), s.Stats().Late)
			assert.Equal(t, uint64(1), s.Stats().Hijacked)
			assert.Len(t, log.with("after its response had gone out"), 1)
		})
	}
}

// A library that writes the 101 by WriteHeader and takes the connection over then.
func TestHijackAfterSwitchingProtocols(t *testing.T) {
	s, _ := faked(t, Options{})
	server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of(r).wrote("w")
		of(r).begin() // is not waited for
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "own")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, _, err := w.(http.Hijacker).Hijack()
		if assert.NoError(t, err) {
			_ = conn.Close()
		}
	})), false)
	got := do(t, server, "GET", "Connection", "Upgrade", "Upgrade", "own")
	assert.Equal(t, 101, got.res.StatusCode)
	set, _ := tokens(got.res.Header)
	assert.Equal(t, []string{"w." + unsure}, set)
	assert.Zero(t, s.Stats().Hijacked, "it went out before")
}

// HTTP/2 cannot give a connection away: the response is still to come.
func TestHijackThatFails(t *testing.T) {
	s, _ := faked(t, Options{})
	server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of(r).wrote("w")
		_, is := w.(http.Hijacker)
		assert.False(t, is)
		_, _, err := http.NewResponseController(w).Hijack()
		assert.ErrorIs(t, err, http.ErrNotSupported)
		of(r).wrote("v")
		w.WriteHeader(http.StatusOK)
	})), true)
	got := do(t, server, "GET")
	set, _ := tokens(got.res.Header)
	assert.Equal(t, []string{"v.w"}, set, "the last time counts, alone")
	assert.Equal(t, uint64(1), s.Stats().Carried)
	assert.Zero(t, s.Stats().Hijacked)
}

// The header that was held goes out before the connection is given away.
func TestHijackOfAHeldResponse(t *testing.T) {
	s, _ := faked(t, Options{})
	server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of(r).begin()
		w.Header().Set("Content-Length", "4")
		w.WriteHeader(http.StatusCreated)
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		_, _ = buffered.WriteString("more")
		_ = buffered.Flush()
		_ = conn.Close()
	})), false)
	got := do(t, server, "POST")
	assert.Equal(t, http.StatusCreated, got.res.StatusCode)
	assert.Equal(t, "more", got.body)
	set, _ := tokens(got.res.Header)
	assert.Equal(t, []string{unsure}, set)
}
