package httpsession

import (
	"time"

	"github.com/readsplit/readsplit/session"
)

// othersLifetime is how long a cookie lives of which no part says it.
const othersLifetime = time.Hour

// until returns how long a cookie lives: its own part until expires, and no shorter
// than what other services said.
func until(text string, expires time.Time) time.Time {
	if session.IsBundle(text) {
		if b, err := session.ParseBundle(text); err == nil && b.Expires().After(expires) {
			expires = b.Expires()
		}
	}
	if expires.IsZero() {
		return time.Now().Add(othersLifetime)
	}
	return expires
}
