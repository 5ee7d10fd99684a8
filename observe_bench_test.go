package readsplit_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/observe"
	"github.com/readsplit/readsplit/status"
)

// BenchmarkObserve measures what it costs to be observed, side by side: one operation
// is one read of one row by its key on a replica in each of the forms, in turn, so that
// what else the machine does hits all alike. `make observe` prints the table of
// docs/status.md.
func BenchmarkObserve(b *testing.B) {
	c := cluster(b)
	base := newDB(b, c)
	counters(b, base, 16)
	require.NoError(b, c.WaitCaughtUp(b.Context()))
	info := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo}))
	debug := slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ring := observe.NewRing(200)
	forms := []struct {
		name      string
		observers []any
	}{
		{"nobody", nil},
		{"ring", []any{observe.NewRing(200)}},
		{"log_info", []any{observe.NewLog(info, observe.LogOptions{})}},
		{"log_debug", []any{observe.NewLog(debug, observe.LogOptions{PerSecond: -1})}},
		{"page_open", []any{ring}},
	}
	reads := make([]func(), len(forms))
	took := make([][]time.Duration, len(forms))
	for i, form := range forms {
		d := newDB(b, c, inDatabase(base.name), configured(func(c *readsplit.Config) {
			// Few samples, since what they allocate is counted too.
			c.Observers, c.Balancer, c.SampleEvery, c.MaxSampleAge, c.MaxLag = form.observers, first{}, time.Second, 10*time.Second, 10*time.Second
		}))
		d.eligible(b, "replica1")
		if form.name == "page_open" {
			openPage(b, d, ring)
		}
		user := d.WithContext(readsplit.WithSession(context.Background(), readsplit.NewSession()))
		reads[i] = func() {
			var n int
			if err := user.Raw("SELECT n FROM counters WHERE id = ?", 1).Scan(&n).Error; err != nil {
				b.Error(err)
			}
		}
		for range 50 {
			reads[i]()
		}
	}
	allocations := make([]float64, len(forms))
	for i := range forms {
		allocations[i] = testing.AllocsPerRun(500, reads[i])
	}
	b.ResetTimer()
	for n := range b.N {
		for k := range reads {
			i := (n + k) % len(reads) // nobody is always the first after a pause
			began := time.Now()
			reads[i]()
			took[i] = append(took[i], time.Since(began))
		}
	}
	b.StopTimer()
	b.ReportMetric(0, "ns/op")
	for i, form := range forms {
		slices.Sort(took[i])
		b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds()), form.name+"_p50_ns")
		b.ReportMetric(allocations[i], form.name+"_allocs")
	}
}

// openPage opens the page of d, and reads its events as a browser does.
func openPage(b *testing.B, d *testDB, ring *observe.Ring) {
	page, err := status.New(d.plugin, status.Options{Ring: ring})
	require.NoError(b, err)
	server := httptest.NewServer(page)
	began, gone := make(chan error, 1), make(chan error, 1)
	go func() {
		res, err := http.Get(server.URL + "/events")
		began <- err
		if err != nil {
			return
		}
		_, err = io.Copy(io.Discard, res.Body)
		gone <- errors.Join(err, res.Body.Close())
	}()
	require.NoError(b, <-began)
	b.Cleanup(func() {
		require.NoError(b, page.Close())
		require.NoError(b, <-gone)
		server.Close()
	})
}
