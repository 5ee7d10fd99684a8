package testenv_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/readsplit/readsplit/testenv"
)

// shop is what a user's application looks like: orders are written to the primary, and the list
// is read where the handler thinks best.
type shop struct{ primary, replica *sql.DB }

func (s shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		if _, err := s.primary.ExecContext(r.Context(), "INSERT INTO orders VALUES ($1)", r.FormValue("title")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
		return
	}
	from := s.replica
	if r.FormValue("mine") != "" {
		from = s.primary // who has just ordered must see it
	}
	var titles string
	if err := from.QueryRowContext(r.Context(), "SELECT coalesce(string_agg(title, ','), '') FROM orders").Scan(&titles); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprint(w, titles)
}

// The test that a user writes: the customer sees the order even when the replica lags.
func TestHandlerShowsTheOrderWhileTheReplicaLags(t *testing.T) {
	cluster := testenv.Start(t, testenv.Replicas(1))
	app := shop{primary: cluster.Primary().DB(), replica: cluster.Replica(0).DB()}
	request := func(method, target string) string {
		t.Helper()
		w := httptest.NewRecorder()
		app.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
		}
		return w.Body.String()
	}
	if _, err := app.primary.ExecContext(t.Context(), "CREATE TABLE orders (title text)"); err != nil {
		t.Fatal(err)
	}
	if err := cluster.WaitCaughtUp(t.Context()); err != nil {
		t.Fatal(err)
	}

	undo, err := cluster.Replica(0).PauseReplay(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request("POST", "/?title=book")
	if got := request("GET", "/?mine=yes"); !strings.Contains(got, "book") {
		t.Errorf("the customer misses the order: %q", got)
	}
	if got := request("GET", "/"); got != "" {
		t.Errorf("the replica is paused, and the list is %q: the fault is not in force", got)
	}
	if err := undo(); err != nil {
		t.Fatal(err)
	}
	if err := cluster.WaitCaughtUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := request("GET", "/"); got != "book" {
		t.Errorf("the list is %q after the replica caught up", got)
	}
}
