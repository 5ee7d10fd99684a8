package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/readsplit/readsplit/session"
)

func TestGuaranteeText(t *testing.T) {
	var zero session.Guarantee
	assert.Equal(t, session.ReadYourWrites, zero, "the default")
	for g, want := range map[session.Guarantee]string{
		session.ReadYourWrites: "read_your_writes", session.MonotonicReads: "monotonic_reads", session.Causal: "causal",
	} {
		text, err := g.MarshalText()
		require.NoError(t, err)
		assert.Equal(t, want, string(text))
		var back session.Guarantee
		require.NoError(t, back.UnmarshalText(text))
		assert.Equal(t, g, back)
	}
	assert.Equal(t, "invalid", session.Guarantee(3).String())
	require.EqualError(t, new(session.Guarantee).UnmarshalText([]byte("strong")),
		`readsplit: guarantee "strong": it must be read_your_writes, monotonic_reads or causal`)
}
