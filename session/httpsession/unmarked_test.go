package httpsession

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/internal/unmarked"
)

// What is remembered of mistakes is bounded, and once a way to a statement is known,
// being told of it again costs no allocation.
func TestMistakesAreRememberedInBounds(t *testing.T) {
	s, log := faked(t, Options{})
	for i := range 2 * mostPlaces {
		s.mistake("kind", string(rune('a'+i)), "remedy")
		s.mistake("kind", string(rune('a'+i)), "remedy")
	}
	assert.Len(t, log.with("kind"), mostPlaces)

	s, _ = faked(t, Options{})
	for i := range 2 * mostStacks {
		if !s.stacks.full.Load() {
			s.stacks.isNew(uint64(i))
		}
	}
	require.Len(t, s.stacks.seen, mostStacks)

	s, log = faked(t, Options{})
	s.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		allocs := testing.AllocsPerRun(100, func() { unmarked.Saw(context.Background()) })
		assert.Less(t, allocs, 1.0)
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	assert.Equal(t, uint64(101), s.Stats().LostContext)
	assert.LessOrEqual(t, len(log.with("without a session")), 2)
	assert.NotEmpty(t, log.with("unmarked_test.go:"))
}

// Sessions that nobody uses any more are not told, and not kept alive.
func TestOthersAreToldToo(t *testing.T) {
	one, _ := faked(t, Options{})
	other, _ := faked(t, Options{})
	one.Handler(http.NotFoundHandler())
	other.Handler(http.NotFoundHandler())
	ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{})
	unmarked.Saw(ctx)
	assert.Equal(t, []uint64{1, 1}, []uint64{one.Stats().Outside, other.Stats().Outside})
	unmarked.Saw(t.Context())
	assert.Zero(t, one.Stats().LostContext+other.Stats().LostContext, "no request is under way")
}
