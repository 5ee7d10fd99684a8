package unmarked_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/internal/unmarked"
)

func TestWatch(t *testing.T) {
	t.Cleanup(func() { unmarked.Watch(nil) })
	ctx := t.Context()
	unmarked.Saw(ctx) // nobody is told
	assert.False(t, unmarked.Watched())

	var told []string
	unmarked.Watch(func(got context.Context) {
		assert.Equal(t, ctx, got)
		told = append(told, "first")
	})
	assert.True(t, unmarked.Watched())
	unmarked.Saw(ctx)
	unmarked.Watch(func(context.Context) { told = append(told, "second") })
	unmarked.Saw(ctx)
	unmarked.Watch(nil)
	unmarked.Saw(ctx)
	assert.Equal(t, []string{"first", "second"}, told)
	assert.False(t, unmarked.Watched())
	assert.Zero(t, testing.AllocsPerRun(100, func() { _ = unmarked.Watched() }))
}
