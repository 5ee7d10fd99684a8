package around

import (
	"context"
	"net/http"
)

var report http.Handler
var admin http.Handler
var feed http.Handler
var export http.Handler
var outbox interface {
	Take(ctx context.Context) (string, error)
}

func handle(ctx context.Context, message string) error
