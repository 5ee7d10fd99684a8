package httpsession

import (
	"context"
	"net/http"
	"time"

	"github.com/readsplit/readsplit"
)

// UseReplica marks an endpoint whose reads may use a replica, by the usual rules: see
// readsplit.UseReplica. It matters where Config.Default is PreferPrimary.
//
// Marks can be put around each other and around whole muxes; where they contradict,
// the one that is nearest to the handler counts, as in contexts.
func UseReplica(h http.Handler) http.Handler { return marked(h, readsplit.UseReplica) }

// Fresh marks an endpoint whose reads must be current: they go to the primary.
func Fresh(h http.Handler) http.Handler { return marked(h, readsplit.Fresh) }

// ReadOnly marks an endpoint that must not write: see readsplit.ReadOnly.
func ReadOnly(h http.Handler) http.Handler { return marked(h, readsplit.ReadOnly) }

// Stale marks an endpoint for which MaxLag does not matter. The user's own writes it
// sees all the same.
func Stale(h http.Handler) http.Handler { return marked(h, readsplit.Stale) }

// AnyReplica marks an endpoint for whose reads nothing matters but that a replica serves
// them, not even the user's own writes: see readsplit.AnyReplica.
func AnyReplica(h http.Handler) http.Handler { return marked(h, readsplit.AnyReplica) }

// Recheck marks an endpoint that looks up rows which may just have been written by others:
// what a replica does not have is looked for on the primary, see readsplit.Recheck.
func Recheck(h http.Handler) http.Handler { return marked(h, readsplit.Recheck) }

// AtMost marks an endpoint whose reads must not be older than d, in addition to
// MaxLag.
func AtMost(d time.Duration, h http.Handler) http.Handler {
	return marked(h, func(ctx context.Context) context.Context { return readsplit.AtMost(ctx, d) })
}

// Group marks an endpoint that uses the replicas of one group only.
func Group(name string, h http.Handler) http.Handler {
	return marked(h, func(ctx context.Context) context.Context { return readsplit.Group(ctx, name) })
}

// OneServer marks an endpoint whose reads stay on the server of the first one, so
// that a page is of one piece. It needs Handler, or a session from elsewhere, around
// it.
func OneServer(h http.Handler) http.Handler {
	return marked(h, func(ctx context.Context) context.Context {
		readsplit.SessionFrom(ctx).KeepServer()
		return ctx
	})
}

func marked(h http.Handler, mark func(ctx context.Context) context.Context) http.Handler {
	there(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if with := mark(ctx); with != ctx {
			r = r.WithContext(with)
		}
		h.ServeHTTP(w, r)
	})
}

// there panics where an application has no handler: at its start, as net/http does, and
// not with each request.
func there(h http.Handler) {
	if h == nil {
		panic("readsplit: httpsession: the handler is nil: give the one that serves the requests")
	}
}
