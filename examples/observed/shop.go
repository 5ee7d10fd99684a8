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

// report takes a tenth of a second, as if there were years of orders: that is the time
// in which it stands in the way of others. The function is declared STABLE, so that
// replicas may run it.
const report = "SELECT tea, count(*) AS orders FROM orders, years_of_orders() GROUP BY tea ORDER BY tea"

const schema = `
	CREATE OR REPLACE FUNCTION years_of_orders() RETURNS int LANGUAGE plpgsql STABLE AS
	$$ BEGIN PERFORM pg_sleep(0.1); RETURN 1; END $$`

// migrate makes what the shop needs in its database.
func migrate(db *gorm.DB) error {
	if err := db.AutoMigrate(&Order{}); err != nil {
		return err
	}
	return db.Exec(schema).Error
}

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
