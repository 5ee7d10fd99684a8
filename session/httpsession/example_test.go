package httpsession_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"

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
