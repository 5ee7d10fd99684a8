package httpsession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve starts a server that speaks HTTP/1 or 2, quietly.
func serve(t testing.TB, h http.Handler, http2 bool) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = http2
	if http2 {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server
}

// eachProtocol runs a test with both.
func eachProtocol(t *testing.T, test func(t *testing.T, http2 bool)) {
	for name, http2 := range map[string]bool{"http1": false, "http2": true} {
		t.Run(name, func(t *testing.T) { test(t, http2) })
	}
}

type answer struct {
	res  *http.Response
	body string
}

func do(t testing.TB, server *httptest.Server, method string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/", nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := server.Client().Do(req)
	require.NoError(t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	return answer{res, string(body)}
}

// whatever is what handlers do with their writer.
func whatever(t testing.TB) map[string]http.HandlerFunc {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("from a file ", 10_000)), 0o600))
	all := map[string]http.HandlerFunc{
		"nothing":     func(http.ResponseWriter, *http.Request) {},
		"empty write": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(nil) },
		"write":       func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) },
		"string":      func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello") },
		"long": func(w http.ResponseWriter, _ *http.Request) {
			for range 40 {
				_, _ = w.Write(make([]byte, 1<<10))
			}
		},
		"error":       func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) },
		"redirect":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/orders", http.StatusSeeOther) },
		"file":        func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) },
		"flush":       func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush() },
		"flush by rc": func(w http.ResponseWriter, _ *http.Request) { _ = http.NewResponseController(w).Flush() },
		"deadline": func(w http.ResponseWriter, _ *http.Request) {
			mustNot(http.NewResponseController(w).SetWriteDeadline(far))
		},
		"twice": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			w.WriteHeader(http.StatusInternalServerError)
		},
		"own header": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Own", "1")
			w.WriteHeader(http.StatusAccepted)
		},
		"too late": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			w.Header().Set("X-Late", "1")
		},
		"length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "2")
			_, _ = w.Write([]byte("ok"))
		},
		"no type": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte("ok"))
		},
		"early hints": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusCreated)
		},
		"other cookies": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Set-Cookie", "own=1; Path=/")
			w.WriteHeader(http.StatusOK)
		},
		"events": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				_, _ = fmt.Fprintf(w, "data: %d\n\n", i)
				_ = http.NewResponseController(w).Flush()
			}
		},
		"trailer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			_, _ = w.Write([]byte("body"))
			w.Header().Set("X-Sum", "42")
			w.Header().Set(http.TrailerPrefix+"X-More", "43")
		},
		"copied": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 100_000)))
		},
	}
	for _, status := range []int{200, 201, 204, 205, 301, 302, 303, 304, 307, 400, 401, 404, 409, 500, 503} {
		all[fmt.Sprint("status ", status)] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
	}
	return all
}

func mustNot(err error) {
	if err != nil {
		panic(err)
	}
}

// plain is what a response is without our headers.
func plain(res *http.Response) http.Header {
	h := res.Header.Clone()
	h.Del("Date")
	h.Del("Cache-Control")
	var others []string
	for _, line := range h["Set-Cookie"] {
		if !strings.HasPrefix(line, defaultName) {
			others = append(others, line)
		}
	}
	if h["Set-Cookie"] = others; len(others) == 0 {
		h.Del("Set-Cookie")
	}
	return h
}

