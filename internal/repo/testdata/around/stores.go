package around

import (
	"context"
	"net/http"
	"testing"

	"github.com/readsplit/readsplit/session"
)

var app http.Handler
var user string

func work(ctx context.Context)

func open(t *testing.T) session.Store
func openAgain(t *testing.T, s session.Store) session.Store
func wipe(t *testing.T, s session.Store)
func freeze(t *testing.T, s session.Store) func()
