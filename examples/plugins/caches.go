package plugins

import (
	"context"

	"github.com/go-gorm/caches/v4"

	"github.com/readsplit/readsplit"
)

// SessionCacher keeps github.com/go-gorm/caches from hiding what a session must
// see. A cache knows nothing of replicas: after a write has emptied it, anybody's
// read from a replica that is behind fills it again with what was there before,
// and the writer gets that answer. So a session that has written is not answered
// from the cache, nor is a context of [Current].
//
// It needs a session per user or request in the context: without one nothing says
// who has written, and the cache answers. The Easer of the plugin asks no Cacher,
// and gives one query's answer to others: leave it off.
type SessionCacher struct{ caches.Cacher }

type currentKey struct{}

// Current marks reads that must be current, as [readsplit.Fresh] does, and that no
// cache may answer.
func Current(ctx context.Context) context.Context {
	return context.WithValue(readsplit.Fresh(ctx), currentKey{}, true)
}

// Get implements caches.Cacher. It finds nothing where only the database may
// answer.
func (c SessionCacher) Get(ctx context.Context, key string, q *caches.Query[any]) (*caches.Query[any], error) {
	if ctx.Value(currentKey{}) != nil || hasWritten(ctx) {
		return nil, nil
	}
	return c.Cacher.Get(ctx, key, q)
}

// hasWritten reports whether there is something that the session of ctx must see:
// its token is not empty. Inside a transaction none is to be had, and an answer
// from the cache could be older than what the transaction has written.
func hasWritten(ctx context.Context) bool {
	token, err := readsplit.SessionFrom(ctx).Token(ctx)
	return err != nil || token != ""
}
