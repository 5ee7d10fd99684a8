package readsplit

import (
	"context"
	"runtime/debug"
)

// tellEach tells every observer. They are called by the monitor, too, where a panic would
// end the process, and in the middle of statements, where it would leave connections and
// counts behind.
func tellEach[T any](p *Plugin, all []T, tell func(T)) {
	for next := 0; next < len(all); {
		next = tellFrom(p, all, next, tell)
	}
}

// tellFrom returns how many have been told, the one that panicked included.
func tellFrom[T any](p *Plugin, all []T, from int, tell func(T)) (next int) {
	defer func() {
		if cause := recover(); cause != nil {
			p.panicked.Do(func() {
				if p.db != nil {
					p.db.Logger.Error(context.Background(), "readsplit: an observer of Config.Observers panicked, which is said once: %v\n%s", cause, debug.Stack())
				}
			})
		}
	}()
	for next = from; next < len(all); {
		o := all[next]
		next++
		tell(o)
	}
	return next
}
