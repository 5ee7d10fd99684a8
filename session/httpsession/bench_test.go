package httpsession_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session/httpsession"
)

// sink is a writer that keeps nothing.
type sink struct{ h http.Header }

func (s sink) Header() http.Header         { return s.h }
func (s sink) Write(p []byte) (int, error) { return len(p), nil }
func (s sink) WriteHeader(int)             {}

// BenchmarkHandler is what the middleware costs by itself: time and allocations of a
// request, beside those of the handler.
func BenchmarkHandler(b *testing.B) {
	_, dsns := database(b)
	opened(b, dsns, func(c *readsplit.Config) { c.TokenKeys = [][]byte{[]byte("sixteen bytes or more")} })
	sessions, err := httpsession.New(httpsession.Options{Routes: map[string]httpsession.Mark{"GET /report/{id}": httpsession.UseReplica}})
	require.NoError(b, err)
	nothing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })
	writes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		readsplit.MarkWrite(r.Context()) // as a write that was acknowledged
		_, _ = w.Write([]byte("hello"))
	})
	rec := httptest.NewRecorder()
	sessions.Handler(writes).ServeHTTP(rec, httptest.NewRequest("POST", "/", nil))
	cookie := rec.Result().Cookies()[0]
	request := func(method, url string, cookies int) *http.Request {
		r := httptest.NewRequest(method, url, nil)
		for range cookies {
			r.AddCookie(cookie)
		}
		return r
	}
	for _, c := range []struct {
		name string
		h    http.Handler
		r    *http.Request
	}{
		{"without", nothing, request("GET", "/", 0)},
		{"read", sessions.Handler(nothing), request("GET", "/", 0)},
		{"read, marked by a route", sessions.Handler(nothing), request("GET", "/report/7", 0)},
		{"read, with a cookie", sessions.Handler(nothing), request("GET", "/", 1)},
		{"write", sessions.Handler(writes), request("POST", "/", 1)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.h.ServeHTTP(sink{http.Header{}}, c.r)
			}
		})
	}
}

// BenchmarkRequest is a request over the loopback, with a statement on real servers,
// with and without the middleware: the median and the 99th percentile.
func BenchmarkRequest(b *testing.B) {
	_, dsns := database(b)
	db := opened(b, dsns)
	reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { perform(w, read(db.WithContext(r.Context()))) })
	writes := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		perform(w, db.WithContext(r.Context()).Create(&order{Customer: "bench"}).Error)
	})
	quiet, err := httpsession.New(httpsession.Options{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	for _, c := range []struct {
		name   string
		method string
		h      http.Handler
	}{
		{"read, without", "GET", reads}, {"read, with", "GET", quiet.Handler(reads)},
		{"write, without", "POST", writes}, {"write, with", "POST", quiet.Handler(writes)},
	} {
		b.Run(c.name, func(b *testing.B) {
			server := httptest.NewServer(c.h)
			defer server.Close()
			var took []time.Duration
			for b.Loop() {
				req, err := http.NewRequestWithContext(b.Context(), c.method, server.URL, nil)
				require.NoError(b, err)
				began := time.Now()
				res, err := server.Client().Do(req)
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(b, err)
				took = append(took, time.Since(began))
				require.NoError(b, res.Body.Close())
				require.Equal(b, http.StatusOK, res.StatusCode)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

func read(db *gorm.DB) error {
	var o []order
	return db.Where("customer = ?", "nobody").Find(&o).Error
}

func perform(w http.ResponseWriter, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
