package readsplit

import (
	"context"

	"github.com/readsplit/readsplit/internal/unmarked"
)

// sessionless tells those who watch for it that a statement, or a transaction, begins
// in a context without a session: a request that has lost its context sees none of its
// own marks, and nothing else would show that.
func sessionless(ctx context.Context) {
	if unmarked.Watched() && marksOf(ctx).session == nil {
		unmarked.Saw(ctx)
	}
}
