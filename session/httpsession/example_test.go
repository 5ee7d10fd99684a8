package httpsession_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"time"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
	"github.com/readsplit/readsplit/session/httpsession"
)

// A user places an order and is sent to the list of their orders. The handlers know
// nothing of replicas; the report is pointed at one by its line.
func Example() {
	db, done := exampleDB() // gorm.Open and db.Use(readsplit.New(..))
	defer done()

	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		if err := db.WithContext(r.Context()).Create(&order{Customer: "carol"}).Error; err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
			return
		}
		http.Redirect(w, r, "/orders", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		var n int64
		err := db.WithContext(r.Context()).Model(&order{}).Where("customer = ?", "carol").Count(&n).Error
		_, _ = fmt.Fprintln(w, "orders:", n, err)
	})
	mux.Handle("GET /report", httpsession.UseReplica(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int64
		err := db.WithContext(r.Context()).Model(&order{}).Where("customer = ?", "dave").Count(&n).Error
		_, _ = fmt.Fprintln(w, "report:", n, err)
	})))

	server := httptest.NewTLSServer(httpsession.Handler(mux)) // that is all
	defer server.Close()

	client := server.Client()
	client.Jar, _ = cookiejar.New(nil)
	for _, ask := range []string{"POST /orders", "GET /report"} {
		var method, path string
		_, _ = fmt.Sscan(ask, &method, &path)
		req, err := http.NewRequestWithContext(context.Background(), method, server.URL+path, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := client.Do(req) // follows the redirect
		if err != nil {
			fmt.Println(err)
			return
		}
		body := make([]byte, 100)
		n, _ := res.Body.Read(body)
		_ = res.Body.Close()
		fmt.Print(string(body[:n]))
		fmt.Println("cookies:", len(client.Jar.Cookies(req.URL)))
	}
	// Output:
	// orders: 1 <nil>
	// cookies: 1
	// report: 0 <nil>
	// cookies: 1
}

// What an endpoint asks for stands in the line that mounts it. Marks can be put around
// each other; the one nearest to the handler counts.
func ExampleMark() {
	db, done := exampleDB() // gorm.Open and db.Use(readsplit.New(..))
	defer done()
	list := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, _ := readsplit.DecisionOf(db.WithContext(r.Context()).Find(&[]order{}))
		_, _ = fmt.Fprint(w, "on a replica: ", d.Replica)
	})

	mux := http.NewServeMux()
	mux.Handle("/balance", httpsession.Fresh(list))
	mux.Handle("/feed", httpsession.Stale(list))
	mux.Handle("/statistics", httpsession.AnyReplica(list))
	mux.Handle("/search", httpsession.AtMost(5*time.Second, list))
	mux.Handle("/invitation", httpsession.Recheck(list))
	mux.Handle("/report", httpsession.ReadOnly(httpsession.Group("group1", list)))
	mux.Handle("/page", httpsession.OneServer(httpsession.UseReplica(list)))
	handler := httpsession.Handler(mux)

	for _, path := range []string{"/balance", "/feed", "/statistics", "/search", "/invitation", "/report", "/page"} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, answer.Body)
	}
	// Output:
	// /balance on a replica: false
	// /feed on a replica: true
	// /statistics on a replica: true
	// /search on a replica: true
	// /invitation on a replica: true
	// /report on a replica: true
	// /page on a replica: true
}

// A header for clients that are programs, marks by route, and a store for users who
// carry nothing. New reports every mistake of its options.
func ExampleNew() {
	users := session.NewMemory(session.MemoryOptions{})
	defer users.Close()
	sessions, err := httpsession.New(httpsession.Options{
		Carry:  httpsession.Header,
		Routes: map[string]httpsession.Mark{"GET /report": httpsession.UseReplica},
		Store:  users,
		User:   func(r *http.Request) string { return r.Header.Get("X-User") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := sessions.Handler(http.NotFoundHandler()) // the application's mux
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/report", nil))
	fmt.Println(sessions.Stats().Requests)

	_, err = httpsession.New(httpsession.Options{Wait: time.Minute})
	fmt.Println(err)
	// Output:
	// 1
	// readsplit: httpsession: Options.Wait is 1m0s: it must be positive and at most 1s (0 means the default)
}
