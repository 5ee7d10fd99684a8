package httpsession_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"gorm.io/gorm"
)

type order struct {
	ID       int64
	Customer string
}

// app is a small application. Its handlers know nothing of sessions. The customer is
// the last part of the path.
func app(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	place := func(db *gorm.DB, r *http.Request) error {
		return db.Create(&order{Customer: r.PathValue("who")}).Error
	}
	answer := func(w http.ResponseWriter, r *http.Request, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		http.Redirect(w, r, "/orders/"+r.PathValue("who"), http.StatusSeeOther)
	}
	mux.HandleFunc("GET /orders/{who}", func(w http.ResponseWriter, r *http.Request) {
		var n int64
		var server string
		err := db.WithContext(r.Context()).Raw("SELECT count(*), current_setting('cluster_name') FROM orders WHERE customer = ?", r.PathValue("who")).Row().Scan(&n, &server)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprint(w, n, " ", server)
	})
	mux.HandleFunc("POST /redirect/{who}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, place(db.WithContext(r.Context()), r))
	})
	mux.HandleFunc("GET /get/{who}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, place(db.WithContext(r.Context()), r))
	})
	mux.HandleFunc("POST /silent/{who}", func(_ http.ResponseWriter, r *http.Request) {
		if err := place(db.WithContext(r.Context()), r); err != nil {
			panic(err)
		}
	})
	mux.HandleFunc("POST /rows/{who}", func(w http.ResponseWriter, r *http.Request) {
		var id int64
		answer(w, r, db.WithContext(r.Context()).Raw("INSERT INTO orders (customer) VALUES (?) RETURNING id", r.PathValue("who")).Scan(&id).Error)
	})
	// A repository that keeps its gorm.DB and has lost the context.
	mux.HandleFunc("POST /lost/{who}", func(w http.ResponseWriter, r *http.Request) { answer(w, r, place(db, r)) })
	mux.HandleFunc("POST /recovered/{who}", func(w http.ResponseWriter, r *http.Request) {
		if err := place(db.WithContext(r.Context()), r); err == nil {
			panic("after the write")
		}
	})
	mux.HandleFunc("POST /stream/{who}", func(w http.ResponseWriter, r *http.Request) {
		if err := place(db.WithContext(r.Context()), r); err != nil {
			panic(err)
		}
		for range 3 {
			_, _ = io.WriteString(w, "data: placed\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	// The transaction is the middleware's: the response is written inside of it.
	perRequest := func(h func(tx *gorm.DB, w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			tx := db.WithContext(r.Context()).Begin()
			h(tx, w, r)
			if err := tx.Commit().Error; err != nil {
				panic(err)
			}
		}
	}
	mux.HandleFunc("POST /tx/{who}", perRequest(func(tx *gorm.DB, w http.ResponseWriter, r *http.Request) { answer(w, r, place(tx, r)) }))
	mux.HandleFunc("POST /txflush/{who}", perRequest(func(tx *gorm.DB, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // before the first statement, too
		if err := place(tx, r); err != nil {
			panic(err)
		}
	}))
	mux.HandleFunc("POST /txlong/{who}", perRequest(func(tx *gorm.DB, w http.ResponseWriter, r *http.Request) {
		if err := place(tx, r); err != nil {
			panic(err)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 100<<10))
	}))
	return mux
}

// kinds are the ways in which the application takes an order.
var kinds = []string{"POST /redirect", "GET /get", "POST /silent", "POST /rows", "POST /recovered", "POST /stream", "POST /tx", "POST /txflush", "POST /txlong", "POST /lost"}

// recovering answers for handlers that panic, outside of the sessions.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				http.Error(w, fmt.Sprint(v), http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}
