package readonlyguard

import "context"

type markKey struct{}

// ReadOnly returns a context that makes everything done with it a read session.
//
// The mark travels in the context alone: db.WithContext(ctx), a gorm.Session{NewDB: true} in a hook, a Preload, a
// transaction begun with it and contexts derived from it are all in the session. There is no way to take the mark
// off; whoever has to write in spite of it uses a context that was never marked.
func ReadOnly(ctx context.Context) context.Context {
	if IsReadOnly(ctx) {
		return ctx
	}
	return context.WithValue(ctx, markKey{}, true)
}

// IsReadOnly reports whether ctx belongs to a read session.
func IsReadOnly(ctx context.Context) bool {
	marked, _ := ctx.Value(markKey{}).(bool)
	return marked
}
