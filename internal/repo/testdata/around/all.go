// Package around is what blocks of the pages leave out: each declaration stands for
// something of the application that a reader has. A page that means something else by a
// name says so in a file of its own name.
package around

import (
	"context"
	"net/http"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/readsplit/readsplit"
	"github.com/readsplit/readsplit/session"
)

var t *testing.T
var ctx context.Context
var db *gorm.DB
var tx *gorm.DB
var plugin *readsplit.Plugin
var user *readsplit.Session
var mux *http.ServeMux
var store session.Store
var id int64
var now time.Time
var addr string
var dsn string
var dsn1 string
var dsn2 string
var dsn3 string
var dsn4 string
var dsn5 string
var err error
var orders []Order
var order Order

type Order struct {
	ID, UserID int64
	Number     string
}

type Invoice struct{ ID int64 }

func userOf(r *http.Request) string
