package around

import (
	"time"

	"github.com/readsplit/readsplit/session/jobs"
)

var begun jobs.Begun
var message struct{ Headers map[string]string }
var job struct{ Attempt int }
var queue interface {
	Later(job struct{ Attempt int }, in time.Duration) error
}
var rows []string

func publish(row, token string)
