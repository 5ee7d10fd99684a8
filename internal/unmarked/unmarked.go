// Package unmarked tells whoever wants to know of statements that run in a context
// without a session. It knows neither GORM nor net/http, so that the plugin can tell
// without knowing whom.
package unmarked

import (
	"context"
	"sync/atomic"
)

var watcher atomic.Pointer[func(ctx context.Context)]

// Watched reports whether anybody wants to know. It is one load, so that it can be
// asked for every statement.
func Watched() bool { return watcher.Load() != nil }

// Saw tells the watcher of a statement.
func Saw(ctx context.Context) {
	if w := watcher.Load(); w != nil {
		(*w)(ctx)
	}
}

// Watch has w told from now on, instead of whoever was told before; nil ends it. It is
// called on the goroutine of the statement, by several at once, and must be quick.
func Watch(w func(ctx context.Context)) {
	if w == nil {
		watcher.Store(nil)
		return
	}
	watcher.Store(&w)
}