// Whatever a handler does, its response carries what it wrote before, and is what it
// would be without the sessions otherwise; a response to a request that wrote nothing
// is left exactly as it is.
func TestEveryResponseCarriesWhatWasWritten(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		for name, handler := range whatever(t) {
			t.Run(name, func(t *testing.T) {
				writes := false
				without := serve(t, handler, http2)
				s, _ := faked(t, Options{})
				with := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if writes {
						of(r).wrote("w")
					}
					handler(w, r)
				})), http2)
				for _, method := range []string{"POST", "GET", "HEAD"} {
					want := do(t, without, method)
					for _, writes = range []bool{true, false} {
						got := do(t, with, method)
						assert.Equal(t, want.res.StatusCode, got.res.StatusCode, method)
						assert.Equal(t, want.body, got.body, method)
						assert.Equal(t, plain(want.res), plain(got.res), method)
						assert.Equal(t, want.res.Trailer, got.res.Trailer, method)
						set, removed := tokens(got.res.Header)
						assert.Zero(t, removed)
						if writes {
							assert.Equal(t, []string{"w"}, set, method)
							assert.Equal(t, "private, no-store", got.res.Header.Get("Cache-Control"))
						} else {
							assert.Empty(t, set, method)
							assert.Equal(t, want.res.Header.Get("Cache-Control"), got.res.Header.Get("Cache-Control"))
						}
					}
				}
				assert.Zero(t, s.Stats().Late)
			})
		}
	})
}

// The same where a middleware inside of the sessions has a transaction open until the
// handler has returned: what its commit writes is carried by the response that was
// written before it.
func TestResponseIsHeldWhileATransactionIsOpen(t *testing.T) {
	early := map[string]bool{"flush": true, "flush by rc": true, "events": true, "long": false, "file": true, "copied": true}
	eachProtocol(t, func(t *testing.T, http2 bool) {
		for name, handler := range whatever(t) {
			t.Run(name, func(t *testing.T) {
				without := serve(t, handler, http2)
				s, log := faked(t, Options{})
				with := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					of(r).begin()
					defer of(r).commit("w")
					handler(w, r)
				})), http2)
				for _, method := range []string{"POST", "GET"} {
					want, got := do(t, without, method), do(t, with, method)
					assert.Equal(t, want.res.StatusCode, got.res.StatusCode, method)
					assert.Equal(t, want.body, got.body, method)
					wanted, gotten := plain(want.res), plain(got.res)
					if want.res.ContentLength != got.res.ContentLength && !early[name] {
						// The server knows the length of what it gets at once.
						gotten.Del("Content-Length")
						wanted.Del("Content-Length")
					}
					assert.Equal(t, wanted, gotten, method)
					assert.Equal(t, want.res.Trailer, got.res.Trailer, method)
					set, _ := tokens(got.res.Header)
					if early[name] {
						assert.Equal(t, []string{unsure}, set, method)
					} else {
						assert.Equal(t, []string{"w"}, set, method)
					}
				}
				stats := s.Stats()
				assert.Zero(t, stats.OpenAtReturn)
				assert.Equal(t, uint64(2), stats.Carried)
				if early[name] {
					assert.Equal(t, uint64(2), stats.SentTooEarly)
					assert.Zero(t, stats.Late, "the doubt covers what was committed then")
					assert.Len(t, log.with("had to go out while"), 2, "once for each place")
				} else {
					assert.Zero(t, stats.SentTooEarly)
					assert.Zero(t, stats.Late)
				}
			})
		}
	})
}

var errStop = errors.New("stop")

// A panic of the handler, http.ErrAbortHandler too, goes on, and whoever answers for it
// tells what was written before.
func TestPanicsTellWhatWasWritten(t *testing.T) {
	for name, c := range map[string]struct {
		value    any
		handler  http.HandlerFunc
		body     string
		status   int
		tells    string
		mistakes uint64
	}{
		"before anything":  {errStop, func(http.ResponseWriter, *http.Request) {}, "sorry", 500, "w", 0},
		"abort":            {http.ErrAbortHandler, func(http.ResponseWriter, *http.Request) {}, "sorry", 500, "w", 0},
		"after the header": {errStop, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }, "sorry", 201, "w", 0},
		"in a transaction": {errStop, func(w http.ResponseWriter, r *http.Request) { of(r).begin(); _, _ = w.Write([]byte("dropped")) }, "sorry", 500, "w." + unsure, 1},
		"after its rollback": {errStop, func(w http.ResponseWriter, r *http.Request) {
			of(r).begin()
			_, _ = w.Write([]byte("dropped"))
			of(r).commit("")
		}, "sorry", 500, "w", 0},
		"after a commit, dropped": {errStop, func(w http.ResponseWriter, r *http.Request) {
			of(r).begin()
			w.WriteHeader(http.StatusCreated)
			of(r).commit("v")
		}, "sorry", 500, "v.w", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := faked(t, Options{})
			inner := s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				of(r).wrote("w")
				c.handler(w, r)
				panic(c.value)
			}))
			var recovered any
			server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer func() {
					recovered = recover()
					w.WriteHeader(http.StatusInternalServerError)
					_, _ = w.Write([]byte("sorry"))
				}()
				inner.ServeHTTP(w, r)
			}), false)
			got := do(t, server, "POST")
			assert.Equal(t, c.value, recovered)
			assert.Equal(t, c.status, got.res.StatusCode)
			assert.Equal(t, c.body, got.body)
			set, _ := tokens(got.res.Header)
			assert.Equal(t, []string{c.tells}, set)
			assert.Equal(t, c.mistakes, s.Stats().OpenAtReturn)
			assert.Zero(t, s.handling.Load())
		})
	}
}

