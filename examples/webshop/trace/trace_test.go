package trace_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/readsplit/readsplit/examples/webshop/trace"
)

func TestHeader(t *testing.T) {
	ctx, reads := trace.With(context.Background())
	want := []trace.Read{{Server: "replica1", Reason: "caught_up"}, {Server: "primary", Reason: "down"}, {Server: "replica2"}}
	for _, r := range want {
		trace.From(ctx).Add(r)
	}
	assert.Equal(t, `replica1;desc="caught_up", primary;desc="down", replica2;desc=""`, reads.Header())
	assert.Equal(t, want, trace.Parse(reads.Header()))
}

func TestNobodyTakesItDown(t *testing.T) {
	reads := trace.From(context.Background())
	reads.Add(trace.Read{Server: "primary"})
	assert.Empty(t, reads.All())
	assert.Empty(t, reads.Header())
	assert.Empty(t, trace.Parse(""))
}
