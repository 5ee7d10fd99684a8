package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

func TestTokenAllocations(t *testing.T) {
	for name, k := range map[string]session.Keys{"unsigned": {}, "signed": mustKeys(t, newKey)} {
		token := full()
		text := mustEncode(t, k, token)
		// Encode: the text and a buffer. Decode: the positions and a buffer.
		encode := testing.AllocsPerRun(1000, func() { _, _ = k.Encode(token) })
		decode := testing.AllocsPerRun(1000, func() { _, _ = k.Decode(text, issued) })
		assert.LessOrEqual(t, encode, 2+forgotten, name)
		assert.LessOrEqual(t, decode, 2+forgotten, name)
	}
}

func BenchmarkToken(b *testing.B) {
	signed, err := session.NewKeys(newKey)
	require.NoError(b, err)
	rotated, err := session.NewKeys(oldKey, newKey)
	require.NoError(b, err)
	for name, c := range map[string]struct{ write, read session.Keys }{
		"unsigned": {}, "signed": {signed, signed}, "signed-by-second-key": {signed, rotated},
	} {
		token := full()
		text, err := c.write.Encode(token)
		require.NoError(b, err)
		b.Run("Encode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.write.Encode(token)
			}
		})
		b.Run("Decode/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.read.Decode(text, issued)
			}
		})
	}
}