// The stack of a panic is the handler's: it was not recovered and thrown again.
func TestPanicWithoutRecoverEndsTheConnection(t *testing.T) {
	s, _ := faked(t, Options{})
	server := serve(t, s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		of(r).wrote("w")
		panic(http.ErrAbortHandler)
	})), false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	require.NoError(t, err)
	res, err := server.Client().Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	require.ErrorIs(t, err, io.EOF)
}

// Informational responses go out as they are and do not end the header.
func TestEarlyHintsCarryNothing(t *testing.T) {
	eachProtocol(t, func(t *testing.T, http2 bool) {
		s, _ := faked(t, Options{})
		server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			of(r).wrote("w")
			w.WriteHeader(http.StatusCreated)
		})), http2)
		var hints []textproto.MIMEHeader
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			assert.Equal(t, http.StatusEarlyHints, code)
			hints = append(hints, h)
			return nil
		}})
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, nil)
		require.NoError(t, err)
		res, err := server.Client().Do(req)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Len(t, hints, 1)
		assert.Empty(t, hints[0].Values("Set-Cookie"))
		set, _ := tokens(res.Header)
		assert.Equal(t, []string{"w"}, set)
	})
}

// Several goroutines of a handler may write at once.
func TestConcurrentWrites(t *testing.T) {
	s, _ := faked(t, Options{})
	server := serve(t, s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		of(r).wrote("w")
		of(r).begin()
		done := make(chan struct{})
		for range 8 {
			go func() {
				for range 10 {
					_, _ = w.Write([]byte("x"))
				}
				done <- struct{}{}
			}()
		}
		for range 8 {
			<-done
		}
		of(r).commit("v")
	})), false)
	got := do(t, server, "POST")
	assert.Equal(t, strings.Repeat("x", 80), got.body)
	set, _ := tokens(got.res.Header)
	assert.Equal(t, []string{"v.w"}, set)
}

// The client has gone, and with it the context of the request: what was written is
// written, and the position is captured all the same.
func TestCancelledRequestCapturesItsPosition(t *testing.T) {
	s, _ := faked(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	rec := httptest.NewRecorder()
	var session *fake
	s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session = of(r)
		session.wrote("w")
		cancel()
		w.WriteHeader(http.StatusOK)
	})).ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil))
	assert.Equal(t, 1, session.waited)
	set, _ := tokens(rec.Result().Header)
	assert.Equal(t, []string{"w"}, set)
	assert.Zero(t, s.Stats().Unsure)
}

// A primary that does not answer delays a response for Wait and no longer.
func TestUnsureWhenThePositionCannotBeHad(t *testing.T) {
	s, _ := faked(t, Options{Wait: wait / 1000}, func(f *fake) { f.stuck = true })
	server := serve(t, s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { of(r).wrote("w") })), false)
	set, _ := tokens(do(t, server, "POST").res.Header)
	assert.Equal(t, []string{"w." + unsure}, set)
	assert.Equal(t, uint64(1), s.Stats().Unsure)
}
