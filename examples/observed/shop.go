package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit/overload"
)

// Order is what a customer has bought.
type Order struct {
	ID       int64
	Customer string    `gorm:"not null;index"`
	Tea      string    `gorm:"not null"`
	PlacedAt time.Time `gorm:"not null;autoCreateTime"`
}

// pages are the shop's pages. They know nothing of replicas: what they do is what is
// observed.
func pages(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		o := Order{Customer: r.FormValue("customer"), Tea: r.FormValue("tea")}
		if err := db.WithContext(r.Context()).Create(&o).Error; err != nil {
			answer(w, nil, err)
			return
		}
		// The next page has to show it: this is what sessions are for.
		http.Redirect(w, r, "/orders?"+url.Values{"customer": {o.Customer}}.Encode(), http.StatusSeeOther)
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		var mine []Order
		err := db.WithContext(r.Context()).Where("customer = ?", r.FormValue("customer")).Order("id DESC").Limit(10).Find(&mine).Error
		answer(w, mine, err)
	})
	mux.HandleFunc("GET /report", func(w http.ResponseWriter, r *http.Request) {
		var rows []struct {
			Tea    string
			Orders int64
		}
		err := db.WithContext(r.Context()).Raw(report).Scan(&rows).Error
		answer(w, rows, err)
	})
	return mux
}

// report is as slow as reports are, about a tenth of a second, whatever there is in the
// table: that is the time in which it stands in the way of others.
const report = `
	SELECT tea, count(*) AS orders
	FROM orders, (SELECT sum(n) AS s FROM generate_series(1, 1000000) n) AS effort
	WHERE s > 0
	GROUP BY tea ORDER BY tea`

// answer sends what was found. That the primary has no room is no fault of the shop's:
// whoever asks may come back in a moment.
func answer(w http.ResponseWriter, found any, err error) {
	switch {
	case errors.Is(err, overload.ErrPrimaryBusy):
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many people are here", http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, "something is wrong", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(found)
	}
}
