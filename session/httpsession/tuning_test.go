package httpsession

import "time"

const (
	wait = 30 * time.Second
	tick = 2 * time.Millisecond
)

var far = time.Now().Add(time.Hour)
